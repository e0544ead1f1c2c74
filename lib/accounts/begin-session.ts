import type { UserFactors } from '../ports/factor-store.ts'
import type { BrowserSession } from '../ports/session-store.ts'
import type { User } from '../ports/user-store.ts'
import type { Browser, BrowserSessions } from '../sessions/browser-sessions.ts'
import type { AccountsDeps } from './deps.ts'
import { hasSecondFactor } from './factors/deps.ts'
import { isInvited } from './factors/enrolment-link.ts'
import { mustEnrol, tellOfEnrolment } from './factors/policy.ts'
import { owesSecondFactor } from './factors/remembered-devices.ts'
import { type FirstFactor, sealStep, type StepNeeds } from './factors/second-step.ts'
import { tellOfNewSignIn } from './new-sign-in.ts'

/** What somebody has proved who has just given a first factor. */
interface SignIn extends FirstFactor {
  /** What the user has beside it, where that was looked up meanwhile. */
  factors?: UserFactors | null
  /** Whether they have just signed up, and need not be told of it. */
  isNew?: boolean
  /**
   * The user as they are now, if what was proved still holds; `null`: the session must end. Asked after the session was committed, so that what
   * was changed between the check of the factor and the commit is seen, and could not have ended this session by itself. Where it does not
   * hold, tells why by an event.
   */
  confirm(): Promise<User | null>
}

export interface SessionBegun { cookie: string, session: BrowserSession, user: User }

/** Nobody is signed in yet: whoever brings this ticket is asked for the second factor, or has to set one up first. */
export interface StepNeeded { needs: StepNeeds, ticket: string, user: User }

interface SessionDeps { accounts: AccountsDeps, browserSessions: BrowserSessions }

/**
 * Begins the browser session of somebody who has given a first factor, or has the second one asked for. Every sign-in of a person goes
 * through here, whatever the factor was, so that what has to be asked after it can't be forgotten by one of them. A session that the browser
 * had goes on until this succeeds.
 * @returns `null` where the sign-in does not hold any more
 */
export async function beginSession (first: SignIn, browser: Browser, deps: SessionDeps): Promise<SessionBegun | StepNeeded | null> {
  const { accounts } = deps
  const { factors } = accounts
  // A passkey that has verified who holds it is both factors.
  if (factors === null || first.methods.some(({ method }) => method === 'passkey')) return await commitSession(first, browser, deps)
  const { user, by, connection, identity, methods, clientId } = first
  const ask = async (needs: StepNeeds, invitedAt?: number): Promise<StepNeeded> => {
    const ticket = await sealStep({ user, by, connection, identity, methods, clientId, scope: '', invitedAt }, { page: true, needs }, { ...accounts, factors })
    if (needs === 'second_factor') accounts.events.emit('second_factor_required', { userId: user.id, clientId }, browser.origin)
    else tellOfEnrolment(user, clientId, browser.origin, accounts, { isInvited: invitedAt !== undefined })
    return { needs, ticket, user }
  }
  const owes = (found: UserFactors): boolean => owesSecondFactor(user, found, browser, { ...accounts, factors })
  const found = first.factors ?? await factors.store.findFactors(user.id)
  if (owes(found)) return await ask('second_factor')
  if (isInvited(browser.invitation, user, found, { ...accounts, factors })) return await ask('enrolment', found.deviceEpoch)
  if (!hasSecondFactor(found) && await mustEnrol(first, factors, accounts)) return await ask('enrolment')
  const seen = { second: false }
  const begun = await commitSession({
    ...first,
    async confirm () {
      // Whoever added their first factor has ended all sessions that were there then. This one came after that, or is seen by it. Nor does a
      // browser count that was forgotten meanwhile.
      const [confirmed, now] = await Promise.all([first.confirm(), factors.store.findFactors(user.id)])
      seen.second = owes(now)
      return seen.second ? null : confirmed
    }
  }, browser, deps)
  return seen.second ? await ask('second_factor') : begun
}

/** Commits a session of somebody who has proved all that they have to, and looks again. */
export async function commitSession ({ user, by, connection, methods, clientId, isNew, confirm }: Omit<SignIn, 'factors' | 'identity'>, browser: Browser, { accounts, browserSessions }: SessionDeps): Promise<SessionBegun | null> {
  const { events, sessions } = accounts
  const { origin } = browser
  const { session, cookie } = await browserSessions.start(user.id, methods, browser)
  let confirmed: User | null = null
  try {
    confirmed = await confirm()
  } finally {
    if (confirmed === null) await sessions.revokeBrowserSession(session.userId, session.sid, 'undone', { origin })
  }
  if (confirmed === null) return null
  events.emit('authenticated', { userId: user.id, sid: session.sid, clientId, method: by, methods: methods.map(({ method }) => method), ...(connection === undefined ? {} : { connection }) }, origin)
  if (browser.session?.userId === user.id) events.emit('step_up', { userId: user.id, sid: session.sid, methods: methods.map(({ method }) => method) }, origin)
  if (isNew !== true) tellOfNewSignIn({ user, session }, browser, accounts)
  return { cookie, session, user: confirmed }
}
