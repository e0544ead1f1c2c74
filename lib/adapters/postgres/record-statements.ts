import { ANY, type RecordStore, type RecordWrite, type StoredRecord } from '../../ports/record-store.ts'
import { joined } from '../sql/joined.ts'
import { type Row, rowsIn, text } from '../sql/rows.ts'
import { PostgresError, type PostgresValue, type Query } from './database.ts'
import { dueAt, sweepAfter } from './record-tables.ts'

/** The reads and commits of `postgresRecords`. `name`: the name of the table with its schema. */
export function recordStatements(query: Query, name: string): Pick<RecordStore, 'read' | 'commit'> {
  const read = readerOf(query, name)
  const compare = comparerOf(query, name)
  const commitAll = committerOfAll(query, name)
  const replace = replacerOf(query, name)

  async function commit(
    partition: string,
    writes: readonly RecordWrite[],
    now: number
  ): Promise<null | Array<StoredRecord | null>> {
    const [only] = writes
    if (only === undefined) return null
    if (writes.length > 1 || mayBeNew(only)) return await commitAll(partition, writes, now)
    const { key, expect, change } = only
    const isDone =
      typeof change === 'object'
        ? await replace({ partition, key, expect, now, ...change })
        : await compare(partition, only)
    return isDone ? null : await read(partition, [key])
  }
  return { read, commit }
}

/** True if the commit may add a row. Such a commit needs the partition's lock, which only the SQL function takes. */
const mayBeNew = ({ expect, change }: RecordWrite): boolean =>
  expect === null || (expect === ANY && typeof change === 'object')

const recordOf = (row: Row): StoredRecord => ({ version: text(row, 'version'), value: text(row, 'value') })

function recordsFor(keys: readonly string[], rows: readonly Row[]): Array<StoredRecord | null> {
  const found = new Map(rows.map((row) => [text(row, 'key'), recordOf(row)]))
  return keys.map((key) => found.get(key) ?? null)
}

/** Passes an array as text, because drivers encode arrays differently. */
const arrayOf = (elements: readonly PostgresValue[]): string =>
  `{${elements
    .map((element) => (typeof element === 'string' ? `"${element.replaceAll(/["\\]/g, '\\$&')}"` : String(element)))
    .join()}}`

function readerOf(query: Query, name: string) {
  const selectOne = `SELECT version, value FROM ${name} WHERE part = $1 AND key = $2`
  const selectMany = `SELECT key, version, value FROM ${name} WHERE part = $1 AND key = ANY ($2::text::text[])`
  // OFFSET keeps the planner from reading the whole table for the join.
  const selectOnes = `SELECT found.version, found.value
    FROM unnest($1::text::text[], $2::text::text[]) WITH ORDINALITY AS asked (part, key, place)
    LEFT JOIN LATERAL (SELECT version, value FROM ${name} WHERE part = asked.part AND key = asked.key OFFSET 0) AS found
      ON true
    ORDER BY place`
  const readOne = joined(async (asked: ReadonlyArray<readonly [partition: string, key: string]>) => {
    const [[partition, key] = ['', ''], ...more] = asked
    if (more.length > 0) {
      const rows = await query(selectOnes, arrayOf(asked.map(([part]) => part)), arrayOf(asked.map(([, name]) => name)))
      return rows.map((row) => (row['version'] === null ? null : recordOf(row)))
    }
    const [row] = await query(selectOne, partition, key)
    return [row === undefined ? null : recordOf(row)]
  }, mayBeOfOne)
  return async (partition: string, keys: readonly string[]): Promise<Array<StoredRecord | null>> => {
    const [first] = keys
    if (first === undefined) return []
    return keys.length > 1
      ? recordsFor(keys, await query(selectMany, partition, arrayOf(keys)))
      : [await readOne([partition, first])]
  }
}

/** Compares or removes one record. Resolves to true if its version was as expected. */
function comparerOf(query: Query, name: string) {
  const one = 'WHERE part = $1 AND key = $2 AND version = $3'
  const select = `SELECT 1 AS done FROM ${name} ${one}`
  const remove = `DELETE FROM ${name} ${one} RETURNING 1 AS done`
  const removeAny = `DELETE FROM ${name} WHERE part = $1 AND key = $2`
  return async (partition: string, { key, expect, change }: RecordWrite): Promise<boolean> => {
    if (expect === ANY) {
      if (change === 'delete') await query(removeAny, partition, key)
      return true
    }
    return (await query(change === 'keep' ? select : remove, partition, key, expect)).length === 1
  }
}

/** A new record and the version (`expect`) of the record that it replaces. */
interface Replacement extends Exclude<RecordWrite['change'], string> {
  partition: string
  key: string
  expect: string | null
  now: number
}

/**
 * True for an error after which nothing was done, and which a single record of the statement may have caused: by a
 * value, a trigger of the operator (P0), or a lock of another transaction (55P03). False for 40003, because the server
 * may have done the statement.
 */
const mayBeOfOne = (error: unknown): boolean =>
  error instanceof TypeError ||
  (error instanceof PostgresError && /^(?:2[23]|40(?!003)|54|55P03|P0)/.test(error.code ?? ''))

/**
 * Replaces a record. Resolves to true if the replaced version was as expected. One statement does the replacements of
 * one turn of the event loop, up to 64 of them.
 */
function replacerOf(query: Query, name: string): (replacement: Replacement) => Promise<boolean> {
  const one = `UPDATE ${name} SET version = $4, value = $5, kind = $6, user_id = $7, expires_at = $8,
    sweep_after = ${sweepAfter('$8', '$9', '$10')} WHERE part = $1 AND key = $2 AND version = $3 RETURNING 1 AS done`
  const texts = Array.from({ length: 7 }, (_, index) => `$${index + 1}::text::text[]`).join(', ')
  const numbers = [8, 9, 10].map((index) => `$${index}::text::bigint[]`).join(', ')
  const many = `SELECT ${name}_replace(${texts}, ${numbers}) AS done`
  const valuesOf = (given: Replacement): PostgresValue[] => {
    const { partition, key, expect, version, value, kind, userId, expiresAt, now } = given
    return [partition, key, expect, version, value, kind, userId, expiresAt, dueAt(expiresAt, now), now]
  }
  return joined(async (given) => {
    const rows = given.map(valuesOf)
    const [first = []] = rows
    if (rows.length === 1) return [(await query(one, ...first)).length === 1]
    const [row] = await query(many, ...first.map((_, column) => arrayOf(rows.map((values) => values[column] ?? null))))
    // Throws no TypeError, because `mayBeOfOne` takes a TypeError for "nothing was done".
    if (typeof row?.['done'] !== 'string') throw new Error('The database answered a SELECT without its row.')
    return JSON.parse(row['done']) as boolean[]
  }, mayBeOfOne)
}

function committerOfAll(query: Query, name: string) {
  const texts = Array.from({ length: 6 }, (_, index) => `$${index + 2}::text::text[]`).join(', ')
  const statement = `SELECT ${name}_commit($1, ${texts}, $8::text::bigint[], $9::text::bigint[], $10) AS found`
  return async (
    partition: string,
    writes: readonly RecordWrite[],
    now: number
  ): Promise<null | Array<StoredRecord | null>> => {
    const puts = writes.map(({ change }) => (typeof change === 'object' ? change : null))
    const versions = writes.map(({ change }) => (change === 'delete' ? '' : change === 'keep' ? null : change.version))
    const keys = writes.map(({ key }) => key)
    const [row] = await query(
      statement,
      partition,
      arrayOf(keys),
      arrayOf(writes.map(({ expect }) => expect)),
      arrayOf(versions),
      arrayOf(puts.map((put) => put?.kind ?? null)),
      arrayOf(puts.map((put) => put?.userId ?? null)),
      arrayOf(puts.map((put) => put?.value ?? null)),
      arrayOf(puts.map((put) => put?.expiresAt ?? null)),
      arrayOf(puts.map((put) => (put === null ? null : dueAt(put.expiresAt, now)))),
      now
    )
    if (row === undefined) throw new TypeError('The database answered a SELECT with no row.')
    return row['found'] === null ? null : recordsFor(keys, rowsIn(row, 'found'))
  }
}
