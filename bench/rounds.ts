/**
 * Servers side by side: each is a process of its own and stays up, every round loads each for a moment, in changing
 * order, so that other work of the machine falls on all alike. CPU is the server process's own, with all its threads,
 * and that of its database where the subject names one. A ratio is taken inside a round, and the figure is the median of
 * the rounds.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { Redis } from 'ioredis'
import { Pool } from 'pg'
import { type Database, type DatabaseKind, startDatabase } from './databases.ts'
import { connectLoad, type Load } from './load.ts'
import { type BenchOptions, type Cell, median, type Report } from './report.ts'
import type { HttpBenchmark, Subject } from './subject.ts'

const ROUNDS = 7
/** The load before the first round: the compiler has seen each subject for so long. */
const WARM_MS = 4000

/**
 * A running server shows in this process too, which is started already. Only the first server proves under `--quick`
 * that it runs in a child.
 */
let hasStarted = false

const urlOf = (kind: DatabaseKind): string => `BENCH_${kind.toUpperCase()}_URL`

interface Server {
  name: string
  load: Load
  /** Microseconds of its process on a processor so far. */
  usage(): Promise<number>
  end(): void
  cpu: number[]
  perSecond: number[]
}

/** `entry`: the file that answers `serve(benchmark, subject)` in the child. */
export async function compare(name: string, benchmark: HttpBenchmark, { quick, args }: BenchOptions): Promise<Report> {
  const rounds = quick ? 1 : ROUNDS
  const shotMs = quick ? 5 : benchmark.shotMs
  const chosen = Object.keys(benchmark.subjects).filter(
    (subject, index) => args.length === 0 || index === 0 || args.some((part) => subject.includes(part))
  )
  const servers: Server[] = []
  const databases = new Map<DatabaseKind, Database>()
  try {
    for (const kind of benchmark.databases ?? []) {
      const database = await startDatabase(kind)
      databases.set(kind, database)
      process.env[urlOf(kind)] = database.url
    }
    for (const subject of chosen) {
      const server = await (quick && hasStarted ? startHere : start)(name, subject, benchmark)
      servers.push(withDatabase(server, databases.get(benchmark.subjects[subject]?.database as DatabaseKind)))
      // At once, because a server closes a connection without a request after a minute.
      if (!quick) await server.load.run(Math.max(WARM_MS, shotMs))
    }
    for (let round = 0; round < rounds; round++) {
      for (const server of round % 2 === 0 ? servers : servers.toReversed()) await shoot(server, shotMs)
    }
  } finally {
    for (const { load, end } of servers) {
      load.close()
      end()
    }
    for (const { stop } of databases.values()) await stop()
  }
  const withItsDatabase = chosen.some((subject) => benchmark.subjects[subject]?.database !== undefined)
  const counted = withItsDatabase ? ', on PostgreSQL with that of its server' : ''
  return {
    title: benchmark.title,
    method:
      `${rounds} rounds of ${shotMs} ms, ${benchmark.concurrency} connections; CPU of the ` +
      `server's process per request${counted}; ratios inside a round, medians.`,
    tables: [
      {
        columns: ['', 'CPU µs', 'CPU ratio', 'least to most', 'goal', 'requests/s', 'ratio'],
        rows: servers.map((server) => row(server, servers, benchmark))
      }
    ]
  }
}

const withDatabase = (server: Server, database: Database | undefined): Server =>
  database === undefined ? server : { ...server, usage: async () => (await server.usage()) + (await database.cpuUs()) }

async function shoot(server: Server, shotMs: number): Promise<void> {
  const before = await server.usage()
  const started = performance.now()
  const requests = await server.load.run(shotMs)
  const seconds = (performance.now() - started) / 1000
  const after = await server.usage()
  server.cpu.push((after - before) / requests)
  server.perSecond.push(requests / seconds)
}

function row(server: Server, servers: readonly Server[], { subjects }: HttpBenchmark): Cell[] {
  const entry = subjects[server.name]
  const base = servers.find(({ name }) => name === entry?.against) ?? servers[0] ?? server
  const ratios = server.cpu.map((cpu, round) => cpu / (base.cpu[round] ?? Number.NaN))
  const speeds = server.perSecond.map((perSecond, round) => perSecond / (base.perSecond[round] ?? Number.NaN))
  const against = base === servers[0] ? '' : ` (÷ ${base.name})`
  return [
    `${server.name}${against}`,
    median(server.cpu),
    median(ratios).toFixed(2),
    `${Math.min(...ratios).toFixed(2)}–${Math.max(...ratios).toFixed(2)}`,
    entry?.goal === undefined ? '' : `≤ ${entry.goal.toFixed(2)}`,
    Math.round(median(server.perSecond)),
    `${median(speeds).toFixed(2)}${entry?.leastSpeed === undefined ? '' : ` (goal ≥ ${entry.leastSpeed.toFixed(2)})`}`
  ]
}

async function start(name: string, subject: string, benchmark: HttpBenchmark): Promise<Server> {
  hasStarted = true
  const run = new URL(`./run${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url)
  const child = fork(fileURLToPath(run), ['serve', name, subject], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  const load = await connectLoad(await answer<Subject>(child), benchmark)
  return {
    name: subject,
    load,
    usage: async () => spent(await ask<NodeJS.CpuUsage>(child, 'usage')),
    end() {
      child.kill()
    },
    cpu: [],
    perSecond: []
  }
}

const spent = ({ user, system }: NodeJS.CpuUsage): number => user + system

/** It stays until the process ends. */
async function startHere(name: string, subject: string, benchmark: HttpBenchmark): Promise<Server> {
  const entry = benchmark.subjects[subject]
  if (entry === undefined) throw new Error(`${name} has no subject ${subject}`)
  return {
    name: subject,
    load: await connectLoad(await entry.start(), benchmark),
    usage: async () => spent(process.cpuUsage()),
    end() {},
    cpu: [],
    perSecond: []
  }
}

/** In the child: starts the server and then tells what the process has used, whenever it is asked. */
export async function serveInChild(benchmark: HttpBenchmark, subject: string): Promise<void> {
  process.on('disconnect', () => {
    process.exit()
  })
  process.on('message', () => {
    process.send?.(process.cpuUsage())
  })
  process.send?.(await benchmark.subjects[subject]?.start())
}

/** A client of the server that the benchmark has started for all its subjects. */
export function redisClient(): Redis {
  const client = new Redis(process.env[urlOf('redis')] ?? '')
  // The server may end before its clients.
  client.on('error', () => {})
  return client
}

/** Connections to the PostgreSQL server of all subjects. They stay: the time of one that ends would count no more. */
export function postgresPool(): Pool {
  const pool = new Pool({ connectionString: process.env[urlOf('postgres')] ?? '', max: 8, idleTimeoutMillis: 0 })
  pool.on('error', () => {})
  return pool
}

async function ask<T>(child: ChildProcess, what: string): Promise<T> {
  const answered = answer<T>(child)
  child.send(what)
  return await answered
}

async function answer<T>(child: ChildProcess): Promise<T> {
  return await new Promise((resolve, reject) => {
    const stopped = (code: number | null): void => {
      reject(new Error(`the server stopped with code ${code}`))
    }
    child.once('exit', stopped).once('message', (message) => {
      child.off('exit', stopped)
      resolve(message as T)
    })
  })
}
