import type { StoredKey } from '../ports/state.ts'
import { leavesAt, type ManagedKeyOptions, newKey, signingOf } from './key-ring.ts'
import type { ManagedKeyDeps } from './managed-key-ring.ts'

/** A managed key for an operator. Times are milliseconds since the epoch. */
export interface ManagedKey {
  kid: string
  alg: string
  /**
   * `announced`: it signs later. `published`: it does not sign any more, and its tokens are good. `former`: its public
   * half verifies an old ID token in an `id_token_hint`. `unreadable`: the option `secret` does not open it.
   */
  state: 'announced' | 'signs' | 'published' | 'former' | 'unreadable'
  createdAt: number
  signsFrom: number
  /** The time at which a published key leaves the JWKS. `null`: not known yet, or the key has another state. */
  leavesAt: number | null
}

/** Operations on managed keys. Running instances see a change when they next read the store, within a minute. */
export interface KeyManagement {
  /** By algorithm, the oldest first. */
  list(): Promise<ManagedKey[]>
  /**
   * Announces the next key of each algorithm, unless that key is announced already or the algorithm has no readable
   * key. Resolves to the announced keys.
   */
  rotate(): Promise<ManagedKey[]>
  /**
   * Removes a compromised key, which ends its tokens. If the key signs, a new key signs instead. Exception: with an
   * announced key and no older published key, the announced key signs at once. Adds the new key first, so that a failed
   * call can be repeated.
   * @returns `false` if there is no such key
   */
  retire(kid: string): Promise<boolean>
}

/**
 * The maximum number of tries to add a key. The store refuses a key only if another instance has just added a key, so
 * more refusals are a fault of the store.
 */
const MOST_TRIES = 10

interface Entry {
  stored: StoredKey
}

export function manageKeys(
  options: ManagedKeyOptions,
  deps: Pick<ManagedKeyDeps, 'clock' | 'engine' | 'store' | 'sealer' | 'onChange'>
): KeyManagement {
  const { algs, announceMs } = options
  const { clock, store, sealer } = deps

  const isReadable = ({ sealed }: StoredKey): boolean => sealed !== null && sealer.open(sealed) !== null

  async function stored(): Promise<StoredKey[]> {
    const all = await store.list()
    return all.toSorted((one, other) => (one.alg === other.alg ? one.sequence - other.sequence : byAlg(one, other)))
  }

  const readableOf = (all: readonly StoredKey[], alg: string): Entry[] =>
    all.filter((key) => key.alg === alg && isReadable(key)).map((key) => ({ stored: key }))

  function shown(key: StoredKey, all: readonly StoredKey[]): ManagedKey {
    const { kid, alg, createdAt, signsFrom } = key
    const readable = readableOf(all, alg)
    const signing = algs.includes(alg) ? signingOf(readable, clock.now())?.stored : undefined
    const later = signing !== undefined && key.sequence > signing.sequence ? 'announced' : 'published'
    const inUse = !isReadable(key) ? 'unreadable' : key === signing ? 'signs' : later
    const state = key.sealed === null ? 'former' : inUse
    const view = { known: all, readable: readable.map((entry) => entry.stored) }
    return {
      kid,
      alg,
      state,
      createdAt,
      signsFrom,
      leavesAt: state === 'published' ? leavesAt(key, view, options) : null
    }
  }

  /**
   * Adds a key. `false`: a running service has added a key with the same sequence at the same time, because the store
   * accepts each sequence once.
   */
  async function add(alg: string, all: readonly StoredKey[], signsFrom: number): Promise<boolean> {
    const sequence = 1 + Math.max(0, ...all.filter((key) => key.alg === alg).map((key) => key.sequence))
    const key = (await newKey({ alg, sequence, signsFrom }, deps)).stored
    const isAdded = await store.addIfAbsent(key)
    if (isAdded) deps.onChange('created', key)
    return isAdded
  }

  /**
   * Adds a key, unless `isDone` is true for the stored keys. Reads the store again if another instance took the
   * sequence.
   */
  async function addUnless(isDone: (all: readonly StoredKey[]) => boolean, alg: string, inMs: number): Promise<void> {
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      const all = await stored()
      if (isDone(all) || (await add(alg, all, clock.now() + inMs))) return
    }
    throw new Error(`The key store refused ${MOST_TRIES} new keys of ${alg}, and lists no key that took their place.`)
  }

  async function list(): Promise<ManagedKey[]> {
    const all = await stored()
    return all.map((key) => shown(key, all))
  }

  return {
    list,
    async rotate() {
      const isAnnounced = ({ state }: ManagedKey): boolean => state === 'announced'
      for (const alg of algs)
        await addUnless(
          (all) => {
            const keys = all.filter((key) => key.alg === alg)
            return readableOf(keys, alg).length === 0 || keys.some((key) => isAnnounced(shown(key, keys)))
          },
          alg,
          announceMs
        )
      return (await list()).filter(isAnnounced)
    },
    async retire(kid) {
      const key = (await stored()).find((one) => one.kid === kid)
      if (key === undefined) return false
      const { alg } = key
      const signs = (all: readonly StoredKey[]) => signingOf(readableOf(all, alg), clock.now())?.stored
      const isReplaced = (all: readonly StoredKey[]): boolean => {
        const heir = signs(all.filter((one) => one.kid !== kid))
        return signs(all)?.kid !== kid || (heir !== undefined && heir.sequence > key.sequence)
      }
      if (algs.includes(alg)) await addUnless(isReplaced, alg, 0)
      await store.remove(kid)
      return true
    }
  }
}

const byAlg = (one: StoredKey, other: StoredKey): number => (one.alg < other.alg ? -1 : 1)
