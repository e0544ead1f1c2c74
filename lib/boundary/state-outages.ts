import { isOutage, refusesWrites } from '../ports/outage.ts'
import { type AssertionStore, changedStores, type OneTimeTokenStore, type State } from '../ports/state.ts'
import type { Clock } from '../ports/clock.ts'
import { outcomeFrom, within } from './answers.ts'

/** How long any one operation may take. A store may have a shorter limit of its own. */
const BUDGET_MS = 2000
/** Times are extended for an outage of at most this length. After a longer one, clients sign in again. */
const LONGEST_OUTAGE_MS = 3_600_000
/**
 * Methods whose answer says that something was written. Others may have found nothing to write.
 */
const WRITES: ReadonlySet<PropertyKey> = new Set(['createFamily', 'createSession', 'put', 'tryWrite'])
/**
 * The number of separate outages. Beyond it, the oldest two become one, for a store that comes and goes all the time.
 */
const MAX_OUTAGES = 50

interface StateOutageDeps {
  /** How long a replaced token counts. */
  graceMs: number
  clock: Clock
  /** Once an outage. */
  onDegraded: (error: unknown) => void
  onRecovered: () => void
  /** Awaited before each call. If it rejects, the call rejects. */
  settled?: () => Promise<void> | undefined
}

type Method = (...args: unknown[]) => Promise<unknown>
type Methods = Record<PropertyKey, Method>

/** An outage of the server. `downMs`: its total time out of reach. */
interface Outage {
  beganAt: number
  failedAt: number
  endedAt: number | null
  downMs: number
  /** True if the server may have answered reads during the outage, so that only a successful write ends it. */
  isOfWrites: boolean
}

/**
 * Wraps the state so that every call settles within two seconds. The grace period of a replaced refresh token does not
 * run while the server is out of reach: the answer to a rotation may be lost, and its client retries after the outage,
 * later than any grace period, and must not be treated as a thief.
 *
 * Only errors that say so are outages. An unreadable record, a lock or a fault in our code says nothing about the
 * server.
 */
export function surviveStateOutages(
  state: State,
  { graceMs, clock, onDegraded, onRecovered, settled = () => undefined }: StateOutageDeps
): State {
  /** The outages, oldest first. Only the last one may be unfinished. */
  let outages: Outage[] = []
  let isTold = false
  let trial: Promise<void> | null = null

  function failed(error: unknown, beganAt: number): void {
    if (!isOutage(error)) return
    const last = outages.at(-1)
    const isNew = last === undefined || last.endedAt !== null
    if (isNew) {
      outages = outages.filter((outage) => !isMadeUpFor(outage))
      // A call that started before the end of the last outage proves nothing about the time after it.
      outages.push({
        beganAt: Math.max(beganAt, last?.endedAt ?? -Infinity),
        failedAt: clock.monotonic(),
        endedAt: null,
        downMs: 0,
        isOfWrites: refusesWrites(error)
      })
      while (outages.length > MAX_OUTAGES) outages.splice(0, 2, together(outages[0] as Outage, outages[1] as Outage))
    } else {
      last.failedAt = clock.monotonic()
      last.isOfWrites ||= refusesWrites(error)
    }
    const { beganAt: since } = outages.at(-1) as Outage
    // Reports a flapping store once, and again when an outage lasts.
    if (isTold || (outages.length > 1 && clock.monotonic() - since <= graceMs)) return
    isTold = true
    onDegraded(error)
  }

  /** Parallel answers share one trial write. */
  function tryWriting(): void {
    trial ??= tryWrite()
      .catch(() => {})
      .finally(() => {
        trial = null
      })
  }

  function answered(beganAt: number, isWrite: boolean): void {
    const last = outages.at(-1)
    if (last === undefined || last.endedAt !== null || beganAt <= last.failedAt) return
    if (last.isOfWrites && !isWrite) {
      tryWriting()
      return
    }
    last.endedAt = clock.monotonic()
    last.downMs = last.endedAt - last.beganAt
    if (!isTold) return
    isTold = false
    onRecovered()
  }

  const guard =
    (methods: Methods, name: PropertyKey): Method =>
    async (...args) => {
      const beganAt = clock.monotonic()
      try {
        const settling = settled()
        if (settling !== undefined) await settling
        const given = outages.length === 0 ? args : args.map(withOutagesAdded)
        const answer = await within(BUDGET_MS, clock, () => (methods[name] as Method).apply(methods, given))
        answered(beganAt, WRITES.has(name))
        return answer
      } catch (error) {
        failed(error, beganAt)
        throw error
      }
    }

  /**
   * Guards each method of the store. Calls it on the store itself, because a host's store may be an instance of a
   * class.
   */
  function guarded<Store extends object>(store: Store): Store {
    const methods = store as Methods
    const guards = new Map<PropertyKey, Method>()
    // The target is empty, because a proxy of a frozen object may not return another function.
    return new Proxy({} as Store, {
      get(_target, name) {
        if (typeof methods[name] !== 'function') return methods[name]
        const known = guards.get(name) ?? guard(methods, name)
        guards.set(name, known)
        return known
      }
    })
  }

  const tryWrite = guard({ tryWrite: () => state.tryWrite() }, 'tryWrite') as State['tryWrite']

  const isMadeUpFor = ({ endedAt }: Outage): boolean =>
    endedAt !== null && clock.monotonic() - endedAt > madeUp(graceMs)

  /**
   * Extends `usual` by the outage time that falls inside it, so that clients keep the full grace period of reachable
   * time.
   */
  function madeUp(usual: number): number {
    let left = usual
    let at = clock.monotonic()
    let downMs = 0
    for (let index = outages.length - 1; index >= 0; index--) {
      const outage = outages[index] as Outage
      const endedAt = outage.endedAt ?? at
      left -= at - endedAt
      if (left < 0) break
      const lastedMs = endedAt - outage.beganAt
      const ofIt = outage.endedAt === null ? lastedMs : outage.downMs
      downMs += ofIt
      left -= lastedMs - ofIt
      at = outage.beganAt
    }
    return usual === 0 || downMs === 0 ? usual : usual + Math.ceil(Math.min(downMs, LONGEST_OUTAGE_MS))
  }

  /** Adds the outage time to `graceMs`, if the argument has it. */
  function withOutagesAdded(given: unknown): unknown {
    return typeof given === 'object' && given !== null && 'graceMs' in given
      ? { ...given, graceMs: madeUp(Number(given.graceMs)) }
      : given
  }

  const stores = changedStores(state, guarded)
  return {
    kind: state.kind,
    shared: state.shared,
    ...stores,
    oneTimeTokens: checkedCodes(stores.oneTimeTokens),
    ...(stores.assertions === undefined ? {} : { assertions: checkedAssertions(stores.assertions) }),
    tryWrite,
    ...(state.prepare === undefined ? {} : { prepare: state.prepare.bind(state) }),
    ...(state.time === undefined
      ? {}
      : {
          time: async () => await within(BUDGET_MS, clock, async () => await (state.time as () => Promise<number>)())
        }),
    sweep: async (now) => {
      // An idle instance notices the end of an outage here. Until then its grace period stands still.
      if (outages.at(-1)?.endedAt === null) await tryWrite().catch(() => {})
      await state.sweep(now)
    }
  }
}

/**
 * Rejects any other result, so that it can't let a user in. Times of others may have fractions, which no database keeps
 * in a column of whole milliseconds.
 */
const checkedAssertions = (assertions: AssertionStore): AssertionStore => ({
  claim: async (digest, expiresAt) =>
    outcomeFrom('state.assertions.claim', await assertions.claim(digest, Math.ceil(expiresAt)), [
      'fresh',
      'replayed'
    ] as const)
})

/**
 * Rejects any other result, so that it can't let a user in. Other methods need no check, because a token that does not
 * match has no effect.
 */
function checkedCodes(tokens: OneTimeTokenStore): OneTimeTokenStore {
  const { redeemCode } = tokens
  return redeemCode === undefined
    ? tokens
    : {
        put: tokens.put,
        find: tokens.find,
        consume: tokens.consume,
        discard: tokens.discard,
        redeemCode: async (guess) =>
          outcomeFrom('state.oneTimeTokens.redeemCode', await redeemCode(guess), [
            'redeemed',
            'wrong',
            'spent',
            'unknown'
          ] as const)
      }
}

const together = (first: Outage, second: Outage): Outage => ({
  ...second,
  beganAt: first.beganAt,
  downMs: first.downMs + second.downMs
})
