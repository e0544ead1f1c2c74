import type { BrowserSession } from '../ports/session-store.ts'
import type { RefreshTokenFamily } from '../ports/token-store.ts'
import type { Sessions } from './sessions.ts'

/** One sign-in of a user. `id` is what `revokeSession` takes and the `sid` claim of its access tokens or ID tokens. */
export interface Session {
  id: string
  /** `browser`: a session of the hosted pages; `token`: the tokens that one device was given. */
  kind: 'browser' | 'token'
  /** `null` for a browser session. */
  clientId: string | null
  /** Granted scope, space separated; `''` for a browser session. */
  scope: string
  userAgent: string | null
  createdAt: Date
  lastUsedAt: Date
  /** The end without further use, at most its absolute end. */
  expiresAt: Date
}

/** A user's sign-ins of both kinds that are alive now, newest first. */
export async function listSessions(
  userId: string,
  sessions: Pick<Sessions, 'list' | 'listBrowserSessions'>
): Promise<Session[]> {
  const [families, browserSessions] = await Promise.all([sessions.list(userId), sessions.listBrowserSessions(userId)])
  return [
    ...families.map((family): Session => ({
      id: family.sid,
      kind: 'token',
      clientId: family.clientId,
      scope: family.scope,
      ...commonFields(family)
    })),
    ...browserSessions.map((session): Session => ({
      id: session.sid,
      kind: 'browser',
      clientId: null,
      scope: '',
      ...commonFields(session)
    }))
  ].sort((a, b) => b.createdAt.getTime() - a.createdAt.getTime())
}

function commonFields({
  userAgent,
  createdAt,
  lastUsedAt,
  expiresAt,
  idleExpiresAt
}: RefreshTokenFamily | BrowserSession): Pick<Session, 'userAgent' | 'createdAt' | 'lastUsedAt' | 'expiresAt'> {
  return {
    userAgent,
    createdAt: new Date(createdAt),
    lastUsedAt: new Date(lastUsedAt),
    expiresAt: new Date(Math.min(expiresAt, idleExpiresAt))
  }
}
