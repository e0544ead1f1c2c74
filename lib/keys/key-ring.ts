import { OAuthError } from '../errors.ts'
import type { Clock } from '../ports/clock.ts'
import type { JsonWebKeyObject, JwtEngine, LoadedKey } from '../ports/jwt.ts'
import type { KeyStore, StoredKey } from '../ports/key-store.ts'
import type { Sealer } from '../ports/sealer.ts'

/** The keys that sign and verify now. */
export interface KeyRing {
  /** Resolves when there is a key to sign with; rejects where the store can't be reached. */
  ready(): Promise<void>
  /** The key that signs now. @throws OAuthError `temporarily_unavailable` before the first is there */
  signingKey(): LoadedKey
  /** A key that is published, by its `kid`. */
  find(kid: string): LoadedKey | undefined
  /** Looks in the store for a key made elsewhere since; at most once in 5 s, whatever `kid`s strangers invent. */
  refresh(): Promise<void>
  /** The public halves, for the JWKS. */
  publicJwks(): JsonWebKeyObject[]
  close(): void
}

export interface ManagedKeyOptions {
  alg: string
  /** How long a key signs. */
  rotateEveryMs: number
  /** How long a key is published before it signs: longer than any cache of the JWKS. */
  announceMs: number
  /** How long a token that it signed can live: the key stays published for that long after its last one. */
  tokenLifetimeMs: number
  /** How often the store is looked at. */
  pollMs: number
}

interface RingEntry { stored: StoredKey, key: LoadedKey }

const REFRESH_COOLDOWN_MS = 5000

/**
 * Keys that the plugin makes, announces, uses and retires by itself. A key is written once and never changed: all instances
 * come to the same view from the same list, and two that make the next key at once agree on one through `addIfAbsent`.
 */
export function managedKeyRing (options: ManagedKeyOptions, deps: { clock: Clock, engine: JwtEngine, store: KeyStore, sealer: Sealer, onError: (error: unknown) => void }): KeyRing {
  const { clock, engine, store, sealer } = deps
  let ring: RingEntry[] = []
  let lastReload = -Infinity
  let reloading: Promise<void> | undefined
  let undo = (): void => {}
  let closed = false

  /** Resolves to the highest sequence there is, readable or not. */
  async function reload (): Promise<number> {
    const listed = (await store.list()).filter((stored) => stored.alg === options.alg)
    const next: RingEntry[] = []
    for (const stored of listed) {
      const known = ring.find((entry) => entry.stored.kid === stored.kid)
      const plain = known === undefined ? sealer.open(stored.sealed) : null
      if (known !== undefined) next.push(known)
      else if (plain === null) deps.onError(new Error(`The signing key ${stored.kid} can't be opened with the option secret. Keep the former secret in the array.`))
      else next.push({ stored, key: await engine.load(JSON.parse(plain) as JsonWebKeyObject) })
    }
    ring = next.sort((left, right) => left.stored.sequence - right.stored.sequence)
    lastReload = clock.monotonic()
    return listed.reduce((highest, { sequence }) => Math.max(highest, sequence), 0)
  }

  async function make (sequence: number, signsFrom: number): Promise<void> {
    const privateJwk = await engine.generate(options.alg)
    const key = await engine.load(privateJwk)
    await store.addIfAbsent({
      kid: key.kid,
      alg: options.alg,
      sequence,
      signsFrom,
      createdAt: clock.now(),
      publicJwk: key.publicJwk ?? {},
      sealed: sealer.seal(JSON.stringify(privateJwk))
    })
    // Whether this one won or another instance's did: the list has the truth.
    await reload()
  }

  /** Makes the next key in time, and forgets those whose last token is dead. */
  async function maintain (): Promise<void> {
    // One look decides: whoever saw the same list tries the same sequence, and only one of them gets it.
    const highest = await reload()
    const now = clock.now()
    const newest = ring.at(-1)
    if (newest === undefined) {
      await make(highest + 1, now)
    } else if (now >= newest.stored.signsFrom + options.rotateEveryMs - options.announceMs) {
      await make(highest + 1, Math.max(newest.stored.signsFrom + options.rotateEveryMs, now + options.announceMs))
    }
    for (const [index, { stored }] of ring.entries()) {
      const successor = ring[index + 1]
      if (successor !== undefined && now > successor.stored.signsFrom + options.tokenLifetimeMs) await store.remove(stored.kid)
    }
    await reload()
  }

  function guardedMaintain (): Promise<void> {
    reloading ??= maintain().finally(() => { reloading = undefined })
    return reloading
  }

  function schedule (): void {
    if (closed) return
    undo = clock.after(options.pollMs, () => { guardedMaintain().catch(deps.onError).finally(schedule) })
  }

  const first = guardedMaintain()
  first.catch(deps.onError).finally(schedule)

  return {
    async ready () {
      if (ring.length === 0) await guardedMaintain()
      if (ring.length === 0) throw unavailable()
    },
    signingKey () {
      const now = clock.now()
      const entry = ring.findLast(({ stored }) => stored.signsFrom <= now) ?? ring[0]
      if (entry === undefined) throw unavailable()
      return entry.key
    },
    find: (kid) => ring.find((entry) => entry.key.kid === kid)?.key,
    async refresh () {
      if (clock.monotonic() - lastReload < REFRESH_COOLDOWN_MS) return
      lastReload = clock.monotonic()
      await guardedMaintain()
    },
    publicJwks: () => ring.flatMap(({ key }) => key.publicJwk === null ? [] : [key.publicJwk]),
    close () {
      closed = true
      undo()
    }
  }
}

/** Keys that the host gave: all verify and are published, the first of its algorithm signs. */
export function fixedKeyRing (keys: readonly LoadedKey[]): KeyRing {
  const [first] = keys
  if (first === undefined) throw new Error('A key ring needs a key.')
  return {
    async ready () {},
    signingKey: () => first,
    find: (kid) => keys.find((key) => key.kid === kid),
    async refresh () {},
    publicJwks: () => keys.flatMap((key) => key.publicJwk === null ? [] : [key.publicJwk]),
    close () {}
  }
}

function unavailable (): OAuthError {
  return new OAuthError('temporarily_unavailable', 'No signing key is available yet. Try again.', { headers: { 'retry-after': '1' } })
}
