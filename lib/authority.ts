import { isActive } from './accounts/active-user.ts'
import { startPasswordReset } from './accounts/reset-password.ts'
import { OAuthError } from './errors.ts'
import type { Events } from './events.ts'
import type { TokenResponse } from './grants/deps.ts'
import { issueTokens } from './grants/issue-tokens.ts'
import type { RefreshTokenFamily } from './ports/token-store.ts'
import type { AccessTokenClaims } from './protocol/access-token.ts'
import { grantScope, parseScope } from './protocol/scope.ts'
import type { Services } from './services.ts'

/** One sign-in of a user. `id` is what `revokeSession` takes and the `sid` claim of its access tokens. */
export interface Session {
  id: string
  clientId: string | null
  /** Granted scope, space separated. */
  scope: string
  userAgent: string | null
  createdAt: Date
  lastUsedAt: Date
  /** When it ends unless it is used before; never later than its absolute end. */
  expiresAt: Date
}

/** What the host can do from its own code: `app.authority`. */
export interface Authority {
  /** The claims of a good access token, frozen. @throws OAuthError `invalid_token` */
  verify(token: string): Promise<AccessTokenClaims>
  /**
   * Tokens for a user that the host has authenticated by its own means, as the password grant would give them.
   * @throws OAuthError `invalid_grant` where there is no such user or the account is disabled; `invalid_scope`; `invalid_client`
   */
  issueTokens(userId: string, options?: { scope?: string, clientId?: string }): Promise<TokenResponse>
  /** Ends all sessions of the user, everywhere. Call it after disabling one. */
  revokeUser(userId: string): Promise<void>
  /** Alive now, newest first. */
  sessions(userId: string): Promise<Session[]>
  /** `false` where the user has no such session. */
  revokeSession(userId: string, id: string): Promise<boolean>
  /** A PHC string with the current parameters, through the hashing queue. @throws OAuthError `temporarily_unavailable` */
  hashPassword(password: string): Promise<string>
  /** Sends the user a reset message. Rejects where there is no such user or no `sendMessage`. */
  startPasswordReset(userId: string): Promise<void>
  on: Events['on']
  off: Events['off']
}

export function createAuthority ({ grants, accessTokens, events }: Services): Authority {
  const { accounts, sessions } = grants
  return {
    verify: async (token) => await accessTokens.verify(token),
    async issueTokens (userId, { scope, clientId } = {}) {
      const client = clientId === undefined ? null : await grants.clients.findById(clientId)
      if (clientId !== undefined && client === null) throw new OAuthError('invalid_client', 'There is no such client.')
      const scopes = grantScope(parseScope(scope), client?.scopes ?? grants.scopes)
      const user = await accounts.users.findById(userId)
      if (!isActive(user)) throw new OAuthError('invalid_grant', 'There is no such user, or the account is disabled.')
      const { response } = await issueTokens({ user, client, scopes, origin: {}, grantType: 'host' }, grants)
      return response
    },
    revokeUser: async (userId) => { await sessions.revokeAll(userId, 'host') },
    sessions: async (userId) => (await sessions.list(userId)).map(sessionOf),
    revokeSession: async (userId, id) => await sessions.revoke(userId, id, 'host'),
    hashPassword: async (password) => await accounts.hashing.hash(password),
    startPasswordReset: async (userId) => { await startPasswordReset(userId, accounts) },
    on: (name, handler) => { events.on(name, handler) },
    off: (name, handler) => { events.off(name, handler) }
  }
}

function sessionOf (family: RefreshTokenFamily): Session {
  return {
    id: family.sid,
    clientId: family.clientId,
    scope: family.scope,
    userAgent: family.userAgent,
    createdAt: new Date(family.createdAt),
    lastUsedAt: new Date(family.lastUsedAt),
    expiresAt: new Date(Math.min(family.expiresAt, family.idleExpiresAt))
  }
}
