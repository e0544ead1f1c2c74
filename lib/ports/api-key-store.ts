/** A key of a user for programs, as it is kept. The key itself is nowhere. */
export interface ApiKeyRecord {
  id: string
  name: string
  scopes: readonly string[]
  /** The API that the key is for; `null`: the service's own audience. */
  resource: string | null
  /** Milliseconds since the epoch, as all times here. */
  createdAt: number
  /** `null`: never. */
  expiresAt: number | null
  /** To the minute. `null`: never used. */
  lastUsedAt: number | null
}

/** A key with the user whom it belongs to. */
export interface OwnedApiKey extends ApiKeyRecord {
  userId: string
}

/** A use is written where the stored one is at least as old. Milliseconds. */
export const API_KEY_USE_EVERY_MS = 60_000

/** Keeps API keys by their digests. */
export interface ApiKeyStore {
  /** The store's name in messages. Nothing depends on it. */
  kind: string
  /** True if keys outlive a crash of the server. */
  durable: boolean
  /**
   * Adds a key, unless the user has `max` keys that have not expired by `now`. Of any number of parallel calls exactly
   * as many add one as there is room for.
   */
  create(key: OwnedApiKey & { digest: string }, max: number, now: number): Promise<'created' | 'full'>
  /** The keys of a user in the order of their creation, expired ones too. */
  list(userId: string): Promise<ApiKeyRecord[]>
  /** The key of this digest, expired or not; `null` for one that is unknown or revoked. */
  find(digest: string): Promise<OwnedApiKey | null>
  /** Writes the time of the last use, unless the known one is less than a minute older. */
  touch(userId: string, id: string, now: number): Promise<void>
  /** True if there was such a key. */
  revoke(userId: string, id: string): Promise<boolean>
  /** Ends all keys of a user. @returns their ids */
  revokeAll(userId: string): Promise<string[]>
  prepare?(): Promise<void>
  /** The migrations that `prepare` would make, one text each. Changes nothing. */
  pending?(): Promise<string[]>
  sweep?(now: number): void | Promise<void>
}
