import type { RefreshTokenFamily } from '../ports/token-store.ts'
import type { User, UserStore } from '../ports/user-store.ts'
import type { AccessTokenClaims } from '../protocol/access-token.ts'
import { invalidToken } from '../protocol/bearer.ts'
import { userOf } from './active-user.ts'
import type { Sessions } from './sessions.ts'

/**
 * The user and the family of an access token, read from the stores, so that a revocation or a disabled account on any
 * instance is seen at once.
 * @throws OAuthError `invalid_token`
 */
export async function liveSession(
  claims: AccessTokenClaims | null,
  { sessions, users }: { sessions: Pick<Sessions, 'find' | 'isOver'>; users: UserStore }
): Promise<{ user: User; family: RefreshTokenFamily }> {
  const sid = claims?.sid
  if (claims === null || sid === undefined) throw invalidToken('The token belongs to no session.')
  const family = await sessions.find(sid)
  if (family === null || family.userId !== claims.sub) throw invalidToken('The token was revoked.')
  const user = await userOf(family, { users, sessions })
  if (user === null) throw invalidToken('The token was revoked.')
  return { user, family }
}
