import type { FastifyReply, FastifyRequest } from 'fastify'
import { isActive } from './tokens/active-user.ts'
import { startPasswordReset } from './accounts/reset-password.ts'
import { OAuthError } from './errors.ts'
import type { Events } from './events.ts'
import type { GrantDeps, TokenResponse } from './grants/deps.ts'
import { issueTokens } from './grants/issue-tokens.ts'
import type { BrowserSignIn } from './http/browser-sign-in.ts'
import type { Hook } from './http/guard.ts'
import type { ConsentStore } from './ports/consent-store.ts'
import type { BrowserSession } from './ports/session-store.ts'
import type { RefreshTokenFamily } from './ports/token-store.ts'
import type { User } from './ports/user-store.ts'
import type { AccessTokenClaims } from './protocol/access-token.ts'
import { grantScope, parseScope } from './protocol/scope.ts'
import type { AccessTokens } from './tokens/access-tokens.ts'

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
  /** When it ends unless it is used before; never later than its absolute end. */
  expiresAt: Date
}

/** What a user allowed a client that is not the host's own. */
export interface UserConsent {
  clientId: string
  scopes: string[]
  grantedAt: Date
  expiresAt: Date
}

/** What the host can do from its own code: `app.authority`. */
export interface Authority {
  /** The claims of a good access token, frozen. @throws OAuthError `invalid_token`, `temporarily_unavailable` (its key can't be looked up) */
  verify(token: string): Promise<AccessTokenClaims>
  /**
   * Tokens for a user that the host has authenticated by its own means, as the password grant would give them.
   * @throws OAuthError `invalid_grant` where there is no such user or the account is disabled; `invalid_scope`; `invalid_client`
   */
  issueTokens(userId: string, options?: { scope?: string, clientId?: string }): Promise<TokenResponse>
  /**
   * Signs in, in the browser that sent this request, a user whom the host has authenticated by its own means: sets the session
   * cookie on the reply, which must not be sent yet. Whoever was signed in there before no longer is. Guard the route against
   * forged requests: what signs in must not be a link.
   * @throws OAuthError `invalid_grant` where there is no such user or the account is disabled
   */
  signIn(request: FastifyRequest, reply: FastifyReply, userId: string): Promise<void>
  /** Ends the browser session of this request, if there is one, as `/auth/logout` does, and takes the cookie back. */
  signOut(request: FastifyRequest, reply: FastifyReply): Promise<void>
  /**
   * An `onRequest` hook: sets `request.authSession` to who is signed in in this browser, `null` where nobody is. Refuses nobody.
   * Counts as a use of the session. A cookie comes with requests of other sites too: `SameSite=Lax` keeps it from their posts.
   */
  readSession: Hook
  /** Ends all sessions of the user, everywhere. Call it after disabling one. */
  revokeUser(userId: string): Promise<void>
  /** Alive now, newest first: browser sessions and token families. */
  sessions(userId: string): Promise<Session[]>
  /** `false` where the user has no such session. */
  revokeSession(userId: string, id: string): Promise<boolean>
  /** Valid now, newest first. */
  consents(userId: string): Promise<UserConsent[]>
  /** Takes the consent back and ends all that this client was given for the user. `false` where there was no consent. */
  revokeConsent(userId: string, clientId: string): Promise<boolean>
  /** A PHC string with the current parameters, through the hashing queue. @throws OAuthError `temporarily_unavailable` */
  hashPassword(password: string): Promise<string>
  /** Sends the user a reset message. Rejects where there is no such user or no `sendMessage`. */
  startPasswordReset(userId: string): Promise<void>
  on: Events['on']
  off: Events['off']
}

export interface AuthorityDeps {
  grants: GrantDeps
  accessTokens: AccessTokens
  events: Events
  consents: ConsentStore
  browser: BrowserSignIn
  readSession: Hook
}

export function createAuthority ({ grants, accessTokens, events, consents, browser, readSession }: AuthorityDeps): Authority {
  const { accounts, sessions } = grants
  async function activeUser (userId: string): Promise<User> {
    const user = await accounts.users.findById(userId)
    if (!isActive(user)) throw new OAuthError('invalid_grant', 'There is no such user, or the account is disabled.')
    return user
  }
  return {
    verify: async (token) => await accessTokens.verify(token),
    async issueTokens (userId, { scope, clientId } = {}) {
      const client = clientId === undefined ? null : await grants.clients.findById(clientId)
      if (clientId !== undefined && client === null) throw new OAuthError('invalid_client', 'There is no such client.')
      const scopes = grantScope(parseScope(scope), client?.scopes ?? grants.scopes)
      const user = await activeUser(userId)
      const { response } = await issueTokens({ user, client, scopes, origin: {}, grantType: 'host' }, grants)
      return response
    },
    async signIn (request, reply, userId) {
      const user = await activeUser(userId)
      await browser.signIn(request, reply, user.id)
    },
    signOut: browser.signOut,
    readSession,
    revokeUser: async (userId) => { await sessions.revokeAll(userId, 'host') },
    async sessions (userId) {
      const [families, browserSessions] = await Promise.all([sessions.list(userId), sessions.listBrowserSessions(userId)])
      return [
        ...families.map((family): Session => ({ id: family.sid, kind: 'token', clientId: family.clientId, scope: family.scope, ...commonFields(family) })),
        ...browserSessions.map((session): Session => ({ id: session.sid, kind: 'browser', clientId: null, scope: '', ...commonFields(session) }))
      ].sort((a, b) => b.createdAt.getTime() - a.createdAt.getTime())
    },
    revokeSession: async (userId, id) => await sessions.revoke(userId, id, 'host'),
    consents: async (userId) => (await consents.listConsents(userId, accounts.clock.now())).map(({ clientId, scopes, grantedAt, expiresAt }) => ({ clientId, scopes, grantedAt: new Date(grantedAt), expiresAt: new Date(expiresAt) })),
    async revokeConsent (userId, clientId) {
      // First: from here on no code is given without asking again.
      const revoked = await consents.revokeConsent(userId, clientId)
      await sessions.revokeFamiliesOfClient(userId, clientId, 'host')
      return revoked
    },
    hashPassword: async (password) => await accounts.hashing.hash(password),
    startPasswordReset: async (userId) => { await startPasswordReset(userId, accounts) },
    on: (name, handler) => { events.on(name, handler) },
    off: (name, handler) => { events.off(name, handler) }
  }
}

function commonFields ({ userAgent, createdAt, lastUsedAt, expiresAt, idleExpiresAt }: RefreshTokenFamily | BrowserSession): Pick<Session, 'userAgent' | 'createdAt' | 'lastUsedAt' | 'expiresAt'> {
  return { userAgent, createdAt: new Date(createdAt), lastUsedAt: new Date(lastUsedAt), expiresAt: new Date(Math.min(expiresAt, idleExpiresAt)) }
}
