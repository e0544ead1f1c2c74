import { hash } from 'node:crypto'
import type { PostgresDatabase } from './database.ts'

interface NamedStatement {
  name: string
  text: string
  values: unknown[]
}
type NamingDatabase = PostgresDatabase & { query(statement: NamedStatement): Promise<{ rows: unknown[] }> }

/**
 * The server or a pooler does not know a statement that this connection has prepared, or already has one of this name.
 */
const POOLED: readonly string[] = ['26000', '42P05']
/** A prepared plan is older than a migration of its tables. The statement was not run. */
const OUTDATED = '0A000'

/**
 * Only a `Pool` or a `Client` of `pg`: other drivers accept only a text, and a wrapper of the host may not pass names
 * on.
 */
function takesNames(db: PostgresDatabase): db is NamingDatabase {
  return (
    typeof (db as { connect?: unknown }).connect === 'function' && ('totalCount' in db || 'connectionParameters' in db)
  )
}

const codeOf = (error: unknown): unknown => (error instanceof Error ? (error as { code?: unknown }).code : undefined)

/**
 * Gives statements names, so that the server parses and plans each once per connection, which is a third of
 * PostgreSQL's work for reading a row by its key. A statement whose plan is outdated gets another name. A pooler may
 * give a client another connection for each transaction without its prepared statements (PgBouncer before 1.21). The
 * first such error ends the naming for good.
 */
export function withNamedStatements(db: PostgresDatabase): PostgresDatabase {
  if (!takesNames(db)) return db
  const names = new Map<string, string>()
  let generation = 0
  let isOff = false

  function nameOf(text: string): string {
    const known = names.get(text)
    if (known !== undefined) return known
    const name = `authority_${hash('sha256', `${generation}:${text}`, 'hex').slice(0, 24)}`
    names.set(text, name)
    return name
  }

  return {
    async query(text, params = []) {
      if (isOff) return await db.query(text, params)
      const name = nameOf(text)
      try {
        return await db.query({ name, text, values: params })
      } catch (error) {
        const code = codeOf(error)
        if (POOLED.includes(String(code))) isOff = true
        else if (code !== OUTDATED) throw error
        else if (names.get(text) === name) {
          generation++
          names.delete(text)
        }
        // Safe to repeat, because these errors come before the statement is run.
        return await db.query(text, params)
      }
    }
  }
}
