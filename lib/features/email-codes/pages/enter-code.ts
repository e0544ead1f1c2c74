import type { EmailSignInDeps, PendingCode } from '../ask.ts'
import { signInByEmail, signUpByEmail } from '../sign-in.ts'
import { completeProfile } from '../../../accounts/register.ts'
import type { Leave, PageDeps, Visit } from '../../../http/pages/deps.ts'
import { goOn } from '../../../http/pages/form-page.ts'
import { leadOnFrom, signInBrowser } from '../../../http/pages/lead-on.ts'
import type { Form } from '../../../http/pages/page-routes.ts'
import type { Browser } from '../../../sessions/browser-sessions.ts'

/** A code for which this browser asked. `only`: the id of the only user whom it may sign in. */
interface EnteredCode {
  pending: PendingCode
  code: string
  only: string | undefined
}

interface EnterDeps {
  deps: PageDeps
  accounts: EmailSignInDeps
}

/**
 * Redeems a code and continues the journey. A new person with missing profile fields gets the form for them. `null`:
 * the code may sign in only a user who is not the user of this browser. The code stays valid then.
 */
export async function enterCode(
  { pending, code, only }: EnteredCode,
  form: Form,
  { request, journey, locale }: Visit,
  { deps, accounts }: EnterDeps
): Promise<Leave | null> {
  const { authorize, link, registration, waiting } = deps
  const browser = await signInBrowser(request, { asksAll: journey.asksAll || only !== undefined }, deps)
  if (only !== undefined && browser.session?.userId !== only) return null
  const begun = await signInByEmail({ pending, code, only, clientId: clientIn(journey), locale }, browser, {
    accounts,
    browserSessions: authorize.browserSessions
  })
  const { name } = pending
  if (begun !== 'sign_up') return endWait(await leadOnFrom(begun, { request, journey }, form, deps), journey, deps)
  if (completeProfile({}, registration?.fields.required ?? []) !== null)
    return await enterNew({ name, fields: {}, browser }, form, { request, journey }, { deps, accounts })
  const { clock, emailSignIn } = accounts
  return async (reply) => {
    // The cookie lives as long as a code. Its id is empty, because the code is used up.
    waiting.set(reply, journey, { kind: 'proved', name, id: '', until: clock.now() + emailSignIn.expiresInMs })
    return await goOn(`${link('emailCode')}${journey.query}`)(reply)
  }
}

/** Creates the account of a proved address, signs its owner in and continues the journey. */
export async function enterNew(
  { name, fields, browser }: { name: string; fields: Record<string, unknown>; browser: Browser },
  form: Form,
  { request, journey }: Pick<Visit, 'request' | 'journey'>,
  { deps, accounts }: EnterDeps
): Promise<Leave> {
  const { browserSessions } = deps.authorize
  const begun = await signUpByEmail({ name, fields, clientId: clientIn(journey) }, browser, {
    accounts,
    browserSessions
  })
  return endWait(await leadOnFrom(begun, { request, journey, isSignUp: true }, form, deps), journey, deps)
}

/** Clears the cookie of the browser that waits for a code, and leaves. */
export const endWait =
  (leave: Leave, journey: Visit['journey'], { waiting }: Pick<PageDeps, 'waiting'>): Leave =>
  async (reply) => {
    waiting.clear(reply, journey)
    return await leave(reply)
  }

const clientIn = ({ query }: Visit['journey']): string | null =>
  new URLSearchParams(query.slice(1)).get('client_id') || null
