/** The servers of Redis and PostgreSQL that benchmarks start, with the processor time that they spend; SQLite files. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { SqliteDatabase } from '../lib/index.ts'
import { childrenOf } from '../test/support/postgres-binaries.ts'
import { startPostgres } from '../test/support/postgres-server.ts'
import { startRedis } from '../test/support/redis-server.ts'

export type DatabaseKind = 'redis' | 'postgres'

export interface Database {
  url: string
  /** Microseconds on a processor, of all its processes that run. */
  cpuUs(): Promise<number>
  stop(): Promise<void>
}

/** Microseconds that a process has spent on a processor, as Linux counts them. */
export function spentBy(pid: number): number {
  try {
    return Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[0]) / 1000
  } catch {
    return 0
  }
}

export const startDatabase = async (kind: DatabaseKind): Promise<Database> =>
  await { redis: redisDatabase, postgres: postgresDatabase }[kind]()

async function redisDatabase(): Promise<Database> {
  const { url, pid, stop } = await startRedis()
  return { url, cpuUs: async () => spentBy(pid), stop }
}

async function postgresDatabase(): Promise<Database> {
  const server = await startPostgres()
  const { url } = await server.database()
  return {
    url,
    cpuUs: async () =>
      [server.pid, ...(await childrenOf(server.pid))].reduce((microseconds, pid) => microseconds + spentBy(pid), 0),
    stop: async () => await server.stop()
  }
}

/** In WAL mode, synced as `NORMAL`: the cost of a write without the disk's own time. It ends with the process. */
export async function sqliteFile(): Promise<SqliteDatabase> {
  const { default: Database } = await import('libsql')
  const directory = mkdtempSync(join(tmpdir(), 'authority-bench-'))
  process.once('exit', () => {
    rmSync(directory, { recursive: true, force: true })
  })
  const db = new Database(join(directory, 'state.db'))
  db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL')
  return db
}
