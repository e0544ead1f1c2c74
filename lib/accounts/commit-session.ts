import type { UserFactors } from '../ports/factor-store.ts'
import type { User } from '../ports/user-store.ts'
import type { Browser, BrowserSessions, OpenSession } from '../sessions/browser-sessions.ts'
import type { AccountsDeps } from './deps.ts'
import { settled } from './sign-in-writes.ts'
import type { FirstFactor } from './first-factor.ts'
import { tellOfNewSignIn } from './new-sign-in.ts'

/** What somebody has proved who has just given a first factor. */
export interface SignIn extends FirstFactor {
  /** What the user has beside it, where that was looked up meanwhile. */
  factors?: UserFactors | null
  /** Whether they have just signed up, and need not be told of it. */
  isNew?: boolean
  /**
   * The user as they are now, if what was proved still holds; `null`: the session must end. Asked after the session was
   * committed, so that what was changed between the check of the factor and the commit is seen, and could not have
   * ended this session by itself. Where it does not hold, tells why by an event.
   */
  confirm(): Promise<User | null>
}

export interface SessionBegun {
  cookie: string
  session: OpenSession
  user: User
}

export interface SessionDeps {
  accounts: AccountsDeps
  browserSessions: BrowserSessions
}

/** Writes what the sign-in has waited with, now that its last factor is proved, and commits the session. */
export async function settleAndCommit(
  first: SignIn,
  browser: Browser,
  deps: SessionDeps
): Promise<SessionBegun | null> {
  const done = await settled(first, { locale: undefined, origin: browser.origin }, deps.accounts)
  return done === null ? null : await commitSession(done, browser, deps)
}

/** Commits a session of somebody who has proved all that they have to, and looks again. */
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
