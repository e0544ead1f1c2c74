import { beginSession } from '../../../accounts/begin-session.ts'
import type { Passkeys } from '../../../accounts/factor-kinds.ts'
import type { SessionBegun, StepNeeded } from '../../../accounts/slots.ts'
import { awaitsConfirmation } from '../../../accounts/verify-email.ts'
import { waysIn } from '../../../accounts/ways-in.ts'
import { OAuthError } from '../../../errors.ts'
import type { Arrival, PageDeps, PagePart, Submission, Visit } from '../../../http/pages/deps.ts'
import { leadOnFrom, signInBrowser } from '../../../http/pages/lead-on.ts'
import { type Form, queryParam } from '../../../http/pages/page-routes.ts'
import { renewSignIn } from '../../../http/pages/reauthenticate.ts'
import type { PasskeySignals } from '../../../pages/common-model.ts'
import type { UserFactors } from '../../../ports/factor-store.ts'
import { logLine } from '../../../ports/log.ts'
import type { SignedInPerson } from '../../../sessions/browser-sessions.ts'
import type { ProvingDeps } from '../../second-factors/deps.ts'
import { passkeyFormOf } from '../../second-factors/pages/parts.ts'
import { refusedPasskey } from '../prove.ts'

/** The dependencies of the pages of passkeys. */
export interface PasskeyPages {
  accounts: ProvingDeps
  passkeys: Passkeys
}

/** The additions of passkeys to the sign-in page and to the re-authentication page. */
export function passkeyPart(deps: PageDeps, { accounts, passkeys }: PasskeyPages): PagePart {
  const { store } = accounts.factors
  const renewUrl = deps.link('passkeyChallenge')
  return {
    asksPasskey: { renewUrl },
    login: (_journey, refused) => ({
      passkey: passkeyFormOf(
        passkeys.signInOptions(),
        deps,
        refused === null ? { renewUrl } : { signals: unknownPasskey(refused.form, refused.error, passkeys) }
      ),
      tellsPasskeys: passkeys.prompt
    }),
    async elsewhere({ credential = '' }, visit) {
      return credential === '' ? null : passkeySignIn(credential, visit, deps, passkeys)
    },
    ...(passkeys.prompt
      ? {
          proposal: async (begun: SessionBegun | StepNeeded, arrival: Arrival, form: Form) =>
            (await proposesPasskey(begun, arrival, form, deps, accounts)) ? ('passkeyPrompt' as const) : null
        }
      : {}),
    again: {
      takes: ({ credential = '' }) => credential !== '',
      async reauthenticate({ user, session: { sid } }) {
        const found = await usable(user, accounts, passkeys)
        const options = found === null ? null : passkeys.optionsFor({ user, found, purpose: 'reauthentication', sid })
        return options === null ? null : { passkey: passkeyFormOf(options, deps) }
      },
      async submit({ user, session: { sid } }, { credential = '' }, visit) {
        const found = await usable(user, accounts, passkeys)
        if (found === null) throw new OAuthError('invalid_request', 'There is no passkey to be asked for.')
        const { locale, origin } = visit
        return {
          limit: 'failures',
          async work() {
            const proof = await passkeys.prove({
              credential,
              user,
              found,
              purpose: 'reauthentication',
              sid,
              clientId: null,
              locale,
              origin
            })
            return await renewSignIn(
              { user, by: 'passkey', methods: [proof] },
              visit,
              deps,
              async () => (await store.findFactors(user.id)).deviceEpoch === found.deviceEpoch
            )
          }
        }
      }
    }
  }
}

/** The user's factors, with only the passkeys by which they can sign in. `null`: there are none. */
async function usable(
  user: SignedInPerson['user'],
  accounts: ProvingDeps,
  passkeys: Passkeys
): Promise<UserFactors | null> {
  if (!(await waysIn(user, accounts)).others.includes('passkey')) return null
  const found = await accounts.factors.store.findFactors(user.id)
  return { ...found, passkeys: passkeys.alone(found) }
}

/**
 * A sign-in by a passkey alone, without a typed name. Nothing else is asked. All causes of a refusal have one text (see
 * `Passkeys.proveAlone`).
 */
function passkeySignIn(
  credential: string,
  { request, journey, locale }: Visit,
  deps: PageDeps,
  passkeys: Passkeys
): Submission<never> {
  return {
    limit: 'failures',
    async work() {
      const clientId = queryParam(request, 'client_id') || null
      const browser = await signInBrowser(request, journey, deps)
      const { user, proof, confirm } = await passkeys.proveAlone({
        credential,
        clientId,
        locale,
        origin: browser.origin
      })
      const begun = await beginSession(
        { user, by: 'passkey', methods: [proof], clientId, confirm },
        browser,
        deps.authorize
      )
      if (begun === null || 'ticket' in begun) throw refusedPasskey('the account changed meanwhile')
      return await leadOnFrom(begun, { request, journey }, {}, deps)
    }
  }
}

const CREDENTIAL_ID = /^[A-Za-z0-9_-]{1,1364}$/

/** Tells the browser to stop offering a passkey that no user has. Empty for every other error. */
function unknownPasskey(
  { credential = '' }: Form,
  { reason }: OAuthError,
  { rpId }: Passkeys
): PasskeySignals['signals'] {
  if (reason !== 'unknown_passkey') return {}
  const id = idOf(credential)
  return id === null ? {} : { signalUnknownCredential: { rpId, credentialId: id } }
}

function idOf(credential: string): string | null {
  try {
    const { id } = JSON.parse(credential) as { id?: unknown }
    return typeof id === 'string' && CREDENTIAL_ID.test(id) ? id : null
  } catch {
    return null
  }
}

/**
 * True if a sign-in leads through the page that proposes a passkey. The user must have signed in by a password or have
 * just signed up without one, and must have no passkey. The browser must be able to make one.
 * - After a sign-in, only in a browser that was not asked in the last 30 days. After a sign-up, this limit does not
 *   apply, because the passkey lets the user sign in without an email.
 * - Never for a native app, which waits for its answer.
 * - Never if a signed-in user signs in again for a page of ours.
 * - Never after a recovery code, because a person who has lost a device needs no further page.
 * - Never if the account's address must be confirmed first, or if the journey leads to the page that adds a passkey.
 *
 * A failing store means false, so that it stops no sign-in.
 */
async function proposesPasskey(
  begun: SessionBegun | StepNeeded,
  { request, journey, isSignUp = false }: Arrival,
  { passkeys: able }: Form,
  deps: PageDeps,
  accounts: ProvingDeps
): Promise<boolean> {
  if (able !== 'yes' || 'ticket' in begun) return false
  const has = (kind: string): boolean => begun.session.methods.some(({ method }) => method === kind)
  if (journey.nativeRequest !== null || !(isSignUp || has('password')) || has('recovery_code')) return false
  // The journey leads to the page where the person adds a passkey anyway.
  if (journey.next.split('?')[0] === deps.link('securityPasskeys')) return false
  if (queryParam(request, 'client_id') === '' && queryParam(request, 'prompt') === 'login') return false
  if ((!isSignUp && deps.cookies.prompted.read(request) !== undefined) || awaitsConfirmation(begun.user, accounts))
    return false
  try {
    const { passkeys } = await accounts.factors.store.findFactors(begun.user.id)
    return passkeys.length === 0
  } catch (error) {
    request.log.error(
      ...logLine('FST_AUTHORITY_WORK_FAILED', 'whether to propose a passkey could not be looked up', { err: error })
    )
    return false
  }
}
