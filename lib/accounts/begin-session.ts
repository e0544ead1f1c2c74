import type { User } from '../ports/user-store.ts'
import type { Browser, BrowserSessions } from '../sessions/browser-sessions.ts'
import type { AccountsDeps } from './deps.ts'
import { tellOfNewSignIn } from './new-sign-in.ts'
import { settled } from './sign-in-writes.ts'
import type { Commit, SessionBegun, SignIn, StepNeeded } from './slots.ts'

interface SessionDeps {
  accounts: AccountsDeps
  browserSessions: BrowserSessions
}

/**
 * Begins the browser session of a user who has given a first factor, or has a feature ask for more. Every sign-in of a
 * person goes through here, with any factor, so that no kind of sign-in can forget the questions after it. A session
 * that the browser had goes on until this succeeds.
 * @returns `null` if the sign-in does not hold any more
 */
export async function beginSession(
  first: SignIn,
  browser: Browser,
  deps: SessionDeps
): Promise<SessionBegun | StepNeeded | null> {
  const begin = deps.accounts.slots.reduce<Commit>(
    (next, { afterFirstFactor }) =>
      afterFirstFactor === undefined ? next : async (given) => await afterFirstFactor(given, browser, next),
    async (given) => {
      const done = await settled(given, { locale: undefined, origin: browser.origin }, deps.accounts)
      return done === null ? null : await commitSession(done, browser, deps)
    }
  )
  return await begin(first)
}

/** Commits a session after the last proof, and checks the proofs again. */
export async function commitSession(
  { user, by, connection, methods, clientId, isNew, confirm }: Omit<SignIn, 'factors' | 'identity' | 'writes'>,
  browser: Browser,
  { accounts, browserSessions }: SessionDeps
): Promise<SessionBegun | null> {
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
  events.emit(
    'authenticated',
    {
      userId: user.id,
      sid: session.sid,
      clientId,
      method: by,
      methods: methods.map(({ method }) => method),
      ...(connection === undefined ? {} : { connection })
    },
    origin
  )
  if (browser.session?.userId === user.id)
    events.emit('step_up', { userId: user.id, sid: session.sid, methods: methods.map(({ method }) => method) }, origin)
  if (isNew !== true) tellOfNewSignIn({ user, session }, browser, accounts)
  return { cookie, session, user: confirmed }
}
