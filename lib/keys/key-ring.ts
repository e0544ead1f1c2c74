import { OAuthError } from '../errors.ts'
import type { JsonWebKeyObject, LoadedKey, VerifyingKey, JwtEngine, Sealer } from '../ports/cryptography.ts'
import type { Clock } from '../ports/clock.ts'
import type { StoredKey } from '../ports/state.ts'

/**
 * The current keys of each algorithm: the key that signs, former keys whose tokens are still valid, and the key that
 * signs next.
 */
export interface KeyRing {
  /** Begins to make and rotate keys in the background. `ready` and `refresh` also work before this call. */
  begin(): void
  /**
   * Resolves when a signing key of this algorithm is available (default: the first algorithm). Rejects if the store is
   * unreachable.
   * @throws OAuthError `server_error` for an algorithm that is not one of `algs`
   */
  ready(alg?: string): Promise<void>
  /**
   * The signing key, by default of the first algorithm.
   * @throws OAuthError `temporarily_unavailable` before the first key exists, `server_error` for an algorithm that is
   * not one of `algs`
   */
  signingKey(alg?: string): LoadedKey
  /** The algorithms of the ring, also before the first key exists. The first one signs access tokens. */
  algs(): string[]
  /** Finds a published key by its `kid`. */
  find(kid: string): LoadedKey | undefined
  /**
   * Finds the key of an `id_token_hint`: a published key, or the public half of a former key, because relying parties
   * keep ID tokens longer than a key is published.
   */
  findForHint(kid: string): Promise<VerifyingKey | undefined>
  /**
   * Reads the store for keys that other instances have made, at most once in 5 seconds (after a failed read, once in a
   * second), so that invented `kid`s cause no more reads. Before the first key exists, reads at each call.
   * @throws OAuthError `temporarily_unavailable` if the store is unreachable, because an unknown `kid` then
   * proves nothing about a token
   */
  refresh(): Promise<void>
  /** The public halves, for the JWKS. */
  publicJwks(): JsonWebKeyObject[]
  /** Age of the signing key in seconds, by algorithm. Empty for keys that the host gave. */
  ages(): Record<string, number>
  close(): void
}

export interface ManagedKeyOptions {
  /**
   * Each algorithm has its own keys and rotation. The first signs access tokens. Stored keys of other algorithms stay
   * published until their last token has expired, because the options of the service may have changed.
   */
  algs: readonly [string, ...string[]]
  /** How long a key signs. */
  rotateEveryMs: number
  /** How long a key is published before it signs. Longer than any JWKS cache. */
  announceMs: number
  /** The longest life of a token of any kind. A key stays published for that long after it signed its last token. */
  tokenLifetimeMs: number
  /** How long the public half of a key verifies an `id_token_hint` after the last token of the key has expired. */
  hintLifetimeMs: number
  /** How often the ring reads the store. */
  pollMs: number
}

/** Keys that the host gave. All of them verify, and the first of each algorithm signs. A secret is not published. */
export function fixedKeyRing(keys: readonly LoadedKey[]): KeyRing {
  const [first] = keys
  if (first === undefined) throw new Error('A key ring needs a key.')
  const signingKey = (alg = first.alg): LoadedKey => {
    const key = keys.find((candidate) => candidate.alg === alg)
    if (key === undefined) throw noSuchAlgorithm(alg)
    return key
  }
  return {
    begin() {},
    async ready(alg) {
      signingKey(alg)
    },
    signingKey,
    algs: () => [...new Set(keys.map(({ alg }) => alg))],
    find: (kid) => keys.find((key) => key.kid === kid),
    findForHint: async (kid) => keys.find((key) => key.kid === kid),
    async refresh() {},
    publicJwks: () => publicHalves(keys),
    ages: () => ({}),
    close() {}
  }
}

export function publicHalves(keys: readonly LoadedKey[]): JsonWebKeyObject[] {
  return keys.flatMap(({ publicJwk }) => (publicJwk === null ? [] : [publicJwk]))
}

/**
 * The error for an algorithm without a key. It is a `server_error`, because the caller can't correct the registration
 * of its client.
 */
export function noSuchAlgorithm(alg: string): OAuthError {
  return new OAuthError('server_error', 'There is no signing key for this algorithm.', { detail: `no key for ${alg}` })
}

/**
 * The largest expected clock difference of two instances. The instance with the slower clock signs with a key for that
 * much longer than the other instance.
 */
const CLOCKS_APART_MS = 10 * 60_000

/**
 * The key that signs now: the last key that has begun to sign, else the first key. `entries`: the readable keys of one
 * algorithm, by sequence.
 */
export const signingOf = <Entry extends { stored: StoredKey }>(entries: readonly Entry[], now: number) =>
  entries.findLast(({ stored }) => stored.signsFrom <= now) ?? entries[0]

type Times = Pick<ManagedKeyOptions, 'algs' | 'rotateEveryMs' | 'announceMs' | 'tokenLifetimeMs'>

/** The latest time at which a token of this key can expire, whichever instance signs with it. */
export const lifeEndsAt = (
  { signsFrom }: StoredKey,
  { rotateEveryMs, announceMs, tokenLifetimeMs }: Omit<Times, 'algs'>
): number => signsFrom + rotateEveryMs + announceMs + tokenLifetimeMs + CLOCKS_APART_MS

/**
 * The time at which the last token of a key has expired, in milliseconds since the epoch. `null`: the key has no
 * successor yet. Instances with other options may still sign with an unreadable key, or with a key of an algorithm that
 * left the options. They follow their own schedule, so such a key stays for its whole life.
 * @param stored all stored keys, and the readable ones by sequence
 */
export function leavesAt(
  key: StoredKey,
  stored: { known: readonly StoredKey[]; readable: readonly StoredKey[] },
  times: Times
): number | null {
  if (!times.algs.includes(key.alg)) return lifeEndsAt(key, times)
  const successorIn = (keys: readonly StoredKey[]): StoredKey | undefined =>
    keys.find(({ alg, sequence }) => alg === key.alg && sequence > key.sequence)
  if (!stored.readable.some(({ kid }) => kid === key.kid))
    return successorIn(stored.known) === undefined ? null : lifeEndsAt(key, times)
  const successor = successorIn(stored.readable)
  return successor === undefined ? null : successor.signsFrom + times.tokenLifetimeMs + CLOCKS_APART_MS
}

/** A new key, and its form for the store. */
export async function newKey(
  place: Pick<StoredKey, 'alg' | 'sequence' | 'signsFrom'>,
  { engine, sealer, clock }: { engine: JwtEngine; sealer: Sealer; clock: Clock }
): Promise<{ key: LoadedKey; stored: StoredKey }> {
  const privateJwk = await engine.generate(place.alg)
  const key = await engine.load(privateJwk)
  return {
    key,
    stored: {
      ...place,
      kid: key.kid,
      createdAt: clock.now(),
      publicJwk: key.publicJwk ?? {},
      sealed: sealer.seal(JSON.stringify(privateJwk))
    }
  }
}
