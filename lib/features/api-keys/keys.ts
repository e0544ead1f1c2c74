import { MAX_KEY_SECONDS, neverOfKeys } from './options.ts'
import type { AccountsDeps } from '../../accounts/deps.ts'
import type { ApiKeys, NewApiKey } from '../../accounts/slots.ts'
import type { Background } from '../../accounts/background.ts'
import { OAuthError } from '../../errors.ts'
import {
  API_KEY_USE_EVERY_MS,
  type ApiKeyRecord,
  type ApiKeyStore,
  type OwnedApiKey
} from '../../ports/api-key-store.ts'
import { apiKeyDigest, apiKeyOf, isApiKey } from '../../protocol/credential.ts'
import type { AccessTokenClaims } from '../../protocol/access-token.ts'
import { invalidToken } from '../../protocol/bearer.ts'
import { type Resource, resourceNamed } from '../../protocol/resource.ts'
import { scopeMember } from '../../protocol/scope.ts'
import { isActive } from '../../sessions/active-user.ts'

const MAX_NAME = 100
/** The claim `exp` of a key that never expires: the last second of the year 9999. */
const NO_END_SECONDS = 253_402_300_799

interface KeySettings {
  prefix: string
  /** The scopes that keys may have. `null`: no restriction beyond `neverOfKeys`. */
  scopes: readonly string[] | null
  maxPerUser: number
  /** The maximum lifetime, which is also the default. `null`: keys may have no end. */
  expiresInMs: number | null
}

interface KeyDeps extends Pick<AccountsDeps, 'issuer' | 'users' | 'clock' | 'random' | 'events'> {
  store: ApiKeyStore
  /** The claim `aud` for a key without a resource. */
  audience: string | readonly string[]
  /** The option `scopes`. */
  scopes: readonly string[]
  /** The APIs. The host can add more until the service has started. */
  resources: readonly Resource[]
  /** Runs the writes of last uses in the background, so that no request waits for them. */
  uses: Background
}

/** The scopes that a new key for this API can have. `api` is `null` for the host's own routes. */
export interface KeyOffer {
  api: Resource | null
  scopes: readonly string[]
}

/** The API keys of all users. */
export function createApiKeys(settings: KeySettings, deps: KeyDeps): ApiKeys & { offers(): KeyOffer[] } {
  const { prefix, maxPerUser, expiresInMs } = settings
  const { issuer, audience, store, users, clock, random, events, uses } = deps
  const canHave = (scope: string): boolean => !neverOfKeys(scope) && settings.scopes?.includes(scope) !== false

  /** Returns the APIs that keys can be for. Excludes APIs with `allowedClients`, because a key has no client. */
  const apis = (): Resource[] => deps.resources.filter(({ allowedClients }) => allowedClients === null)

  /** Returns the scopes that a key for this API can have under the present options. `null`: no key may use the API. */
  function offeredBy(resource: string | null): readonly string[] | null {
    const offered = resource === null ? deps.scopes : apis().find((one) => one.resource === resource)?.scopes
    return offered?.filter(canHave) ?? null
  }

  /** Returns the key without the scopes that the options no longer allow. */
  function current<Key extends ApiKeyRecord>(key: Key): Key {
    const offered = offeredBy(key.resource) ?? []
    return { ...key, scopes: key.scopes.filter((scope) => offered.includes(scope)) }
  }

  /** Returns the same public error for every invalid key, so that the caller can't tell whether the key existed. */
  const refused = (detail: string): OAuthError => invalidToken('The API key is not valid.', detail)

  async function find(key: string): Promise<OwnedApiKey> {
    if (!isApiKey(prefix, key)) throw refused('form or checksum')
    const found = await store.find(apiKeyDigest(key))
    const now = clock.now()
    if (found === null) throw refused('unknown or revoked')
    if (found.expiresAt !== null && now >= found.expiresAt) throw refused('expired')
    if (offeredBy(found.resource) === null) throw refused('the resource was removed from the options')
    if (!isActive(await users.findById(found.userId))) throw refused('no user')
    return current(found)
  }

  function noteUse({ userId, id, lastUsedAt }: OwnedApiKey): void {
    const now = clock.now()
    if (lastUsedAt !== null && now - lastUsedAt < API_KEY_USE_EVERY_MS) return
    uses.run(id, 'the last use of an API key could not be written', async () => {
      await store.touch(userId, id, now)
    })
  }

  /** Finds the API that the request for a new key names. @throws OAuthError `invalid_target` */
  function apiNamed(text: string): Resource {
    const found = resourceNamed(text, apis(), issuer)
    if (found === undefined) throw new OAuthError('invalid_target', 'There is no such resource.')
    return found
  }

  function checked({ name, scopes = [], resource: asked, expiresIn }: NewApiKey) {
    const invalid = (field: string, takes: string): OAuthError =>
      new OAuthError('invalid_request', `${field}: it takes ${takes}.`, { field })
    const trimmed = typeof name === 'string' ? name.trim() : ''
    if (trimmed === '' || trimmed.length > MAX_NAME) throw invalid('name', `1 to ${MAX_NAME} characters`)
    const resource = asked === undefined || asked === null ? null : apiNamed(asked)
    const offered = offeredBy(resource?.resource ?? null) ?? []
    const others = scopes.filter((scope) => !offered.includes(scope))
    if (others.length > 0) throw new OAuthError('invalid_scope', `A key can't have these scopes: ${others.join(' ')}.`)
    const most = expiresInMs === null ? MAX_KEY_SECONDS : expiresInMs / 1000
    if (expiresIn !== undefined && !(Number.isSafeInteger(expiresIn) && expiresIn >= 1 && expiresIn <= most))
      throw invalid('expires_in', `whole seconds from 1 to ${most}`)
    return {
      name: trimmed,
      resource: resource?.resource ?? null,
      scopes: [...new Set(scopes)],
      lifetimeMs: expiresIn === undefined ? expiresInMs : expiresIn * 1000
    }
  }

  return {
    offers: () =>
      [null, ...apis()].map((api) => ({ api, scopes: offeredBy(api === null ? null : api.resource) ?? [] })),

    isKey: (text) => isApiKey(prefix, text),

    async create(asked, { sid, origin }) {
      const { name, scopes, resource, lifetimeMs } = checked(asked)
      const { userId } = asked
      if (!isActive(await users.findById(userId)))
        throw new OAuthError('invalid_grant', 'There is no such user, or the account is disabled.')
      const now = clock.now()
      const key = apiKeyOf(prefix, Buffer.from(random.secret(), 'base64url'))
      const record = {
        userId,
        id: random.id(),
        name,
        scopes,
        resource,
        createdAt: now,
        expiresAt: lifetimeMs === null ? null : now + lifetimeMs,
        lastUsedAt: null
      }
      if ((await store.create({ ...record, digest: apiKeyDigest(key) }, maxPerUser, now)) === 'full')
        throw new OAuthError('api_key_limit', `An account can have ${maxPerUser} API keys. Revoke one first.`)
      events.emit('api_key_created', { userId, keyId: record.id, sid }, origin)
      return { ...record, key }
    },

    list: async (userId) => (await store.list(userId)).map(current),

    async verify(key) {
      const found = await find(key)
      noteUse(found)
      return found
    },

    async claimsFor(key, resource) {
      const found = await find(key)
      // This error may be specific, because only the holder of a valid key can get it.
      if (found.resource !== resource)
        throw invalidToken(
          found.resource === null
            ? `The API key was made without a resource, and this API takes keys for ${resource}.`
            : `The API key was made for ${found.resource} alone.`,
          'resource'
        )
      noteUse(found)
      const claims: AccessTokenClaims = {
        iss: issuer,
        sub: found.userId,
        aud: resource ?? audience,
        ...scopeMember(found.scopes),
        iat: Math.floor(found.createdAt / 1000),
        exp: found.expiresAt === null ? NO_END_SECONDS : Math.floor(found.expiresAt / 1000),
        jti: found.id,
        api_key: found.id
      }
      return Object.freeze(claims)
    },

    async revoke(userId, id, { by, origin }) {
      const revoked = await store.revoke(userId, id)
      if (revoked) events.emit('api_key_revoked', { userId, keyId: id, by }, origin)
      return revoked
    },

    async revokeAll(userId, { by, origin }) {
      for (const keyId of await store.revokeAll(userId)) events.emit('api_key_revoked', { userId, keyId, by }, origin)
    }
  }
}
