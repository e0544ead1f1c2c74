import { COOKIES } from '../../../protocol/cookies.ts'
import { partitionOf } from '../../../protocol/digest.ts'
import type { Leave, PageDeps, Visit } from '../../../http/pages/deps.ts'
import { goOn, withQuery } from '../../../http/pages/form-page.ts'
import { queryParam } from '../../../http/pages/page-routes.ts'
import { isFromHere } from '../../../http/pages/account-page.ts'
import { type FactorDeps, secondFactorCheck } from '../deps.ts'
import type { User } from '../../../ports/user-store.ts'
import type { Enrolment, Passkeys } from '../../../accounts/factor-kinds.ts'
import type { PasskeyForm, PasskeySignals, ShownEnrolment } from '../../../pages/common-model.ts'
import type { UserFactors } from '../../../ports/factor-store.ts'

const DONE = { done: 'codes_saved' }

/** The content of the cookie. */
interface KeptCodes {
  userId: string
  sid: string
  codes: string[]
  until: number
}

interface Whose {
  user: { id: string; username: string }
  /** The session that made them. A later sign-in of the user does not see them. */
  sid: string
  /** A page that shows them by `again`. */
  url: string
}

/**
 * The page with new recovery codes. No store has them. Until the person says that the codes are saved, for ten minutes
 * at most, a sealed cookie has them, so that a reload or another visit shows them again.
 */
interface ShownCodes {
  /** Leads to the page that shows them, so that a reload posts nothing. */
  show(codes: readonly string[], visit: Visit, whose: Whose): Leave
  /** `null`: this browser has none of this session. */
  again(visit: Visit, whose: Whose): Leave | null
  /** True if the person has just said that the codes are saved. The browser has none afterwards. */
  areSaved(visit: Visit): boolean
  /** Ends the display of codes in this browser, because the codes have ended. */
  forget(visit: Visit): void
}

export function shownCodes({ authorize, sealed, pages }: Pick<PageDeps, 'authorize' | 'sealed' | 'pages'>): ShownCodes {
  const { clock } = authorize.accounts

  const page =
    (codes: string[], { request, journey }: Visit, { user, url }: Whose): Leave =>
    async (reply) =>
      await pages.send(
        request,
        reply,
        'account_recovery_codes',
        { username: user.username, signedIn: true, codes, backUrl: withQuery(url, DONE) },
        { uiLocales: journey.uiLocales, clientName: journey.clientName, brand: journey.brand }
      )

  return {
    show(codes, visit, whose) {
      const { id: userId } = whose.user
      const { sid, url } = whose
      const kept: KeptCodes = { userId, sid, codes: [...codes], until: clock.now() + COOKIES.codes.seconds * 1000 }
      // This cookie does not displace those of a sign-in or a link that waits behind this page.
      const written = { mark: partitionOf(userId), query: '', content: kept, yields: true }
      return async (reply) => {
        if (sealed.fits(reply, 'codes', written)) {
          sealed.set(reply, 'codes', written)
          return await goOn(url)(reply)
        }
        // Earlier codes in the cookie were replaced. No other answer contains the new ones.
        sealed.clear(reply, 'codes')
        return await page(kept.codes, visit, whose)(reply)
      }
    },
    again(visit, whose) {
      const kept = (sealed.read(visit.request, 'codes')?.content ?? null) as KeptCodes | null
      const isTheirs = kept !== null && kept.userId === whose.user.id && kept.sid === whose.sid
      return isTheirs && clock.now() < kept.until ? page(kept.codes, visit, whose) : null
    },
    areSaved({ request, reply }) {
      const isDone = queryParam(request, 'done') === DONE.done && isFromHere(request)
      if (isDone) sealed.clear(reply, 'codes')
      return isDone
    },
    forget({ reply }) {
      sealed.clear(reply, 'codes')
    }
  }
}

/**
 * An enrolment as a page shows it. The encoder is loaded at the first enrolment, because most starts of the server see
 * none.
 */
export async function withQr({ enrolment, secret, uri }: Enrolment): Promise<ShownEnrolment> {
  const { qrPath } = await import('../../../pages/qr.ts')
  return { token: enrolment, secret, uri, qr: qrPath(uri) }
}

/**
 * Makes the browser known in which a factor was set up, as a sign-in with it does. It is known for the present factors,
 * so another change makes it unknown again. A failure stops nobody, because the reply has the recovery codes.
 */
export async function knowBrowser(
  user: User,
  { request, reply }: Pick<Visit, 'request' | 'reply'>,
  { limiter }: Pick<PageDeps, 'limiter'>,
  { store }: Pick<FactorDeps, 'store'>
): Promise<void> {
  const found = await store.findFactors(user.id).catch(() => null)
  if (found !== null) limiter.makeKnown(request, reply, secondFactorCheck(user, found, { kind: 'totp' }))
}

/** A form of a page that asks with these options. */
export function passkeyFormOf(
  options: object,
  { pages }: Pick<PageDeps, 'pages'>,
  { renewUrl = null, signals = {} }: Partial<Pick<PasskeyForm, 'renewUrl' | 'signals'>> = {}
): PasskeyForm {
  return { options, renewUrl, ...signalsOf(signals, pages) }
}

function signalsOf(signals: PasskeySignals['signals'], { assets: { passkeys } }: PageDeps['pages']): PasskeySignals {
  return { scriptUrl: passkeys?.url ?? '', signals }
}

/**
 * The signal to the browser about all passkeys of the user and their present names. The browser hides or deletes each
 * that is not among them, so it gets all of them or none. For a user who has none it gets a signal only if `removed`
 * says that the last one has just been taken away.
 * @see W3C WebAuthn Level 3 §5.1.10
 */
export function acceptedPasskeys(
  { handle, passkeys: listed }: UserFactors,
  { username, name }: User,
  { removed }: { removed: boolean },
  passkeys: Passkeys | null,
  { pages }: Pick<PageDeps, 'pages'>
): PasskeySignals | null {
  if (passkeys === null || handle === null || (listed.length === 0 && !removed)) return null
  const about = { rpId: passkeys.rpId, userId: Buffer.from(handle).toString('base64url') }
  return signalsOf(
    {
      signalAllAcceptedCredentials: {
        ...about,
        allAcceptedCredentialIds: listed.map(({ credentialId }) => credentialId)
      },
      signalCurrentUserDetails: {
        ...about,
        name: username,
        displayName: typeof name === 'string' && name !== '' ? name : username
      }
    },
    pages
  )
}
