/** Record stores on a PostgreSQL server, and what the tests of them write. */
import { setTimeout as wait } from 'node:timers/promises'
import { Client } from 'pg'
import type { Test } from 'tap'
import { postgresRecords } from '../../../lib/adapters/postgres/record-store.ts'
import type { NewRecord, RecordStore, RecordWrite } from '../../../lib/ports/record-store.ts'
import { parallel } from '../../../lib/testing/contract.ts'
import type { PostgresServer } from '../../support/postgres-server.ts'

export const TABLE = { what: 'postgresState', table: 'authority_records' }
export const NOW = 1_800_000_000_000
export const DAY = 24 * 60 * 60 * 1000

let made = 0
export const version = (): string => `v${String(++made).padStart(13, '0')}`

export const record = (value: unknown, changes: Partial<NewRecord> = {}): NewRecord => ({
  kind: 'test',
  userId: 'user-1',
  version: version(),
  value: JSON.stringify(value),
  expiresAt: NOW + DAY,
  ...changes
})

export const put = (key: string, expect: string | null, value: unknown = 0): RecordWrite & { change: NewRecord } => ({
  key,
  expect,
  change: record(value)
})
/** The element at an index, which starts again after the last element. */
export function nth<Element>(elements: readonly Element[], index: number): Element {
  const found = elements[index % elements.length]
  if (found === undefined) throw new TypeError('There are no elements.')
  return found
}
export const keep = (key: string, expect: string | null): RecordWrite => ({ key, expect, change: 'keep' })

/** Creates the table like the migration, or like an operator beforehand. */
export type Shape = 'one table' | 'partitions'

const PARTITIONED = `CREATE TABLE authority_records (
    part text COLLATE "C" NOT NULL, key text COLLATE "C" NOT NULL, kind text COLLATE "C" NOT NULL,
    user_id text COLLATE "C", version text COLLATE "C" NOT NULL, value text NOT NULL,
    expires_at bigint NOT NULL, sweep_after bigint NOT NULL
  ) PARTITION BY HASH (part);
  DO $$ BEGIN FOR part IN 0 .. 15 LOOP
    EXECUTE format('CREATE TABLE authority_records_%s PARTITION OF authority_records
      FOR VALUES WITH (MODULUS 16, REMAINDER %s)
      WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02)', part, part);
  END LOOP; END $$`

/** Three instances with pools of their own on one fresh database. */
export async function recordInstances(server: Pick<PostgresServer, 'database'>, t: Test, shape: Shape = 'one table') {
  const database = await server.database()
  t.teardown(() => database.drop())
  const pools = Array.from({ length: 3 }, () => database.pool({ max: 10 }))
  const [pool = database.pool()] = pools
  if (shape === 'partitions') await pool.query(PARTITIONED)
  const stores = pools.map((one) => postgresRecords(one, TABLE))
  await Promise.all(stores.map((store) => store.prepare()))
  // Connects before the race, so that handshakes don't decide it.
  await Promise.all(pools.map((one) => parallel(10, () => one.query('SELECT pg_sleep(0.05)'))))
  const blocker = new Client({ connectionString: database.url })
  await blocker.connect()
  t.teardown(() => blocker.end())
  return {
    at: (index: number) => nth<RecordStore>(stores, index),
    database,
    pool,
    blocker,
    rows: async (sql: string) => (await pool.query(sql)).rows as Array<Record<string, unknown>>,
    /** Asked on another connection, because a transaction sees `pg_stat_activity` as of its first look. */
    async waiting(count: number) {
      const WAITING = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
      while ((await pool.query(WAITING)).rowCount !== count) await wait(1)
    }
  }
}
