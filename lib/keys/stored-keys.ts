import type { Clock } from '../ports/clock.ts'
import type { JwtEngine, LoadedKey, Sealer } from '../ports/cryptography.ts'
import type { StoredKey } from '../ports/state.ts'

/**
 * The largest expected clock difference of two instances. The slower one signs with a key that much longer than the
 * faster one.
 */
export const CLOCKS_APART_MS = 10 * 60_000

/** The key that signs, of the readable keys of one algorithm in the order of their sequence. */
export const signingOf = <Entry extends { stored: StoredKey }>(entries: readonly Entry[], now: number) =>
  entries.findLast(({ stored }) => stored.signsFrom <= now) ?? entries[0]

/** The time after which no token lives of the key before this one. */
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
