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
   * Finds the key of an `id_token_hint`: a published key, or the public half of a former one, because relying parties
   * keep ID tokens longer than a key is published.
   */
  findForHint(kid: string): Promise<VerifyingKey | undefined>
  /**
   * Reads the store for keys that other instances have made, at most once in 5 seconds, so that invented `kid`s cause
   * no more reads.
   * @throws OAuthError `temporarily_unavailable` if the store is unreachable, because an unknown `kid` then says
   * nothing about a token
   */
  refresh(): Promise<void>
  /** The public halves, for the JWKS. */
  publicJwks(): JsonWebKeyObject[]
  /** Age of the signing key in seconds, by algorithm. Empty for keys that the host gave. */
  ages(): Record<string, number>
  close(): void
}

/** Keys that the host gave. All verify and are published; the first of each algorithm signs. */
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
 * much longer than the other one.
 */
export const CLOCKS_APART_MS = 10 * 60_000

/**
 * The key that signs now: the last one that has begun to sign, else the first. `entries`: the readable keys of one
 * algorithm, by sequence.
 */
export const signingOf = <Entry extends { stored: StoredKey }>(entries: readonly Entry[], now: number) =>
  entries.findLast(({ stored }) => stored.signsFrom <= now) ?? entries[0]

/** The time at which the last token of this key's predecessor has expired, in milliseconds since the epoch. */
export const formerEndsAt = ({ signsFrom }: StoredKey, tokenLifetimeMs: number): number =>
  signsFrom + tokenLifetimeMs + CLOCKS_APART_MS

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
