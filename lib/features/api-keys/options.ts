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
/** Distinguishes a store from an object of options: only a store has the method `find`. */
const STORE: TSchema = Type.Object({ find: aFunction }, { takes: STORE_TAKES })

/** The maximum lifetime of a key: 100 years of 365 days. */
export const MAX_KEY_SECONDS = 3_153_600_000

const API_KEYS = {
  /** The store of the keys. It contains only a digest of each key. */
  store: required(option<ApiKeyStore>(STORE)),
  /**
   * The beginning of every key, by which secret scanners find keys. Choose your own prefix, and a different one for
   * each environment.
   */
  prefix: text({
    pattern: API_KEY_PREFIX.source,
    default: 'fa',
    takes: 'a lower-case letter and 1 to 15 lower-case letters or digits'
  }),
  /**
   * The scopes that a key can have. Default: all scopes of the key's API, or of the option `scopes` for a key without
   * an API. `openid`, `offline_access` and `authority:` scopes are never among them.
   */
  scopes: words({ uniqueItems: true, takes: 'an array of scopes, each once', otherwise: 'all that a key can have' }),
  /** The maximum number of unexpired keys of a user. */
  maxPerUser: integer(1, 1000, { default: 20 }),
  /** The maximum lifetime of a key in seconds, which is also the default. Without this option, keys may have no end. */
  expiresIn: seconds(60, MAX_KEY_SECONDS, { otherwise: 'no end', to: 'Ms' }),
  /** True to add a page to the account pages on which people manage their keys. */
  pages: flag({ default: true })
}

/** Keys by which people's own programs act for them. */
export interface ApiKeyOptions extends Given<Omit<typeof API_KEYS, 'store'>> {
  /** The store of the keys. It contains only a digest of each key. */
  store: ApiKeyStore
}

export type ApiKeySettings = ReturnType<typeof apiKeySettings>

export function apiKeySettings(given: ApiKeyOptions) {
  const { store: _given, expiresInMs, ...rest } = filled(API_KEYS, given)
  return { ...rest, store: given.store, expiresInMs: given.expiresIn === undefined ? null : expiresInMs }
}

export const API_KEY_OPTIONS = {
  /**
   * API keys for people's own scripts: a store, or an object of options with a store. People make them after a fresh
   * sign-in. `app.authenticate` accepts them, and no endpoint of the account does. The guide on API keys explains them.
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
  /** The id of the key. The form sends it in the field `key` to remove the key. */
  id: string
  name: string
  scopes: ShownScope[]
  /** The name of the key's API. `null`: the host's own routes. */
  api: string | null
  /** Milliseconds since the epoch. */
  createdAt: number
  lastUsedAt: number | null
  /** Milliseconds since the epoch. `null`: the key never expires. */
  expiresAt: number | null
  /** The URL of the page that asks for confirmation and then removes the key. */
  removeUrl: string
}

/** The models of the pages of API keys. */
export interface ApiKeyModels {
  /**
   * One form with the `decision` `create`, the hidden field `newest`, the fields `name` and `expires_in`, and a
   * checkbox for each scope. `groups`: the checkboxes of each API by its `name` (`null`: the host's own routes).
   * `signInUrl`: if set, the user must sign in again before creating a key. `removing`: if set, the page asks for
   * confirmation to remove this key, with a form that has the hidden field `key`.
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
  /** The page that shows a new key. No later page shows the key again. `backUrl` leads to `account_api_keys`. */
  account_api_key: CommonModel & { username: string; name: string; key: string; backUrl: string }
}

/** True for a scope that no key can have, because it is for an endpoint of this service. */
export const neverOfKeys = (scope: string): boolean =>
  scope === 'openid' || scope === 'offline_access' || scope.startsWith('authority:')
