import { COOKIES } from '../../../protocol/cookies.ts'
import { partitionOf } from '../../../protocol/digest.ts'
import type { Leave, PageDeps, Visit } from '../../../http/pages/deps.ts'
import { goOn, withQuery } from '../../../http/pages/form-page.ts'
import { queryParam } from '../../../http/pages/page-routes.ts'
import { isFromHere } from '../../../http/pages/account-page.ts'
import { type FactorDeps, secondFactorCheck } from '../deps.ts'
import { displayNameOf } from '../../../protocol/webauthn-options.ts'
import type { User } from '../../../ports/user-store.ts'
import type { Enrolment, Passkeys } from '../../../accounts/factor-kinds.ts'
import type { PasskeyForm, PasskeySignals, ShownEnrolment } from '../../../pages/common-model.ts'
import type { UserFactors } from '../../../ports/factor-store.ts'

const DONE = { done: 'codes_saved' }

/** The content of the cookie that keeps new recovery codes. */
interface KeptCodes {
  userId: string
  sid: string
  codes: string[]
  until: number
}

interface Whose {
  user: { id: string; username: string }
  /** The session that made the codes. A later session of the user does not see them. */
  sid: string
  /** The URL of the page that shows the codes by `again`. */
  url: string
}

/**
 * The page with new recovery codes, which no store contains. A sealed cookie keeps the codes until the person says that
 * they are saved, at most for ten minutes, so that a reload or another visit shows them again.
 */
interface ShownCodes {
  /** Keeps the codes and redirects to the page that shows them, so that a reload does not post the form again. */
  show(codes: readonly string[], visit: Visit, whose: Whose): Leave
  /** Returns the page with the kept codes. `null`: this browser has no codes of this session. */
  again(visit: Visit, whose: Whose): Leave | null
  /** Returns true if the person has just said that the codes are saved, and then clears the cookie. */
  areSaved(visit: Visit): boolean
  /** Clears the cookie, because its codes no longer work. */
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
      // This cookie must not displace the cookies of an unfinished sign-in or link.
      const written = { mark: partitionOf(userId), query: '', content: kept, yields: true }
      return async (reply) => {
        if (sealed.fits(reply, 'codes', written)) {
          sealed.set(reply, 'codes', written)
          return await goOn(url)(reply)
        }
        // The new codes do not fit into the cookie, so this answer shows them. Codes that are still in the cookie are
        // earlier ones, which no longer work.
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

interface WaysBack {
  /**
   * Leads to the sign-in page. Keeps the cookie of the step, because any site can cause a visit of a page, and the
   * ticket may be valid for another page.
   */
  toLogin(visit: Visit): Leave
  /** Leads to the sign-in page, without an error, after a form whose first factor is no longer valid. */
  beginAgain(visit: Visit): Leave
}

/** The ways back to the sign-in page from the pages of a further step. */
export function waysBack({ cookies, link }: Pick<PageDeps, 'cookies' | 'link'>): WaysBack {
  const toLogin = ({ journey: { query } }: Visit): Leave => goOn(`${link('login')}${query}`)
  return {
    toLogin,
    beginAgain: (visit) => async (reply) => {
      cookies.step.clear(reply)
      return await toLogin(visit)(reply)
    }
  }
}

/**
 * An enrolment as a page shows it. Loads the QR encoder at the first enrolment, because most processes never need it.
 */
export async function withQr({ enrolment, secret, uri }: Enrolment): Promise<ShownEnrolment> {
  const { qrPath } = await import('../../../pages/qr.ts')
  return { token: enrolment, secret, uri, qr: qrPath(uri) }
}

/**
 * Marks the browser in which a factor was set up as known, like a sign-in with that factor. The mark holds for the
 * present factors, so that another change of the factors ends it. A failing store is ignored, because the reply with
 * the recovery codes must still be sent.
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

/** Makes the model of a passkey form from WebAuthn options. */
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
 * The signal that tells the browser all passkeys of the user, and the user's present names. The browser hides or
 * deletes every passkey that is not listed, so the list must be complete. `null` if passkeys are off, and for a user
 * without passkeys, unless `removed`: the last one was removed just now.
 * @see W3C WebAuthn Level 3 §5.1.10
 */
export function acceptedPasskeys(
  { handle, passkeys: listed }: UserFactors,
  user: User,
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
        name: user.username,
        displayName: displayNameOf(user)
      }
    },
    pages
  )
}
