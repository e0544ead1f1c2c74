import { isActive } from '../tokens/active-user.ts'
import type { Client } from '../ports/client-store.ts'
import type { RefreshTokenFamily } from '../ports/token-store.ts'
import type { User } from '../ports/user-store.ts'
import { digest } from '../protocol/digest.ts'
import { formatRefreshToken, openSuccessor, type PresentedRefreshToken, sealSuccessor } from '../protocol/refresh-token.ts'
import type { GrantDeps, Origin } from './deps.ts'
import { signAccessToken } from './issue-tokens.ts'

/**
 * What both ways of refreshing share: `POST /auth/refresh` and the grant `refresh_token`. Who may ask, and what a refusal looks
 * like, is each one's own.
 */
export interface RefreshAttempt {
  presented: PresentedRefreshToken
  origin: Origin
  /** The refusal of that endpoint; `detail` is for the log. */
  refused: (detail: string) => Error
}

/** The family of the presented token. Says nothing of the token's own secret: the commit does. */
export async function findFamily ({ presented, refused }: RefreshAttempt, deps: GrantDeps): Promise<RefreshTokenFamily> {
  const family = await deps.tokens.findFamily(presented.sid, deps.accounts.clock.now())
  if (family === null) throw refused('unknown, expired or revoked')
  return family
}

/** The granted scope of the family, less what may no longer be granted. */
export function stillGrantable (family: RefreshTokenFamily, client: Client | null, deps: GrantDeps): string[] {
  const allowed = client?.scopes ?? deps.scopes
  return family.scope.split(' ').filter((scope) => allowed.includes(scope))
}

/** A new access token of the family, for a user who is still there, and that user. */
export async function signForFamily ({ family, client, scopes }: { family: RefreshTokenFamily, client: Client | null, scopes: string[] }, attempt: RefreshAttempt, deps: GrantDeps): Promise<{ user: User, accessToken: string }> {
  const user = await activeUser(family, attempt, deps)
  return { user, accessToken: await signAccessToken({ user, client, scopes, sid: family.sid, authenticatedAt: family.authenticatedAt }, deps) }
}

/** Uses the token without replacing it. */
export async function commitUse (attempt: RefreshAttempt, deps: GrantDeps): Promise<RefreshTokenFamily> {
  const result = await deps.tokens.useToken(tokenUse(attempt, deps))
  if (result.outcome === 'unknown') throw attempt.refused('unknown, expired or revoked')
  if (result.outcome === 'replayed') throw replayed(result.family, attempt, deps)
  return result.family
}

/**
 * Replaces the token by its successor, which it resolves to. Everything that can fail comes before this compare-and-swap: a user
 * store that is down or a key that can't sign uses no token up. Whoever loses the race, or comes back within the grace time,
 * gets the winner's successor.
 */
export async function commitRotation (attempt: RefreshAttempt, deps: GrantDeps): Promise<string> {
  const { presented } = attempt
  const nextSecret = deps.accounts.random.secret()
  const result = await deps.tokens.rotateToken(tokenUse(attempt, deps), { digest: digest(nextSecret), sealed: sealSuccessor(presented.secret, nextSecret) })
  if (result.outcome === 'unknown') throw attempt.refused('unknown, expired or revoked')
  if (result.outcome === 'replayed') throw replayed(result.family, attempt, deps)
  reportRefresh(result.family, true, attempt, deps)
  const secret = result.outcome === 'rotated' ? nextSecret : openSuccessor(presented.secret, result.sealed)
  return formatRefreshToken(presented.familyId, secret)
}

export function reportRefresh (family: RefreshTokenFamily, rotated: boolean, { origin }: RefreshAttempt, deps: GrantDeps): void {
  deps.accounts.events.emit('token_refreshed', { ...origin, userId: family.userId, sid: family.sid, clientId: family.clientId, rotated })
}

/** A disabled or deleted user's sessions all end with the first refresh that notices. */
async function activeUser (family: RefreshTokenFamily, { origin, refused }: RefreshAttempt, deps: GrantDeps): Promise<User> {
  const user = await deps.accounts.users.findById(family.userId)
  if (isActive(user)) return user
  await deps.sessions.revokeAll(family.userId, 'disabled', { origin })
  throw refused('user gone or disabled')
}

function tokenUse ({ presented }: RefreshAttempt, deps: GrantDeps): Parameters<GrantDeps['tokens']['useToken']>[0] {
  const now = deps.accounts.clock.now()
  return { sid: presented.sid, digest: presented.digest, now, graceMs: deps.refreshToken.graceMs, idleExpiresAt: now + deps.refreshToken.idleTimeoutMs }
}

/** The store has revoked the family by now; this instance's access tokens of it follow. */
function replayed (family: RefreshTokenFamily, { origin, refused }: RefreshAttempt, deps: GrantDeps): Error {
  deps.sessions.forget(family.sid)
  deps.accounts.events.emit('refresh_token_reused', { ...origin, userId: family.userId, sid: family.sid, clientId: family.clientId })
  return refused('replayed')
}
