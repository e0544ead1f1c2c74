import type { UserFactors } from '../ports/factor-store.ts'
import type { User } from '../ports/user-store.ts'
import type { Browser, BrowserSessions, OpenSession } from '../sessions/browser-sessions.ts'
import type { AccountsDeps } from './deps.ts'
import { settled } from './sign-in-writes.ts'
import type { FirstFactor } from './first-factor.ts'
import { tellOfNewSignIn } from './new-sign-in.ts'

/** The proofs of a user who has just given a first factor. */
export interface SignIn extends FirstFactor {
  /** The user's second factors, if they were read meanwhile. */
  factors?: UserFactors | null
  /** True for a user who has just signed up, and need not be told of the sign-in. */
  isNew?: boolean
  /**
   * The present user, if the proof still holds; `null`: the session must end. Asked after the session was committed, so
   * that it sees changes between the check of the factor and the commit, which could not have ended this session by
   * themselves. If the proof does not hold, emits the reason.
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
