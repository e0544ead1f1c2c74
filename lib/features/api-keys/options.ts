import type { AccountModel } from '../../pages/account-models.ts'
import type { CommonModel, ShownScope } from '../../pages/common-model.ts'
import { type TSchema, Type } from '@sinclair/typebox'
import type { ApiKeyStore } from '../../ports/api-key-store.ts'
import { API_KEY_PREFIX } from '../../protocol/credential.ts'
import {
  filled,
  flag,
  type Given,
  integer,
  option,
  required,
  seconds,
  section,
  text,
  words
} from '../../settings/schema-words.ts'

const STORE_TAKES = 'an ApiKeyStore, such as memoryApiKeyStore(), sqliteApiKeyStore(db) or postgresApiKeyStore(db)'
const aFunction = Type.Function([], Type.Unknown(), { takes: 'a function' })
/** The method by which a store is told from options. */
const STORE: TSchema = Type.Object({ find: aFunction }, { takes: STORE_TAKES })

/** A hundred years. */
export const MAX_KEY_SECONDS = 3_153_600_000

const API_KEYS = {
  /** The store of the keys. It has a digest of each key, and no key. */
  store: required(option<ApiKeyStore>(STORE)),
  /** The beginning of every key, so that scanners for secrets find them. Choose your own, one for each environment. */
  prefix: text({
    pattern: API_KEY_PREFIX.source,
    default: 'fa',
    takes: 'a lower-case letter and 1 to 15 lower-case letters or digits'
  }),
  /**
   * The scopes that a key can have. Default: those of the option `scopes`, and those of the API of the key. `openid`,
   * `offline_access` and `authority:` scopes are never among them.
   */
  scopes: words({ uniqueItems: true, takes: 'an array of scopes, each once', otherwise: 'all that a key can have' }),
  /** How many unexpired keys a user can have. */
  maxPerUser: integer(1, 1000, { default: 20 }),
  /** Seconds that a key is good for, at most. Without it, a key that names no end has none. */
  expiresIn: seconds(60, MAX_KEY_SECONDS, { otherwise: 'no end', to: 'Ms' }),
  /** The account page has a page for the keys. */
  pages: flag({ default: true })
}

/** Keys by which people's own programs act for them. */
export interface ApiKeyOptions extends Given<Omit<typeof API_KEYS, 'store'>> {
  /** The store of the keys. It has a digest of each key, and no key. */
  store: ApiKeyStore
}

export type ApiKeySettings = ReturnType<typeof apiKeySettings>

export function apiKeySettings(given: ApiKeyOptions) {
  const { store: _given, expiresInMs, ...rest } = filled(API_KEYS, given)
  return { ...rest, store: given.store, expiresInMs: given.expiresIn === undefined ? null : expiresInMs }
}

export const API_KEY_OPTIONS = {
  /**
   * API keys for people's own scripts: a store, or an object with one. People make them after a fresh sign-in.
   * `app.authenticate` accepts them, and no endpoint of the account does. The guide on API keys explains them.
   */
  apiKeys: option<ApiKeyStore | ApiKeyOptions>(
    Type.Union([STORE, section(API_KEYS, { takes: '{ store, prefix, scopes, maxPerUser, expiresIn, pages }' })], {
      takes: `${STORE_TAKES}, or { store, prefix, scopes, maxPerUser, expiresIn, pages }`,
      otherwise: 'none'
    })
  )
}

export interface ApiKeyFeatureOptions extends Given<typeof API_KEY_OPTIONS> {}

/** An API key of the user. */
export interface AccountApiKey {
  /** The form returns it as `key`. */
  id: string
  name: string
  scopes: ShownScope[]
  /** The name of its API. `null`: the host's own routes. */
  api: string | null
  /** Milliseconds since the epoch. */
  createdAt: number
  lastUsedAt: number | null
  /** `null`: never. */
  expiresAt: number | null
  /** The page that asks before it removes the key. */
  removeUrl: string
}

/** The models of the pages of API keys. */
export interface ApiKeyModels {
  /**
   * One form with the `decision` `create`, the hidden field `newest`, the fields `name` and `expires_in`, and a box for
   * each scope. `groups`: the boxes of the host's own routes, and of each API by its `name`. `signInUrl`: the user
   * signs in again before a key is made. `removing`: the page asks before it removes this key, by a form
   * with the hidden field `key`.
   */
  account_api_keys: AccountModel & {
    keys: AccountApiKey[]
    hasMore: boolean
    newest: string
    name: string
    groups: Array<{ name: string | null; scopes: Array<{ field: string; scope: ShownScope; checked: boolean }> }>
    lifetimes: Array<{ seconds: number | null; chosen: boolean }>
    signInUrl: string | null
    removing: { id: string; name: string; backUrl: string } | null
  }
  /** A new key, which is shown once. `backUrl` leads to the page `account_api_keys`. */
  account_api_key: CommonModel & { username: string; name: string; key: string; backUrl: string }
}

/** True for a scope that no key can have, because it is for an endpoint of this service. */
export const neverOfKeys = (scope: string): boolean =>
  scope === 'openid' || scope === 'offline_access' || scope.startsWith('authority:')
