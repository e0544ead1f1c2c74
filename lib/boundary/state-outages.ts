import { isOutage, refusesWrites } from '../ports/outage.ts'
import { type AssertionStore, changedStores, type OneTimeTokenStore, type State } from '../ports/state.ts'
import type { Clock } from '../ports/clock.ts'
import { outcomeFrom, within } from './answers.ts'

/** Time limit of each call. A store may have a shorter limit of its own. */
const BUDGET_MS = 2000
/** The most time that outages add to a grace period. After longer outages, clients may have to sign in again. */
const LONGEST_OUTAGE_MS = 3_600_000
/**
 * Methods that always write, so that their success proves that the server accepts writes. Other methods may succeed
 * without a write.
 */
const WRITES: ReadonlySet<PropertyKey> = new Set(['createFamily', 'createSession', 'put', 'tryWrite'])
/**
 * The most outages that are remembered separately. Beyond this number, the oldest two are merged, because a flapping
 * store would fill the list.
 */
const MAX_OUTAGES = 50

interface StateOutageDeps {
  /** The grace period in which a replaced refresh token still works, in milliseconds. */
  graceMs: number
  clock: Clock
  /** Called once per outage. A series of short outages counts as one outage. */
  onDegraded: (error: unknown) => void
  onRecovered: () => void
  /** Awaited before each call. If it rejects, the call rejects. */
  settled?: () => Promise<void> | undefined
}

type Method = (...args: unknown[]) => Promise<unknown>
type Methods = Record<PropertyKey, Method>

/** An outage, in monotonic times. `failedAt`: the last failure. `downMs`: the time out of reach, 0 until it ends. */
interface Outage {
  beganAt: number
  failedAt: number
  endedAt: number | null
  downMs: number
  /** True if the server may have answered reads during the outage, so that only a successful write ends it. */
  isOfWrites: boolean
}

/**
 * Wraps the state so that every call of a store settles within two seconds after `settled`. The grace period of a
 * replaced refresh token stands still while the server is out of reach. Otherwise a client that lost the answer to a
 * rotation would retry after the end of the grace period, and its retry would count as a replay.
 *
 * Only an error that `isOutage` accepts is an outage. An unreadable record, a lock or a fault in our code proves
 * nothing about the server.
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
    // Reports a flapping store once. Reports it again only if an outage lasts longer than the grace period.
    if (isTold || (outages.length > 1 && clock.monotonic() - since <= graceMs)) return
    isTold = true
    onDegraded(error)
  }

  /** Makes a trial write, or shares the running one. */
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
   * Guards each method of the store. Methods run with the store as `this`, because a host's store may be an instance of
   * a class.
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

  /** Adds the outage time to the `graceMs` of an argument. Returns an argument without `graceMs` unchanged. */
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
      // Lets an instance without requests notice the end of an outage, after which grace periods run again.
      if (outages.at(-1)?.endedAt === null) await tryWrite().catch(() => {})
      await state.sweep(now)
    }
  }
}

/**
 * Rejects a result that is no outcome of the port, so that it can't let a user in. Rounds `expiresAt` up, because times
 * in an assertion may have fractions, which a database column of whole milliseconds rejects.
 */
const checkedAssertions = (assertions: AssertionStore): AssertionStore => ({
  claim: async (digest, expiresAt) =>
    outcomeFrom('state.assertions.claim', await assertions.claim(digest, Math.ceil(expiresAt)), [
      'fresh',
      'replayed'
    ] as const)
})

/**
 * Rejects a result of `redeemCode` that is no outcome of the port, so that it can't let a user in. Other methods need
 * no check, because a token that does not match has no effect.
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
