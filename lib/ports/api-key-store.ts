/** An API key of a user, as the store keeps it. The store never has the key itself, only its digest. */
export interface ApiKeyRecord {
  id: string
  name: string
  scopes: readonly string[]
  /** The API that the key is for; `null`: the service's own audience. */
  resource: string | null
  /** Milliseconds since the epoch, like all times in this file. */
  createdAt: number
  /** `null`: never. */
  expiresAt: number | null
  /** The time of the last use, up to a minute too early. `null`: never used. */
  lastUsedAt: number | null
}

/** A key with the user whom it belongs to. */
export interface OwnedApiKey extends ApiKeyRecord {
  userId: string
}

/** The minimum time between two writes of `lastUsedAt`, in milliseconds. */
export const API_KEY_USE_EVERY_MS = 60_000

/** Keeps API keys by their digests. */
export interface ApiKeyStore {
  /** The store's name in messages. `memory` means that the contents end with the process. */
  kind: string
  /** True if keys outlive a crash of the server. */
  durable: boolean
  /**
   * Adds a key. `full`: the user already has `max` keys that have not expired at `now`. Parallel calls never exceed
   * `max` together.
   */
  create(key: OwnedApiKey & { digest: string }, max: number, now: number): Promise<'created' | 'full'>
  /** The keys of a user in the order of their creation. Includes expired keys that the store still has. */
  list(userId: string): Promise<ApiKeyRecord[]>
  /** The key with this digest, even if it has expired. `null`: the key is unknown or revoked. */
  find(digest: string): Promise<OwnedApiKey | null>
  /** Sets `lastUsedAt` to `now`, unless the stored time is less than a minute old. */
  touch(userId: string, id: string, now: number): Promise<void>
  /** True if the user had such a key. */
  revoke(userId: string, id: string): Promise<boolean>
  /** Revokes all keys of a user. @returns their ids */
  revokeAll(userId: string): Promise<string[]>
  prepare?(): Promise<void>
  /** The migrations that `prepare` would make, one text each. Changes nothing. */
  pending?(): Promise<string[]>
  sweep?(now: number): void | Promise<void>
}
