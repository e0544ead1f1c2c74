import { kindOf } from '../../errors.ts'
import { isStorable } from '../../protocol/bounds.ts'
import { isRow } from '../sql/rows.ts'
import type { Row } from '../sql/rows.ts'
import { outage } from './outage.ts'

/** The common part of a `Pool` or a `Client` of `pg`, and PGlite. Nothing of them is imported. */
export interface PostgresDatabase {
  /** One statement with `$1`, `$2` …; each its own transaction. */
  query(text: string, params?: unknown[]): Promise<{ rows: unknown[] }>
}

export type PostgresValue = string | number | boolean | null

/** Runs one statement. Rejects with an error that holds no value of a row or parameter. */
export type Query = (sql: string, ...parameters: PostgresValue[]) => Promise<Row[]>

/** Quotes a name of the host's for SQL. */
export function quoted(name: string, what: string): string {
  if (!/^[A-Za-z_][A-Za-z0-9_]{0,62}$/.test(name)) throw new TypeError(`A ${what} name has letters, digits and _ only.`)
  return `"${name}"`
}

/** The only access to the database. */
export function queryOf(db: PostgresDatabase): Query {
  if (typeof (db as Partial<PostgresDatabase> | null | undefined)?.query !== 'function')
    throw new TypeError(
      'A store in PostgreSQL takes what has query(text, params), such as a Pool of pg. ' +
        `It got ${typeof db === 'string' ? 'a string: connect first, as new Pool({ connectionString })' : kindOf(db)}.`
    )
  return async (sql, ...parameters) => {
    for (const parameter of parameters) {
      if (typeof parameter === 'string' && !isStorable(parameter))
        throw new TypeError("PostgreSQL can't store a string with a NUL or a lone surrogate.")
    }
    let answer
    try {
      answer = await db.query(sql, parameters)
    } catch (error) {
      throw outage(error)
    }
    return answer.rows.filter(isRow)
  }
}
