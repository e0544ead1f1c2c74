/** The public keys of clients that authenticate with a key: the registered `jwks`, or the keys at the `jwksUri`. */
import { OAuthError, UpstreamError } from '../../errors.ts'
import type { Client } from '../../ports/client-store.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Outbound } from '../../ports/outbound.ts'
import { MAX_CLIENT_KEYS } from '../../protocol/client-authentication.ts'
import { type Distance, THIS_MACHINE } from '../../protocol/distance.ts'
import { isObject } from '../../protocol/json.ts'
import { askProvider, kept } from './ask-provider.ts'

const MAX_AGE_MS = 10 * 60_000
/** How long fetched keys stay valid while the address does not answer. */
const LONGEST_AGE_MS = 24 * 60 * 60_000
/** The minimum time between two fetches that assertions with an unknown key cause. */
const UNKNOWN_KEY_PAUSE_MS = 60_000
const MAX_SETS = 1000

interface KeySet extends ReturnType<typeof kept<{ keys: readonly unknown[]; at: number }>> {
  /** True if the current outage was logged, so that further requests do not log it again. */
  isTold: boolean
}

/**
 * Makes a function that returns all keys of a client. For a `kid` that is not among the keys of the `jwksUri`, the
 * function fetches the keys again, at most once a minute. The `jwksUri` of a third-party client must not have an
 * address that is nearer than this service's own.
 * @throws OAuthError `temporarily_unavailable` if the keys at the address cannot be read, and no keys that were fetched
 * in the last 24 hours are cached
 */
export function createClientKeys({
  outbound,
  ownDistance,
  clock,
  onError
}: {
  outbound: Outbound
  ownDistance: () => Promise<Distance>
  clock: Clock
  onError: (error: unknown, what: string) => void
}): (client: Client, kid: string | undefined) => Promise<readonly unknown[]> {
  const sets = new Map<string, KeySet>()

  function setAt(url: string, thirdParty: boolean): KeySet {
    const name = `${thirdParty} ${url}`
    const known = sets.get(name)
    if (known !== undefined) return known
    for (const oldest of sets.keys()) {
      if (sets.size < MAX_SETS) break
      sets.delete(oldest)
    }
    const source = kept(
      async () => {
        const { status, json } = await askProvider(
          { url, method: 'GET', of: "a client's key set", reason: 'outage' },
          { outbound, noNearerThan: thirdParty ? await ownDistance() : THIS_MACHINE }
        )
        const keys = isObject(json) ? json['keys'] : undefined
        if (status !== 200 || !Array.isArray(keys))
          throw new UpstreamError('outage', `The key set of a client is none with status 200 (it is ${status}).`)
        return { keys: keys.slice(0, MAX_CLIENT_KEYS), at: clock.monotonic() }
      },
      MAX_AGE_MS,
      clock,
      UNKNOWN_KEY_PAUSE_MS
    )
    const set = { ...source, isTold: false }
    sets.set(name, set)
    return set
  }

  return async (client, kid) => {
    if (client.jwksUri === undefined) return client.jwks?.keys ?? []
    const set = setAt(client.jwksUri, client.firstParty === false)
    try {
      const { keys, at } = await set.current()
      if (clock.monotonic() - at > LONGEST_AGE_MS) throw new UpstreamError('outage', 'The key set is a day old.')
      set.isTold = false
      if (kid === undefined || keys.some((jwk) => isObject(jwk) && jwk['kid'] === kid)) return keys
      return (await set.renewed())?.keys ?? keys
    } catch (error) {
      if (!set.isTold) onError(error, `the keys of the client ${client.clientId} could not be fetched`)
      set.isTold = true
      throw new OAuthError('temporarily_unavailable', 'The keys of the client cannot be read now.')
    }
  }
}
