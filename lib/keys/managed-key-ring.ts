import { OAuthError } from '../errors.ts'
import type { Clock } from '../ports/clock.ts'
import type { JsonWebKeyObject, JwtEngine, LoadedKey, Sealer, VerifyingKey } from '../ports/cryptography.ts'
import type { KeyStore, StoredKey } from '../ports/state.ts'
import {
  type KeyRing,
  leavesAt,
  lifeEndsAt,
  type ManagedKeyOptions,
  newKey,
  noSuchAlgorithm,
  publicHalves,
  signingOf
} from './key-ring.ts'

export interface ManagedKeyDeps {
  clock: Clock
  engine: JwtEngine
  store: KeyStore
  sealer: Sealer
  /**
   * Called for each key that this instance made or retired. If several instances retire a key at once, each of them
   * calls its own `onChange`.
   */
  onChange: (change: 'created' | 'retired', key: StoredKey) => void
  onError: (error: unknown) => void
}

interface RingEntry {
  stored: StoredKey
  key: LoadedKey
}

const REFRESH_COOLDOWN_MS = 5000
/** The wait after a failed read or first key. Until it is over, `refresh` rejects with that failure. */
const RETRY_MS = 1000
/**
 * The delay after start before keys of the other algorithms are made, so that this work does not delay the first
 * requests, and a short-lived process does not do it.
 */
const OTHER_ALGORITHMS_AFTER_MS = 1000

/**
 * Makes, announces, uses and retires keys. The only change of a stored key is the loss of its private half, so all
 * instances derive the same view from the same list. Instances that make the next key at the same time agree on one
 * through `addIfAbsent`. Algorithms do not wait for each other, because an RSA key may take seconds and an elliptic one
 * a millisecond: `begin` makes the key of the first algorithm. The others are made a second later, or when `ready`
 * asks.
 */
export function managedKeyRing(options: ManagedKeyOptions, deps: ManagedKeyDeps): KeyRing {
  const { algs } = options
  const { clock, engine, store, sealer } = deps
  let ring: RingEntry[] = []
  /** Keys that this instance is adding, so that it need not open and check a key that it has just sealed. */
  const made = new Map<string, LoadedKey>()
  /** All keys of the store, including former signing keys. */
  let known: StoredKey[] = []
  const forHints = new Map<string, VerifyingKey>()
  /** Unreadable keys, by `kid`. */
  const setAside = new Set<string>()
  let lastLook = -Infinity
  /** The failure of the last read, or of the attempt to make the first key after it. */
  let failure: { cause: unknown } | null = null
  let undo = (): void => {}
  let closed = false

  /** Reports an error, unless the ring is closed: the store may be closed with it, and its errors then mean nothing. */
  const report = (error: unknown): void => {
    if (!closed) deps.onError(error)
  }
  const entriesOf = (alg: string): RingEntry[] => ring.filter(({ stored }) => stored.alg === alg)

  /** Opens a key. Returns `null` for an unreadable key, reports it once and sets it aside. */
  async function open(stored: StoredKey): Promise<RingEntry | null> {
    const own = made.get(stored.kid)
    if (own !== undefined) return { stored, key: own }
    const plain = stored.sealed === null ? null : sealer.open(stored.sealed)
    try {
      if (plain !== null) return { stored, key: await engine.load(JSON.parse(plain) as JsonWebKeyObject) }
    } catch {
      // Drops the error, because it might quote the plaintext, which is a private key.
    }
    setAside.add(stored.kid)
    report(
      new Error(
        plain === null
          ? `The signing key ${stored.kid} can't be opened with the option secret, so tokens that it ` +
              'signed are refused here. Put the former secret into the array of the option secret; if it ' +
              'is lost, nothing is left to do, and the key is removed when its time is over.'
          : `The signing key ${stored.kid} is no key that this release can use, so tokens that it ` +
              'signed are refused here. It is removed when its time is over.'
      )
    )
    return null
  }

  /** Reads the store, and remembers a failure. Resolves to all stored keys, readable or not. */
  async function look(): Promise<StoredKey[]> {
    lastLook = clock.monotonic()
    try {
      const listed = await read()
      failure = null
      return listed
    } catch (cause) {
      failure = { cause }
      throw cause
    } finally {
      underWay = undefined
    }
  }

  async function read(): Promise<StoredKey[]> {
    const listed = await store.list()
    const next: RingEntry[] = []
    for (const stored of listed) {
      if (stored.sealed === null) continue
      const entry =
        ring.find((entry) => entry.stored.kid === stored.kid) ?? (setAside.has(stored.kid) ? null : await open(stored))
      if (entry !== null) next.push(entry)
    }
    for (const kid of setAside) if (!listed.some((stored) => stored.kid === kid)) setAside.delete(kid)
    // A compromised key is removed from the store, and must not verify an `id_token_hint` any more.
    for (const kid of forHints.keys()) if (!listed.some((stored) => stored.kid === kid)) forHints.delete(kid)
    // Keys of algorithms that left the options are the last in the JWKS.
    const place = (alg: string): number => (algs.includes(alg) ? algs.indexOf(alg) : algs.length)
    ring = next.sort(
      ({ stored: left }, { stored: right }) => place(left.alg) - place(right.alg) || left.sequence - right.sequence
    )
    known = listed
    return listed
  }

  // One read at a time, because a slow read would replace a newer list by an older one. Callers during a waiting read
  // share it: `underWay` is the running read, `waiting` the next one.
  let looking: Promise<unknown> = Promise.resolve()
  let waiting: Promise<StoredKey[]> | undefined
  let underWay: Promise<StoredKey[]> | undefined
  function reload(): Promise<StoredKey[]> {
    const begin = async (): Promise<StoredKey[]> => {
      waiting = undefined
      const begun = look()
      looking = underWay = begun
      return await begun
    }
    waiting ??= looking.then(begin, begin)
    return waiting
  }

  async function make(alg: string, sequence: number, signsFrom: number): Promise<void> {
    const { key, stored } = await newKey({ alg, sequence, signsFrom }, deps)
    if (closed) return
    made.set(key.kid, key)
    try {
      if (await store.addIfAbsent(stored)) deps.onChange('created', stored)
      // Reads the stored keys in any case, because another instance may have added the key.
      await reload()
    } finally {
      made.delete(key.kid)
    }
  }

  /** Makes the first key at once, and the next key in time for its announcement. */
  async function renew(alg: string, listed: readonly StoredKey[]): Promise<void> {
    const highest = listed.reduce((max, stored) => (stored.alg === alg ? Math.max(max, stored.sequence) : max), 0)
    const now = clock.now()
    const newest = entriesOf(alg).at(-1)
    if (newest === undefined) {
      await make(alg, highest + 1, now)
    } else if (now >= newest.stored.signsFrom + options.rotateEveryMs - options.announceMs) {
      await make(alg, highest + 1, Math.max(newest.stored.signsFrom + options.rotateEveryMs, now + options.announceMs))
    }
  }

  /**
   * Makes the next key in time. Retires keys whose last token has expired, and removes former keys that are too old to
   * verify an `id_token_hint`.
   */
  async function maintain(alg: string): Promise<void> {
    // Decide on one read: instances with the same list try the same sequence, and only one of them gets it.
    const listed = await reload()
    if (algs.includes(alg)) await renew(alg, listed)
    const now = clock.now()
    const view = { known, readable: ring.map(({ stored }) => stored) }
    const ended = known.filter(
      (stored) => stored.alg === alg && stored.sealed !== null && now > (leavesAt(stored, view, options) ?? Infinity)
    )
    for (const stored of ended) {
      await store.retire(stored.kid)
      deps.onChange('retired', stored)
    }
    const forgotten = known.filter(
      (stored) => stored.sealed === null && now > lifeEndsAt(stored, options) + options.hintLifetimeMs
    )
    for (const { kid } of forgotten) await store.remove(kid)
    if (ended.length + forgotten.length > 0) await reload()
  }

  const maintaining = new Map<string, Promise<void>>()
  function maintainOnce(alg: string): Promise<void> {
    const running =
      maintaining.get(alg) ??
      maintain(alg).finally(() => {
        maintaining.delete(alg)
      })
    maintaining.set(alg, running)
    return running
  }

  async function maintainAll(): Promise<void> {
    await Promise.all([...new Set([...algs, ...known.map(({ alg }) => alg)])].map(maintainOnce))
  }

  function scheduleAll(delayMs: number): void {
    if (closed) return
    undo = clock.after(delayMs, () => {
      maintainAll()
        .catch(report)
        .finally(() => {
          scheduleAll(options.pollMs)
        })
    })
  }

  /**
   * Reads the store for keys of other instances, unless the last read is too recent. Waits for a read that runs
   * already. Makes the first key if the store has none. Rejects for a second after a failed read.
   */
  async function lookForMore(): Promise<void> {
    const agoMs = clock.monotonic() - lastLook
    const isRecent = agoMs < (failure === null ? REFRESH_COOLDOWN_MS : RETRY_MS)
    // Waits for a running read, because otherwise a good token would be refused if it comes during a read.
    const pending = waiting ?? underWay
    if (failure !== null && isRecent && pending === undefined) throw failure.cause
    // Right after start another instance may be signing with a key that this instance has not read yet.
    if (entriesOf(algs[0]).length === 0)
      await maintainOnce(algs[0]).catch((cause: unknown) => {
        failure = { cause }
        throw cause
      })
    else if (!isRecent || pending !== undefined) await (pending ?? reload())
  }

  const signing = (alg: string): RingEntry | undefined => signingOf(entriesOf(alg), clock.now())

  return {
    begin() {
      maintainOnce(algs[0]).catch(report)
      scheduleAll(OTHER_ALGORITHMS_AFTER_MS)
    },
    async ready(alg = algs[0]) {
      if (!algs.includes(alg)) throw noSuchAlgorithm(alg)
      if (entriesOf(alg).length === 0) await maintainOnce(alg)
      if (entriesOf(alg).length === 0) throw unavailable()
    },
    signingKey(alg = algs[0]) {
      if (!algs.includes(alg)) throw noSuchAlgorithm(alg)
      const entry = signing(alg)
      if (entry === undefined) throw unavailable()
      return entry.key
    },
    algs: () => [...algs],
    find: (kid) => ring.find((entry) => entry.key.kid === kid)?.key,
    async findForHint(kid) {
      const key = ring.find((entry) => entry.key.kid === kid)?.key ?? forHints.get(kid)
      const stored = known.find((one) => one.kid === kid)
      if (key !== undefined || stored === undefined) return key
      try {
        const loaded = await engine.loadPublic(stored.publicJwk)
        forHints.set(kid, loaded)
        return loaded
      } catch {
        return undefined
      }
    },
    async refresh() {
      try {
        await lookForMore()
      } catch (cause) {
        throw unavailable(cause)
      }
    },
    publicJwks: () => publicHalves(ring.map(({ key }) => key)),
    ages: () =>
      Object.fromEntries(
        algs.flatMap((alg) => {
          const entry = signing(alg)
          return entry === undefined
            ? []
            : [[alg, Math.max(0, Math.floor((clock.now() - entry.stored.signsFrom) / 1000))]]
        })
      ),
    close() {
      closed = true
      undo()
    }
  }
}

function unavailable(cause?: unknown): OAuthError {
  return new OAuthError('temporarily_unavailable', 'The signing keys are not available at the moment. Try again.', {
    headers: { 'retry-after': '1' },
    ...(cause === undefined ? {} : { cause })
  })
}
