import { invalidOptions } from '../errors.ts'
import { API_KEY_USE_EVERY_MS, type ApiKeyRecord, type ApiKeyStore, type OwnedApiKey } from '../ports/api-key-store.ts'
import { NEVER, type RecordStore } from '../ports/record-store.ts'
import { partitionIn, partitionOf } from '../protocol/digest.ts'
import { checkRecordStore, transactor } from './transact.ts'
import { API_KEYS, apiKeyPointerKey, rowOf, type View } from './view.ts'

/** One record contains all API keys of a user, so that a single commit changes the keys and checks their number. */
type PackedKeys = [userId: string, keys: PackedKey[]]
type PackedKey = [
  id: string,
  digest: string,
  name: string,
  scopes: string[],
  resource: string | null,
  createdAt: number,
  expiresAt: number | null,
  lastUsedAt: number | null
]
/** Names the user of the API key with this digest. A pointer is valid only if the user's record contains the key. */
type Pointer = [userId: string]

/**
 * API keys over a store of records, such as one of a host. The store must not be that of a state, because keys need a
 * table or a prefix of their own. Throws if the store evicts, because a lost record would end the keys of a user.
 */
export function recordApiKeyStore(store: RecordStore): Required<ApiKeyStore> {
  checkRecordStore('recordApiKeyStore', store)
  if (store.evicts)
    throw invalidOptions(
      `recordApiKeyStore takes no store that may throw records away by itself, and "${store.kind}" has evicts: true.`
    )
  const { transact, look } = transactor(store)
  const change = <Outcome>(
    userId: string,
    decide: (held: readonly PackedKey[]) => { outcome: Outcome; keys?: PackedKey[] }
  ) =>
    transact(partitionOf(userId), [API_KEYS], (view): Outcome => {
      const { outcome, keys } = decide(keysIn(view, userId))
      if (keys !== undefined) save(view, userId, keys)
      return outcome
    })
  const dropPointers = async (digests: readonly string[]): Promise<void> => {
    for (const digest of digests)
      await transact(partitionIn(digest), [], (view) => {
        view.remove(apiKeyPointerKey(digest))
      })
  }
  const remove = async (userId: string, isEnded: (key: PackedKey) => boolean): Promise<string[]> => {
    const ended = await change(userId, (keys) => {
      const outcome = keys.filter(isEnded)
      return outcome.length === 0 ? { outcome } : { outcome, keys: keys.filter((key) => !isEnded(key)) }
    })
    await dropPointers(ended.map(([, digest]) => digest))
    return ended.map(([id]) => id)
  }

  return {
    kind: store.kind,
    durable: store.durable,
    async prepare() {
      await store.prepare?.()
    },
    pending: async () => (await store.pending?.()) ?? [],
    sweep: (now) => store.sweep(now),

    async create({ userId, digest, ...key }, max, now) {
      // Writes the pointer first, because a pointer without a key is harmless, and a key without a pointer cannot be
      // found.
      await transact(partitionIn(digest), [apiKeyPointerKey(digest)], (view) => {
        const value: Pointer = [userId]
        view.put(apiKeyPointerKey(digest), { kind: 'api_key', userId, value, expiresAt: key.expiresAt ?? NEVER })
      })
      const outcome = await change(userId, (keys) => {
        const live = keys.filter((packed) => !hasExpired(packed, now))
        return live.length < max || live.some(([, known]) => known === digest)
          ? { outcome: 'created' as const, keys: [...live.filter(([id]) => id !== key.id), pack(key, digest)] }
          : { outcome: 'full' as const }
      })
      if (outcome === 'full') await dropPointers([digest])
      return outcome
    },

    list: (userId) => look(partitionOf(userId), [API_KEYS], (view) => keysIn(view, userId).map(unpack)),

    async find(digest) {
      const userId = await look(
        partitionIn(digest),
        [apiKeyPointerKey(digest)],
        (view) => rowOf<Pointer>(view.get(apiKeyPointerKey(digest)), 1)?.[0] ?? null
      )
      if (userId === null) return null
      return await look(partitionOf(userId), [API_KEYS], (view): OwnedApiKey | null => {
        const found = keysIn(view, userId).find(([, known]) => known === digest)
        return found === undefined ? null : { userId, ...unpack(found) }
      })
    },

    touch: (userId, id, now) =>
      change(userId, (keys) => {
        const at = keys.findIndex(
          ([known, , , , , , , lastUsedAt]) => known === id && (lastUsedAt ?? 0) + API_KEY_USE_EVERY_MS <= now
        )
        const key = keys[at]
        if (key === undefined) return { outcome: undefined }
        return { outcome: undefined, keys: keys.with(at, key.with(7, now) as PackedKey) }
      }),
    revoke: async (userId, id) => (await remove(userId, ([known]) => known === id)).length > 0,
    revokeAll: (userId) => remove(userId, () => true)
  }
}

/**
 * The API keys of this user. Throws if the record is unreadable or another user's, because such a user must not pass
 * for a user without keys.
 */
function keysIn(view: View, userId: string): readonly PackedKey[] {
  const value = view.get(API_KEYS)
  if (value === null) return []
  const row = rowOf<PackedKeys>(value, 2)
  if (row === null || row[0] !== userId || !Array.isArray(row[1]) || !row[1].every((key) => rowOf(key, 8) !== null))
    throw new TypeError('A record of API keys has a form that this release cannot read.')
  return row[1]
}

function save(view: View, userId: string, keys: PackedKey[]): void {
  if (keys.length === 0) {
    view.remove(API_KEYS)
    return
  }
  const value: PackedKeys = [userId, keys]
  const ends = keys.map(([, , , , , , expiresAt]) => expiresAt ?? NEVER)
  view.put(API_KEYS, { kind: 'api_keys', userId, value, expiresAt: Math.max(...ends) })
}

const hasExpired = ([, , , , , , expiresAt]: PackedKey, now: number): boolean => expiresAt !== null && now >= expiresAt

const pack = (
  { id, name, scopes, resource, createdAt, expiresAt, lastUsedAt }: ApiKeyRecord,
  digest: string
): PackedKey => [id, digest, name, [...scopes], resource, createdAt, expiresAt, lastUsedAt]

const unpack = ([id, , name, scopes, resource, createdAt, expiresAt, lastUsedAt]: PackedKey): ApiKeyRecord => ({
  id,
  name,
  scopes: [...scopes],
  resource,
  createdAt,
  expiresAt,
  lastUsedAt
})
