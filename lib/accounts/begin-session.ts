import type { BrowserSession } from '../ports/session-store.ts'
import type { User } from '../ports/user-store.ts'
import type { AuthenticationProof } from '../protocol/authentication.ts'
import type { Browser, BrowserSessions } from '../sessions/browser-sessions.ts'
import type { Sessions } from '../sessions/sessions.ts'

/** What somebody has proved who has just given a first factor: a password, or a sign-in at another provider. */
interface FirstFactor {
  userId: string
  methods: AuthenticationProof[]
  /**
   * The user as they are now, if the sign-in `sid` still holds; `null`: it must end. Asked after the session was committed, so that what was
   * changed between the check of the factor and the commit is seen, and could not have ended this session by itself.
   */
  confirm(sid: string): Promise<User | null>
}

interface SessionBegun { cookie: string, session: BrowserSession, user: User }

/**
 * Begins the browser session of somebody who has given a first factor. Every sign-in of a person goes through here, whatever the factor
 * was, so that what has to be asked after it can't be forgotten by one of them. A session that the browser had goes on until this
 * succeeds.
 * @returns `null` where the sign-in does not hold any more
 */
export async function beginSession ({ userId, methods, confirm }: FirstFactor, browser: Browser, { browserSessions, sessions }: { browserSessions: BrowserSessions, sessions: Sessions }): Promise<SessionBegun | null> {
  const { session, cookie } = await browserSessions.start(userId, methods, browser)
  let user: User | null = null
  try {
    user = await confirm(session.sid)
  } finally {
    if (user === null) await sessions.revokeBrowserSession(session.userId, session.sid, 'undone', { origin: browser.origin })
  }
  return user === null ? null : { cookie, session, user }
}
