/**
 * A PostgreSQL server of a test's own: fresh data directory, free port on 127.0.0.1, no unix socket. It can be frozen,
 * killed, restarted and made to refuse connections. A watchdog process ends it when the process that started it is
 * gone, however that ended.
 */
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { chown, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { Client, Pool } from 'pg'
import type { PoolConfig } from 'pg'
import { freePort } from './free-port.ts'
import { childrenOf, findBinaries, isRunning, serverAccount } from './postgres-binaries.ts'
import type { Account } from './postgres-binaries.ts'
import { makeData } from './postgres-data.ts'
import { preferServer } from './priority.ts'

export interface PostgresDatabase {
  url: string
  /** A pool on it, with a listener for `error`. `drop` ends it. */
  pool(options?: PoolConfig): Pool
  drop(): Promise<void>
}

export interface PostgresServer {
  readonly port: number
  /** The URL of the database `postgres`, as a superuser. */
  readonly url: string
  /** The postmaster's process id, which `restart` changes. */
  readonly pid: number
  /** True if pg_stat_statements is loaded (`CREATE EXTENSION pg_stat_statements` makes its view). */
  readonly hasStatements: boolean
  /** A fresh, empty database. */
  database(): Promise<PostgresDatabase>
  /** SIGSTOP to the postmaster and every backend: connections stay open and nothing answers. */
  pause(): Promise<void>
  resume(): Promise<void>
  /** SIGKILL to the postmaster and every backend. Resolves when they are gone; `restart` starts it again. */
  kill(): Promise<void>
  /** Stops it if it runs (open connections are cut), and starts it again on the same port with the same data. */
  restart(): Promise<void>
  /** `true` cuts every connection and refuses new ones (28000) until `false`. */
  refuseConnections(refuse: boolean): Promise<void>
  stop(): Promise<void>
}

export interface PostgresServerOptions {
  /** Default false: no fsync, so what was committed outlives SIGKILL, but would not outlive the machine. */
  durable?: boolean
}

const DEADLINE_MS = 20_000
/** A superuser that no test uses: it still gets in while others are refused. */
const WARDEN = 'warden'
const SPEED = ['-c', 'fsync=off', '-c', 'full_page_writes=off']
const STATEMENTS = ['-c', 'shared_preload_libraries=pg_stat_statements', '-c', 'pg_stat_statements.track=top']
const OPEN = 'host all all 127.0.0.1/32 trust\n'
const CLOSED = `host all ${WARDEN} 127.0.0.1/32 trust\nhost all all 127.0.0.1/32 reject\n`

/** The watchdog's input ends when the process that started it ends. */
const WATCHDOG = `cat >/dev/null
pid=$(head -n 1 "$1/data/postmaster.pid" 2>/dev/null)
if [ -n "$pid" ]; then
  kill -CONT "$pid"; kill -QUIT "$pid"
  turns=0
  while [ -e "$1/data/postmaster.pid" ] && [ $turns -lt 100 ]; do sleep 0.1; turns=$((turns + 1)); done
fi 2>/dev/null
rm -rf "$1"`

async function until(condition: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const deadline = performance.now() + DEADLINE_MS
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`PostgreSQL: ${what} took longer than ${DEADLINE_MS} ms.`)
    await wait(10)
  }
}

const isGone = ({ exitCode, signalCode }: ChildProcess): boolean => exitCode !== null || signalCode !== null

interface Launch {
  binaries: string
  directory: string
  port: number
  account: Account
  settings: readonly string[]
}

/** Resolves when it takes connections, to `null` where it ended before. */
async function launch({ binaries, directory, port, account, settings }: Launch): Promise<ChildProcess | null> {
  // A file, not a pipe: a server must not wait for a test that is too busy to read.
  const log = openSync(join(directory, 'log'), 'a')
  const args = [
    '-D',
    join(directory, 'data'),
    '-p',
    String(port),
    '-h',
    '127.0.0.1',
    '-k',
    '',
    '-c',
    'max_connections=200',
    '-c',
    'lc_messages=C',
    ...settings
  ]
  const server = spawn(join(binaries, 'postgres'), args, {
    ...account,
    cwd: directory,
    detached: true,
    stdio: ['ignore', log, log]
  })
  closeSync(log)
  preferServer(server.pid)
  server.on('error', () => {})
  server.unref()
  await until(
    async () => isGone(server) || (await as(port, 'postgres', async () => true).catch(() => false)),
    'the start'
  )
  return isGone(server) ? null : server
}

/** Runs `work` on a connection of the superuser that no test uses. */
async function as<Result>(port: number, database: string, work: (client: Client) => Promise<Result>): Promise<Result> {
  const client = new Client({ host: '127.0.0.1', port, user: WARDEN, database, connectionTimeoutMillis: DEADLINE_MS })
  client.on('error', () => {})
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

export async function startPostgres({ durable = false }: PostgresServerOptions = {}): Promise<PostgresServer> {
  const binaries = findBinaries()
  const account = serverAccount()
  const directory = await mkdtemp(join(tmpdir(), 'authority-postgres-'))
  if (account.uid !== undefined && account.gid !== undefined) await chown(directory, account.uid, account.gid)
  const watchdog = spawn('sh', ['-c', WATCHDOG, 'watchdog', directory], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore']
  })
  watchdog.unref()
  // The pipe is a socket here, and must not keep the test alive either.
  if (watchdog.stdin !== null && 'unref' in watchdog.stdin && typeof watchdog.stdin.unref === 'function')
    watchdog.stdin.unref()
  try {
    return await serverIn(directory, {
      binaries,
      account,
      durable,
      release() {
        watchdog.stdin?.end()
      }
    })
  } catch (error) {
    watchdog.stdin?.end()
    throw error
  }
}

interface Place {
  binaries: string
  account: Account
  durable: boolean
  release(): void
}

async function serverIn(directory: string, { binaries, account, durable, release }: Place): Promise<PostgresServer> {
  const data = await makeData({ binaries, account, directory, superuser: WARDEN })
  const rules = join(data, 'pg_hba.conf')
  await writeFile(rules, OPEN)
  const speed = durable ? [] : SPEED

  let settings = [...STATEMENTS, ...speed]
  let port = await freePort()
  const start = async (): Promise<ChildProcess | null> => await launch({ binaries, directory, port, account, settings })
  let started = await start()
  for (let attempt = 0; started === null && attempt < 3; attempt++) {
    // The port was taken meanwhile, or the contrib modules are not installed.
    if ((await readFile(join(directory, 'log'), 'utf8')).includes('could not access file "pg_stat_statements"'))
      settings = speed
    port = await freePort()
    started = await start()
  }
  if (started === null)
    throw new Error(`PostgreSQL did not start: ${(await readFile(join(directory, 'log'), 'utf8')).slice(-2000)}`)
  let server: ChildProcess = started
  let databases = 0
  const urlOf = (name: string): string => `postgres://postgres@127.0.0.1:${port}/${name}`
  const pidOf = (): number => server.pid ?? 0
  await as(port, 'postgres', async (client) => await client.query('CREATE ROLE postgres SUPERUSER LOGIN'))

  // Every backend leads a session of its own, so no signal to a group reaches them all. A stopped postmaster makes no
  // new ones.
  const signalAll = async (signal: NodeJS.Signals): Promise<number[]> => {
    if (isGone(server)) return []
    process.kill(pidOf(), 'SIGSTOP')
    const children = await childrenOf(pidOf())
    for (const pid of [...children, pidOf()]) {
      try {
        process.kill(pid, signal)
      } catch {}
    }
    return children
  }
  const kill = async (): Promise<void> => {
    const children = await signalAll('SIGKILL')
    await until(async () => isGone(server) && !(await isRunning(children)), 'the end')
    await rm(join(data, 'postmaster.pid'), { force: true })
  }
  const shutDown = async (): Promise<void> => {
    if (isGone(server)) return
    await signalAll('SIGCONT')
    process.kill(pidOf(), 'SIGINT')
    await until(() => isGone(server), 'the stop')
  }

  return {
    get port() {
      return port
    },
    get url() {
      return urlOf('postgres')
    },
    get pid() {
      return pidOf()
    },
    get hasStatements() {
      return settings !== speed
    },
    async database() {
      const name = `test_${++databases}`
      await as(port, 'postgres', async (client) => await client.query(`CREATE DATABASE ${name}`))
      const pools: Pool[] = []
      return {
        url: urlOf(name),
        pool(options = {}) {
          const pool = new Pool({ host: '127.0.0.1', port, user: 'postgres', database: name, ...options })
          pool.on('error', () => {})
          pools.push(pool)
          return pool
        },
        async drop() {
          await Promise.all(
            pools.filter(({ ended, ending }) => !ended && !ending).map(async (pool) => await pool.end())
          )
          await as(
            port,
            'postgres',
            async (client) => await client.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)
          )
        }
      }
    },
    async pause() {
      await signalAll('SIGSTOP')
    },
    async resume() {
      await signalAll('SIGCONT')
    },
    kill,
    async restart() {
      await shutDown()
      const again = await start()
      if (again === null)
        throw new Error(
          `PostgreSQL did not start again: ${(await readFile(join(directory, 'log'), 'utf8')).slice(-2000)}`
        )
      server = again
    },
    async refuseConnections(refuse) {
      await writeFile(rules, refuse ? CLOSED : OPEN)
      await as(port, 'postgres', async (client) => {
        await client.query('SELECT pg_reload_conf()')
        await until(async () => (await isOpen(urlOf('postgres'))) !== refuse, 'the new rules')
        // Cuts connections last, so that a cut client can't reconnect before the refusal holds.
        if (refuse)
          await client.query(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'client " +
              "backend' AND usename <> $1",
            [WARDEN]
          )
      })
    },
    async stop() {
      await kill()
      await rm(directory, { recursive: true, force: true })
      release()
    }
  }
}

async function isOpen(connectionString: string): Promise<boolean> {
  const client = new Client({ connectionString })
  client.on('error', () => {})
  return await client.connect().then(
    async () => {
      await client.end()
      return true
    },
    () => false
  )
}
