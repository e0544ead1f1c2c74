/**
 * `npm run test:soak -- redis postgres sqlite`: half an hour (`SOAK_MINUTES`) of steady load on each store, with tokens
 * that live two minutes. The load on the next store starts while the records of the one before expire. Memory of the processes and latency must be flat from the second third to the last, nothing may break that
 * the checker knows of, and when all tokens have expired the store must be as small as it was with nobody signed in.
 */
import { readFileSync, statSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import { Pool } from 'pg'
import { startPostgres } from '../support/postgres-server.ts'
import { startRedis } from '../support/redis-server.ts'
import type { Fleet } from './support/fleet.ts'
import type { Entry } from './support/log.ts'
import { runScenario } from './support/scenario.ts'
import type { InstanceSettings } from './support/settings.ts'
import { INSTANCES, temporaryFile } from './support/standard.ts'

type Places = Pick<InstanceSettings, 'state' | 'users' | 'limits'>

interface Subject {
  places: Places
  /** The latest time at which the last expired record is removed. */
  goneAfterSeconds: number
  /** The number of keys or rows. */
  size(): Promise<number>
  /** The size of the store in bytes, only for the report, because no store returns space at once. */
  bytes(): Promise<number>
}

interface Sample {
  seconds: number
  size: number
  bytes: number
  memoryBytes: number[]
  p50Ms: number
  p99Ms: number
}

const LIFETIME_SECONDS = 120
/** Sweeps run once a minute, in slices. */
const SWEPT_AFTER_SECONDS = LIFETIME_SECONDS + 180
/** Redis keeps a record for ten minutes after its end, for instances whose clocks are behind. */
const TTL_OVER_AFTER_SECONDS = LIFETIME_SECONDS + 600 + 60
const SAMPLE_MS = 15_000
/** The factor by which the last third may exceed the second, because garbage collection is irregular. */
const MEMORY_MARGIN = 1.2
const LATENCY_MARGIN = 1.5

const ends: Array<() => unknown> = []
const setup = {
  teardown(task: () => unknown) {
    ends.unshift(task)
  }
}
const minutes = Number(process.env['SOAK_MINUTES'] ?? 30)

const SUBJECTS: Record<string, () => Promise<Subject>> = {
  async redis() {
    const redis = await startRedis()
    setup.teardown(() => redis.stop())
    const admin = redis.client()
    const place = { kind: 'redis', url: redis.url } as const
    return {
      places: { state: place, users: temporaryFile(setup), limits: place },
      goneAfterSeconds: TTL_OVER_AFTER_SECONDS,
      size: async () => await admin.dbsize(),
      bytes: async () => Number(/used_memory:(\d+)/.exec(await admin.info('memory'))?.[1])
    }
  },
  async postgres() {
    const postgres = await startPostgres()
    setup.teardown(() => postgres.stop())
    const admin = new Pool({ connectionString: postgres.url, max: 1 })
    setup.teardown(() => admin.end())
    const place = { kind: 'postgres', url: postgres.url } as const
    return {
      places: { state: place, users: place },
      goneAfterSeconds: SWEPT_AFTER_SECONDS,
      async size() {
        const { rows: tables } = await admin.query<{ name: string }>(
          "SELECT quote_ident(schemaname) || '.' || quote_ident(relname) AS name FROM pg_stat_user_tables"
        )
        let rows = 0
        for (const { name } of tables)
          rows +=
            (await admin.query<{ count: number }>(`SELECT count(*)::int AS count FROM ${name}`)).rows[0]?.count ?? 0
        return rows
      },
      bytes: async () =>
        (await admin.query<{ bytes: number }>('SELECT pg_database_size(current_database())::float8 AS bytes')).rows[0]
          ?.bytes ?? 0
    }
  },
  async sqlite() {
    const place = temporaryFile(setup)
    const { default: Database } = await import('libsql')
    const db = new Database(place.file)
    // The instances hold the lock for moments, for which this only waits.
    db.exec('PRAGMA busy_timeout = 10000')
    setup.teardown(() => db.close())
    return {
      places: { state: place, users: place },
      goneAfterSeconds: SWEPT_AFTER_SECONDS,
      async size() {
        const tables = db
          .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
          .all() as Array<{ name: string }>
        return tables.reduce(
          (sum, { name }) =>
            sum + (db.prepare(`SELECT count(*) AS count FROM "${name}"`).get() as { count: number }).count,
          0
        )
      },
      bytes: async () => statSync(place.file).size
    }
  }
}

/** Calls `loaded` when the load has ended and the wait for expiry begins. Resolves to one sentence for each problem. */
async function soak(kind: string, loaded: () => void): Promise<string[]> {
  const subject = await SUBJECTS[kind]?.()
  if (subject === undefined) throw new Error(`usage: npm run test:soak -- ${Object.keys(SUBJECTS).join(' ')}`)
  const { places, goneAfterSeconds, size, bytes } = subject
  const samples: Sample[] = []
  const began = performance.now()
  let seen = 0
  let floor = 0
  const result = await runScenario({
    instances: INSTANCES,
    settingsOf: () => ({
      ...places,
      skewMs: 0,
      options: {
        accessToken: { expiresIn: 60 },
        refreshToken: { expiresIn: LIFETIME_SECONDS, idleTimeout: LIFETIME_SECONDS },
        session: { expiresIn: LIFETIME_SECONDS, idleTimeout: LIFETIME_SECONDS }
      }
    }),
    seconds: minutes * 60,
    faults: [],
    // Leaves out this rule, because expiring families are refused and the log does not know their ends.
    terms: {
      limitsPer: places.limits === undefined ? 'instance' : 'fleet',
      answerWithinMs: 6000,
      retryWithinMs: 5000,
      excuses: [
        { rules: ['undone', 'lost-refresh'], reason: 'tokens live two minutes here', start: 0, end: Infinity },
        // The scenarios of faults hold the limits. A busy machine must not fail a soak.
        { rules: ['limit'], reason: 'an instance that stalls for 250 ms counts for itself', start: 0, end: Infinity }
      ]
    },
    watch: {
      everyMs: SAMPLE_MS,
      async look(fleet, entries) {
        samples.push({
          seconds: Math.round((performance.now() - began) / 1000),
          size: await size(),
          bytes: await bytes(),
          memoryBytes: memoryOf(fleet),
          ...latencies(entries.slice(seen))
        })
        seen = entries.length
        console.log(kind, JSON.stringify(samples.at(-1)))
      }
    },
    async afterLoad() {
      loaded()
      await wait(goneAfterSeconds * 1000)
      floor = await size()
    }
  })
  for (const line of result.summary) console.log(kind, line)
  const problems = [
    ...result.violations.slice(0, 20).map(({ rule, message }) => `${rule}: ${message}`),
    ...verdict(samples, { isSteady: minutes * 30 >= goneAfterSeconds }),
    // Signing keys, users and migrations, which exist without sign-ins. Each user of the load may have left a consent.
    ...(floor > MOST_LEFT + result.succeeded.register * 2
      ? [`${floor} records are left when all tokens have expired`]
      : [])
  ]
  return problems.map((problem) => `${kind}: ${problem}`)
}

const MOST_LEFT = 40

/**
 * One sentence for each figure that grew. `isSteady`: after half of the load, as many records expire as are made. In a
 * shorter run the number of records always grows, and only the count after the load shows whether all expire.
 */
function verdict(samples: readonly Sample[], { isSteady }: { isSteady: boolean }): string[] {
  const third = Math.floor(samples.length / 3)
  const middle = samples.slice(third, 2 * third)
  const last = samples.slice(2 * third)
  const grown = (what: string, read: (sample: Sample) => number, margin: number, slack = 0): string[] => {
    const [before, after] = [median(middle.map(read)), median(last.map(read))]
    return after > before * margin + slack ? [`${what} grew from ${Math.round(before)} to ${Math.round(after)}`] : []
  }
  return [
    ...grown(
      'memory of all processes, in bytes,',
      ({ memoryBytes }) => memoryBytes.reduce((sum, one) => sum + one, 0),
      MEMORY_MARGIN
    ),
    ...grown('the 99th of 100 latencies, in ms,', ({ p99Ms }) => p99Ms, LATENCY_MARGIN, 20),
    ...(isSteady ? grown('the number of records', ({ size }) => size, MEMORY_MARGIN) : [])
  ]
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
}

function latencies(entries: readonly Entry[]): Pick<Sample, 'p50Ms' | 'p99Ms'> {
  const sorted = entries.map(({ start, end }) => end - start).toSorted((a, b) => a - b)
  const at = (share: number): number => Math.round((sorted[Math.floor(sorted.length * share)] ?? 0) * 10) / 10
  return { p50Ms: at(0.5), p99Ms: at(0.99) }
}

/** Resident memory, if `/proc` has it. */
function memoryOf(fleet: Fleet): number[] {
  return [...fleet.pids().values()].map((pid) => {
    try {
      return Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) * 1024
    } catch {
      return 0
    }
  })
}

const sentence = (error: unknown): string[] => [String(error)]

try {
  const running: Array<Promise<string[]>> = []
  for (const kind of process.argv.slice(2))
    await new Promise<void>((resolve) => running.push(soak(kind, resolve).catch(sentence).finally(resolve)))
  const problems = (await Promise.all(running)).flat()
  for (const problem of problems) console.error(problem)
  process.exitCode = problems.length === 0 ? 0 : 1
} finally {
  for (const end of ends) await end()
}
