import { auditTarget, audited } from '../accounts/acted-on.ts'
import { isActive } from '../sessions/active-user.ts'
import { authenticatePassword } from '../accounts/authenticate-password.ts'
import { type ApiKeys, slotOf } from '../accounts/slots.ts'
import { replacePassword } from '../accounts/change-password.ts'
import { linkByHost, linkIdOf, listLinks, unlinkIdentity } from '../accounts/identities.ts'
import { endRest, removeAccount } from '../accounts/remove-account.ts'
import { countedName } from '../accounts/username.ts'
import { startPasswordReset } from '../accounts/reset-password.ts'
import { consentsOf, takeBackConsent } from '../authorize/consent.ts'
import { OAuthError, kindOf } from '../errors.ts'
import { isStorable } from '../protocol/bounds.ts'
import { hasToken, invalidToken, missingToken } from '../protocol/bearer.ts'
import { boundKey, boundToken } from '../protocol/dpop.ts'
import { type Events, NO_REQUEST } from '../events.ts'
import type { GrantDeps } from '../oauth/deps.ts'
import { issueTokens, reportIssued } from '../oauth/issue-tokens.ts'
import { grantedBy } from '../oauth/target.ts'
import type { Hook } from '../http/edge/hook.ts'
import type { RequestLimiter } from '../http/edge/limit.ts'
import type { RequestBrowser } from '../http/edge/request-browser.ts'
import type { ConsentStore } from '../ports/state.ts'
import type { User } from '../ports/user-store.ts'
import type { PathName } from '../settings/paths.ts'
import { badOption } from '../settings/option-error.ts'
import { type AuthenticationProof, hostProof, proofsFor, TEST_PROOFS } from '../protocol/authentication.ts'
import { listSessions } from '../sessions/browser-sessions.ts'
import type { AccessTokens } from '../tokens/access-tokens.ts'
import type { Authority } from './authority.ts'
import { METHODS_OFF } from './compose.ts'
import type { Parts } from '../feature.ts'
import type { ApiKeyRecord } from '../ports/api-key-store.ts'
import type { UserApiKey } from './authority-answers.ts'

interface AuthorityDeps {
  grants: GrantDeps
  accessTokens: AccessTokens
  events: Events
  health: Authority['health']
  consents: ConsentStore
  browser: Pick<RequestBrowser, 'signIn' | 'signOut'>
  readSession: Hook
  /** `null`: there is no sign-in page. */
  requireSession: Authority['requireSession'] | null
  limiter: Pick<RequestLimiter, 'reserveAccount'>
  /** The URL of a hosted page; `null`: there are no pages. */
  url: ((name: PathName) => string) | null
  /** Functions that make the `app.authority` methods of the features that are on. */
  methods: ReadonlyArray<NonNullable<Parts['authority']>>
  connections: Authority['connections']
}

/** The names of the `app.authority` methods that features implement. */
type FeatureMethod =
  | 'users'
  | 'blockClient'
  | 'unblockClient'
  | 'verifyAudit'
  | 'factors'
  | 'removeFactor'
  | 'resetFactors'
  | 'startEnrolment'
  | 'importTotp'
  | 'forgetDevices'

export function createAuthority({
  health,
  grants,
  accessTokens,
  events,
  consents,
  browser,
  readSession,
  requireSession,
  limiter,
  methods,
  url,
  connections
}: AuthorityDeps): Authority {
  const { accounts, sessions } = grants
  async function activeUser(userId: string): Promise<User> {
    const user = await accounts.users.findById(idOf(userId))
    if (!isActive(user)) throw new OAuthError('invalid_grant', 'There is no such user, or the account is disabled.')
    return user
  }
  function pageFor(method: string, name: PathName): string {
    if (url === null)
      throw badOption('pages', `got false; app.authority.${method} needs the page that its link leads to`)
    return url(name)
  }
  function withKeys(): ApiKeys {
    const keys = slotOf(accounts, 'apiKeys')
    if (keys === null) throw new TypeError('app.authority: there are no API keys without the option apiKeys.')
    return keys
  }
  function proofsOf({
    amr = [],
    [TEST_PROOFS]: acr
  }: {
    amr?: readonly string[] | undefined
    [TEST_PROOFS]?: string
  }): AuthenticationProof[] {
    const now = accounts.clock.now()
    return acr === undefined ? [hostProof(amr, now)] : proofsFor(acr, now)
  }
  async function existing(userId: string): Promise<User> {
    const user = await accounts.users.findById(idOf(userId))
    if (user === null) throw new OAuthError('invalid_grant', 'There is no such user.')
    return user
  }
  return {
    ...(Object.assign({}, METHODS_OFF, ...methods.map((made) => made({ existing, idOf, adminOf, pageFor }))) as Pick<
      Authority,
      FeatureMethod
    >),
    async verify(token) {
      if (typeof token !== 'string') throw missingToken(' app.authority.verify got none.')
      if (hasToken(token)) throw invalidToken('Give app.authority.verify the token without its scheme.')
      const claims = await accessTokens.verify(token, null)
      // This method gets no request, so it cannot check the DPoP proof that a bound token needs.
      if (boundKey(claims) !== null) throw boundToken()
      return claims
    },
    async issueTokens(userId, options = {}) {
      const { scope, clientId } = options
      const methods = proofsOf(options)
      const client = clientId === undefined ? null : await grants.clients.findById(clientId)
      if (clientId !== undefined && client === null) throw new OAuthError('invalid_client', 'There is no such client.')
      const granted = grantedBy({ scope }, client, grants)
      const user = await activeUser(userId)
      const issue = { user, client, methods, ...granted, jkt: null, origin: NO_REQUEST, grantType: 'host' }
      const { sid, scopes, response } = await issueTokens(issue, grants)
      reportIssued({ ...issue, scopes }, sid, grants)
      return response
    },
    async signIn(request, reply, userId, options = {}) {
      const proofs = proofsOf(options)
      const user = await activeUser(userId)
      await browser.signIn(
        request,
        reply,
        user.id,
        proofs.map((proof) => ({ ...proof, exempt: true }))
      )
    },
    signOut: browser.signOut,
    readSession,
    requireSession(...required) {
      if (requireSession === null)
        throw badOption('pages', 'got false; app.authority.requireSession needs a sign-in page to lead to')
      return requireSession(...required)
    },
    async revokeUser(userId, { apiKeys = false, ...others } = {}) {
      if (typeof apiKeys !== 'boolean' || Object.keys(others).length > 0)
        throw new TypeError('app.authority.revokeUser: the options are { apiKeys }, true or false.')
      const keys = apiKeys ? withKeys() : null
      await sessions.revokeAll(idOf(userId), 'host', { origin: NO_REQUEST })
      await keys?.revokeAll(userId, BY_HOST)
    },
    apiKeys: {
      async create(asked) {
        const made = await withKeys().create(asked, { sid: null, origin: NO_REQUEST })
        const { lastUsedAt: _never, ...shown } = shownKey(made)
        return { ...shown, key: made.key }
      },
      list: async (userId) => (await withKeys().list(idOf(userId))).map(shownKey),
      revoke: async (userId, id) => await withKeys().revoke(idOf(userId), id, BY_HOST),
      async verify(key) {
        const found = await withKeys().verify(key)
        return { ...shownKey(found), userId: found.userId }
      }
    },
    sessions: async (userId) => await listSessions(idOf(userId), sessions),
    revokeSession: async (userId, id) => await sessions.revoke(idOf(userId), id, 'host', NO_REQUEST),
    consents: async (userId) => {
      const user = await accounts.users.findById(idOf(userId))
      const found = user === null ? [] : await consentsOf(user, { consents, accounts })
      return found.map(({ clientId, scopes, grantedAt, expiresAt }) => ({
        clientId,
        scopes,
        grantedAt: new Date(grantedAt),
        expiresAt: new Date(expiresAt)
      }))
    },
    revokeConsent: async (userId, clientId) =>
      await takeBackConsent(
        { userId: idOf(userId), clientId, by: 'host', origin: NO_REQUEST },
        { consents, sessions, events }
      ),
    identities: async (userId) =>
      (await listLinks(idOf(userId), accounts)).map((link) => ({
        id: linkIdOf(link),
        connection: link.connection,
        issuer: link.issuer,
        subject: link.subject,
        email: link.email ?? null,
        linkedAt: new Date(link.linkedAt),
        lastUsedAt: new Date(link.lastUsedAt)
      })),
    linkIdentity: async (userId, identity) => await linkByHost(idOf(userId), identity, accounts),
    async unlinkIdentity(userId, id) {
      const user = await accounts.users.findById(idOf(userId))
      return user === null
        ? 'unknown'
        : await unlinkIdentity(user, id, { by: 'host', locale: undefined, origin: NO_REQUEST }, accounts)
    },
    async deleteUser(userId, options) {
      const admin = adminOf(options)
      const target = auditTarget(idOf(userId))
      const actor = { type: 'host', id: admin ?? 'app' } as const
      return await audited(
        { action: 'account_removed', actor, target, origin: NO_REQUEST },
        async () => {
          const user = await accounts.users.findById(userId)
          if (user !== null)
            await removeAccount({ user, stays: null, admin, locale: undefined, origin: NO_REQUEST }, accounts)
          else await endRest(userId, NO_REQUEST, accounts)
          return user !== null
        },
        accounts
      )
    },
    hashPassword: async (password) => await accounts.hashing.hash(password),
    async verifyPassword(username, password) {
      try {
        const verified = await limiter.reserveAccount(
          countedName(username),
          async () => await authenticatePassword({ username, password, clientId: null, origin: NO_REQUEST }, accounts)
        )
        return verified.id
      } catch (error) {
        if (error instanceof OAuthError && error.error === 'invalid_grant') return null
        throw error
      }
    },
    changePassword: async (userId, newPassword) => {
      await replacePassword(idOf(userId), newPassword, accounts)
    },
    startPasswordReset: async (userId) => {
      await startPasswordReset(idOf(userId), accounts)
    },
    connections,
    health,
    on: (name, handler) => {
      events.on(name, handler)
    },
    off: (name, handler) => {
      events.off(name, handler)
    }
  }
}

const BY_HOST = { by: 'host', origin: NO_REQUEST } as const

function shownKey({ id, name, scopes, resource, createdAt, expiresAt, lastUsedAt }: ApiKeyRecord): UserApiKey {
  const dateOf = (at: number | null): Date | null => (at === null ? null : new Date(at))
  return {
    id,
    name,
    scopes: [...scopes],
    resource,
    createdAt: new Date(createdAt),
    expiresAt: dateOf(expiresAt),
    lastUsedAt: dateOf(lastUsedAt)
  }
}

/**
 * Refuses values other than strings. Otherwise a mistake such as `sessions(user)` would return an empty list.
 * @throws TypeError
 */
function idOf(userId: unknown): string {
  if (typeof userId !== 'string')
    throw new TypeError(`app.authority takes the id of a user, such as user.id, and got ${kindOf(userId)}.`)
  return userId
}

/**
 * Reads the name of the acting admin. Refuses unknown options, because a typo must not leave the audit trail without a
 * name.
 * @throws TypeError
 */
function adminOf(options: { by?: string | undefined } = {}): string | undefined {
  const { by, ...others } = options
  if (
    Object.keys(others).length > 0 ||
    (by !== undefined && (typeof by !== 'string' || by === '' || by.length > 128 || !isStorable(by)))
  )
    throw new TypeError(
      'app.authority: the options are { by }, a string of at most 128 characters that names who of yours does this.'
    )
  return by
}
