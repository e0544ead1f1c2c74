import type { AttemptAtWork } from '../limits/attempt.ts'
import type { User } from '../ports/user-store.ts'
import type { Client } from '../ports/client-store.ts'
import { digest } from '../protocol/digest.ts'
import { formatRefreshToken, newTokenId, sidOf } from '../protocol/refresh-token.ts'
import type { GrantDeps, Origin, TokenResponse } from './deps.ts'

export interface Issue {
  user: User
  client: Client | null
  /** Granted scope. */
  scopes: string[]
  origin: Origin
  grantType: string
  /** What this counts as, where the success is to be given back with the commit. */
  attempt?: AttemptAtWork
}

/** Tokens that are committed, and the family they belong to. */
export interface IssuedTokens {
  sid: string
  response: TokenResponse
}

/**
 * Starts a refresh token family and makes its first tokens. Signing comes before the commit: what can't be signed leaves nothing behind.
 */
export async function issueTokens ({ user, client, scopes, origin, grantType, attempt }: Issue, deps: GrantDeps): Promise<IssuedTokens> {
  const { clock, random, events } = deps.accounts
  const now = clock.now()
  const familyId = newTokenId(user.id, random.id())
  const secret = random.secret()
  const sid = sidOf(familyId)
  const scope = scopes.join(' ')
  const accessToken = await signAccessToken({ user, client, scopes, sid, authenticatedAt: now }, deps)
  const expiresAt = now + deps.refreshToken.expiresInMs
  await deps.tokens.createFamily({
    sid,
    userId: user.id,
    clientId: client?.clientId ?? null,
    scope,
    authenticatedAt: now,
    createdAt: now,
    lastUsedAt: now,
    expiresAt,
    idleExpiresAt: Math.min(expiresAt, now + deps.refreshToken.idleTimeoutMs),
    userAgent: origin.userAgent?.slice(0, 256) ?? null,
    sessionSid: null,
    offline: true,
    authorization: null,
    tokenDigest: digest(secret)
  }, attempt?.toGiveBack())
  events.emit('token_issued', { userId: user.id, sid, clientId: client?.clientId ?? null, scope, grantType, ...origin })
  return {
    sid,
    response: {
      access_token: accessToken,
      token_type: 'Bearer',
      expires_in: deps.accessTokens.expiresInSeconds,
      refresh_token: formatRefreshToken(familyId, secret),
      scope
    }
  }
}

/** An access token for a family, with the host's claims. */
export async function signAccessToken (of: { user: User, client: Client | null, scopes: string[], sid: string, authenticatedAt: number }, deps: GrantDeps): Promise<string> {
  await deps.accessTokens.ready()
  const extra = deps.claims === null ? {} : await deps.claims(of.user, { scopes: of.scopes, client: of.client, use: 'access_token' })
  return deps.accessTokens.mint({
    sub: of.user.id,
    scope: of.scopes.join(' '),
    sid: of.sid,
    auth_time: Math.floor(of.authenticatedAt / 1000),
    extra,
    ...(of.client === null ? {} : { client_id: of.client.clientId })
  })
}
