import type { BrowserSession } from '../ports/session-store.ts'
import type { User } from '../ports/user-store.ts'
import type { AuthenticationProof } from '../protocol/authentication.ts'
import type { Browser, BrowserSessions } from '../sessions/browser-sessions.ts'
import type { AccountsDeps } from './deps.ts'

/** What somebody has proved who has just given a first factor: a password, or a sign-in at another provider. */
interface FirstFactor {
  /** As they were when that was proved. */
  user: User
  by: 'password' | 'connection'
  /** The `id` of the connection, where it was one. */
  connection?: string
  /** How, and when. */
  methods: AuthenticationProof[]
  clientId: string | null
  /**
   * The user as they are now, if what was proved still holds; `null`: the session must end. Asked after the session was committed, so that what
   * was changed between the check of the factor and the commit is seen, and could not have ended this session by itself. Where it does not
   * hold, tells why by an event.
   */
  confirm(): Promise<User | null>
}

export interface SessionBegun { cookie: string, session: BrowserSession, user: User }

/**
 * Begins the browser session of somebody who has given a first factor. Every sign-in of a person goes through here, whatever the factor
 * was, so that what has to be asked after it can't be forgotten by one of them. A session that the browser had goes on until this
 * succeeds.
 * @returns `null` where the sign-in does not hold any more
 */
export async function beginSession ({ user, by, connection, methods, clientId, confirm }: FirstFactor, browser: Browser, { accounts: { events, sessions }, browserSessions }: { accounts: AccountsDeps, browserSessions: BrowserSessions }): Promise<SessionBegun | null> {
  const { origin } = browser
  const { session, cookie } = await browserSessions.start(user.id, methods, browser)
  let confirmed: User | null = null
  try {
    confirmed = await confirm()
  } finally {
    if (confirmed === null) await sessions.revokeBrowserSession(session.userId, session.sid, 'undone', { origin })
  }
  if (confirmed === null) return null
  events.emit('authenticated', { userId: user.id, sid: session.sid, clientId, method: by, ...(connection === undefined ? {} : { connection }) }, origin)
  return { cookie, session, user: confirmed }
}
