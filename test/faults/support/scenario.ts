/** One run: processes, load, faults at their times, and the report of the checker. */
import { setTimeout as wait } from 'node:timers/promises'
import { check, type Report } from './checker.ts'
import { type Fleet, startFleet, type Stopped } from './fleet.ts'
import { type LoadSettings, startLoad } from './load.ts'
import { createLog, type Entry, type Operation, saidYes } from './log.ts'
import { watchMachine } from './machine.ts'
import { type InstanceSettings, ISSUER, type Planted } from './settings.ts'
import { summarize } from './summary.ts'
import type { Excuse, Fault, Interval, Terms } from './terms.ts'

/** A fault for the system under load. It reports its progress through `at`. */
export interface TimedFault {
  name: string
  /** Its time as a part of the load's duration: 0.5 is the middle. */
  at: number
  recoveryMs: number
  /** Instances that are meant to be away meanwhile. */
  down?: readonly string[]
  /** The only affected instance. */
  instance?: string
  /**
   * The announced losses. `beforeMs`: the time before the fault in which answered work may be lost. `afterMs`: the same
   * after its start; left out: until recovery.
   */
  excuses?: ReadonlyArray<Pick<Excuse, 'rules' | 'reason'> & { beforeMs: number; afterMs?: number }>
  /** Makes the fault and ends it; resolves when it is over. */
  run(stage: Stage): Promise<void>
}

export interface Stage {
  fleet: Fleet
  /** For a fault that lasts: `short` in the short form, `long` where `FAULTS_SECONDS` asks for the long one. */
  hold(shortMs: number, longMs: number): Promise<void>
  stopped(result: Stopped): void
}

export interface Scenario {
  instances: readonly string[]
  settingsOf(name: string): Omit<InstanceSettings, 'name' | 'issuer' | 'rateLimit'>
  faults: readonly TimedFault[]
  /** `rateLimit.onStoreError`. With `deny` no limit is exceeded, even if the counters fail. */
  onStoreError?: 'deny'
  terms: Pick<Terms, 'limitsPer' | 'answerWithinMs' | 'retryWithinMs'> & Partial<Terms>
  load?: Partial<LoadSettings>
  /** Length of the load in the short form. */
  seconds?: number
  /** Called while the load runs, about every `everyMs`. */
  watch?: { everyMs: number; look(fleet: Fleet, entries: readonly Entry[]): Promise<void> }
  /** Called after the load, while the instances still run. */
  afterLoad?(fleet: Fleet): Promise<void>
}

export interface Result extends Report {
  entries: readonly Entry[]
  summary: string[]
  stopped: Stopped[]
  faults: readonly Fault[]
  /** The number of successes of each operation. */
  succeeded: Readonly<Record<Operation, number>>
}

const SHORT_SECONDS = 7
/** From this duration on it is the long form, with faults as long as real ones. */
const LONG_SECONDS = 60
/**
 * The short form has fewer journeys and shorter calms, enough to show that a fault has effects and that the service
 * recovers.
 */
const FORMS = { short: { journeyEveryMs: 150, calmMs: 1000 }, long: { journeyEveryMs: 50, calmMs: 2500 } }
/**
 * The load is random and limited. So a calm lasts until all required operations have succeeded, and the last one until
 * all operations have been made, but at most this much longer.
 */
const LONGER_CALM_MS = 30_000
/** The operations that a load of any length does often enough to count as tested. */
export const DONE: readonly Operation[] = [
  'register',
  'sign-in',
  'authorize',
  'redeem',
  'rotate',
  'refresh',
  'userinfo',
  'introspect',
  'sessions',
  'revoke',
  'sign-out',
  'me',
  'ping'
]
const MUST_SUCCEED: readonly Operation[] = ['sign-in', 'rotate', 'redeem', 'userinfo']
/** The time for which one late answer of a store may have effects. */
const SLOW_MS = 1500
const KEYS_WITHIN_MS = 60_000
export const RATE_LIMIT = {
  login: { windowMs: 4000, max: 6 },
  account: { windowMs: 4000, max: 4 },
  register: { windowMs: 4000, max: 3 },
  passwordReset: { windowMs: 4000, max: 3 },
  refresh: { windowMs: 4000, max: 20 }
} as const
export const GRACE_MS = 10_000

function watch({ watch }: Scenario, fleet: Fleet, entries: readonly Entry[]): { end(): Promise<void> } {
  if (watch === undefined) return { end: async () => {} }
  const over = new AbortController()
  const all = (async () => {
    while (await wait(watch.everyMs, true, { signal: over.signal }).catch(() => false)) await watch.look(fleet, entries)
  })()
  return {
    async end() {
      over.abort()
      await all
    }
  }
}

/** The first start creates the keys, which takes a variable time before the load. */
async function allHaveKeys(fleet: Fleet): Promise<void> {
  const deadline = performance.now() + KEYS_WITHIN_MS
  for (const [name, port] of fleet.running) {
    for (;;) {
      const { keys = [] } = await fetch(`http://127.0.0.1:${port}/.well-known/jwks.json`).then(
        async (reply) => (await reply.json()) as { keys?: Array<{ kty: string }> },
        () => ({ keys: [] })
      )
      if (keys.some(({ kty }) => kty === 'EC') && keys.some(({ kty }) => kty === 'RSA')) break
      if (performance.now() > deadline) throw new Error(`the instance ${name} has no keys`)
      await wait(50)
    }
  }
}

/** The duration of the load: `FAULTS_SECONDS`, or the scenario's own. */
export function secondsOf({ seconds = SHORT_SECONDS }: Pick<Scenario, 'seconds'>): number {
  const asked = Number(process.env['FAULTS_SECONDS'] ?? 0)
  return asked > 0 ? asked : seconds
}

export async function runScenario(scenario: Scenario): Promise<Result> {
  const seconds = secondsOf(scenario)
  const { journeyEveryMs, calmMs } = seconds >= LONG_SECONDS ? FORMS.long : FORMS.short
  const log = createLog()
  // By hand: `FAULTS_PLANT=revokes-nothing` must make any scenario fail.
  const planted = process.env['FAULTS_PLANT'] as Planted | undefined
  const fleet = await startFleet(scenario.instances, (name) => ({
    ...(planted === undefined ? {} : { planted }),
    ...scenario.settingsOf(name),
    issuer: ISSUER,
    rateLimit: { ...RATE_LIMIT, onStoreError: scenario.onStoreError ?? 'local' }
  }))
  const stopped: Stopped[] = []
  const faults: Fault[] = []
  const down: Array<Interval & { instance: string }> = []
  const excuses: Excuse[] = []
  // On overloaded processors a store may answer too late and count as unreachable, with the documented effects.
  fleet.onDegraded((store, instance) => {
    const now = log.now()
    if (store !== 'rate limits')
      excuses.push({
        rules: ['unavailable'],
        reason: 'the state answered too late',
        instance,
        start: now - SLOW_MS,
        end: now + SLOW_MS
      })
    else if (scenario.onStoreError === 'deny')
      excuses.push({
        rules: ['unavailable'],
        reason: 'the counters answered too late',
        instance,
        start: now - SLOW_MS,
        end: now + SLOW_MS
      })
    else
      excuses.push({
        rules: ['limit'],
        reason: 'an instance counted for itself, for the counters answered too late',
        instance,
        start: now - RATE_LIMIT.login.windowMs,
        end: now + SLOW_MS
      })
  })
  const machine = watchMachine({
    now: log.now,
    onStill: ({ start, end }) => {
      excuses.push({
        rules: ['unavailable', 'limit', 'late', 'ping', 'not-recovered'],
        reason: 'the machine stood still',
        start: start - SLOW_MS,
        end: end + SLOW_MS
      })
    }
  })
  try {
    await allHaveKeys(fleet)
    const watching = watch(scenario, fleet, log.entries)
    const load = startLoad(
      { log, fleet },
      {
        seed: 'faults',
        users: 10,
        guessers: 2,
        journeyEveryMs,
        timeoutMs: scenario.terms.answerWithinMs * 2,
        ...scenario.load
      }
    )
    const start = log.now()
    const failures: Error[] = []
    /**
     * Continues until all required operations have succeeded, because a slow machine must still get a calm in which
     * they can.
     */
    const calm = async (from: number): Promise<void> => {
      const hasSucceeded = (operation: Operation): boolean =>
        log.entries.some((entry) => entry.operation === operation && entry.start >= from && saidYes(entry))
      await wait(Math.max(0, from + calmMs - log.now()))
      while (
        log.now() < from + calmMs + LONGER_CALM_MS &&
        !(scenario.terms.mustSucceed ?? MUST_SUCCEED).every(hasSucceeded)
      )
        await wait(50)
    }
    for (const fault of scenario.faults.toSorted((a, b) => a.at - b.at)) {
      await wait(Math.max(0, start + fault.at * seconds * 1000 - log.now()))
      const begun = log.now()
      const stage: Stage = {
        fleet,
        hold: async (shortMs, longMs) => {
          await wait(seconds >= LONG_SECONDS ? longMs : shortMs)
        },
        stopped: (result) => {
          stopped.push(result)
        }
      }
      await fault.run(stage).catch((error: unknown) => {
        failures.push(new Error(`${fault.name} could not be done`, { cause: error }))
      })
      const interval = { start: begun, end: log.now() }
      faults.push({
        ...interval,
        name: fault.name,
        recoveryMs: fault.recoveryMs,
        ...(fault.instance === undefined ? {} : { instance: fault.instance })
      })
      for (const instance of fault.down ?? []) down.push({ ...interval, instance })
      for (const { rules, reason, beforeMs, afterMs } of fault.excuses ?? []) {
        excuses.push({
          rules,
          reason,
          start: begun - beforeMs,
          end: afterMs === undefined ? interval.end + fault.recoveryMs : begun + afterMs
        })
      }
      await calm(interval.end + fault.recoveryMs)
    }
    await wait(Math.max(0, start + seconds * 1000 - log.now()))
    const end = log.now()
    const wasIdle = (): boolean =>
      !DONE.every((operation) => log.entries.some((entry) => entry.operation === operation && saidYes(entry))) ||
      !log.entries.some(({ outcome }) => outcome.kind === 'answer' && outcome.status === 429)
    while (log.now() < end + LONGER_CALM_MS && wasIdle()) await wait(50)
    await load.stop()
    await watching.end()
    await scenario.afterLoad?.(fleet)
    if (failures[0] !== undefined) throw failures[0]
    stopped.push(...(await Promise.all([...fleet.running.keys()].map(fleet.stopGracefully))))
  } finally {
    await machine.stop()
    await fleet.close()
  }
  const terms: Terms = {
    graceMs: GRACE_MS,
    clockToleranceMs: 250,
    limits: {
      login: { ...RATE_LIMIT.login, count: 'all' },
      account: { ...RATE_LIMIT.account, count: 'failed' },
      register: { ...RATE_LIMIT.register, count: 'all' },
      passwordReset: { ...RATE_LIMIT.passwordReset, count: 'all' },
      refresh: { ...RATE_LIMIT.refresh, count: 'failed' }
    },
    pingWithinMs: 1000,
    mustSucceed: MUST_SUCCEED,
    ...scenario.terms,
    faults,
    down,
    excuses: [...(scenario.terms.excuses ?? []), ...excuses]
  }
  const report = check(log.entries, terms)
  return { ...report, ...summarize(log.entries, report), entries: log.entries, stopped, faults }
}
