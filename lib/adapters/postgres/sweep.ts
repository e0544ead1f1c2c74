import { integer } from '../sql/rows.ts'
import type { Query } from './database.ts'
import { LANGUAGE, alive } from './lifetime.ts'

/** Rows a sweep removes in one statement. */
const SLICE = 500

/**
 * What of a table is removed: `due` has an index, `ended` says whether it counts no more, and `key` finds the rows
 * again.
 */
export interface Swept {
  name: string
  key: string
  type: string
  due: string
  ended: string
}

const NOT_ALIVE = `NOT (${alive('now_ms')})`
const SWEPT: readonly Swept[] = [
  { name: 'families', key: 'sid', type: 'text', due: 'sweep_after', ended: NOT_ALIVE },
  { name: 'browser_sessions', key: 'sid', type: 'text', due: 'sweep_after', ended: NOT_ALIVE },
  { name: 'one_time_tokens', key: 'ctid', type: 'tid', due: 'expires_at', ended: 'expires_at <= now_ms' },
  { name: 'consents', key: 'ctid', type: 'tid', due: 'expires_at', ended: 'expires_at <= now_ms' }
]

/**
 * Removes a slice and says how many that were. What another instance's sweep or a request has locked is left to it:
 * nobody waits for a sweep, and a sweep for nobody. A row that was used meanwhile is looked at again when its lock is
 * got. The planner takes the rows that are due for few, and would collect and sort them all for each slice; so it must
 * walk along the index.
 */
export const sweepFunction = (prefix: string, { name, key, type, due, ended }: Swept): string => `
CREATE FUNCTION ${prefix}authority_sweep_${name}(now_ms bigint, max_rows integer) RETURNS integer
${LANGUAGE} SET enable_bitmapscan TO off SET enable_sort TO off AS $body$
DECLARE
  chosen ${type}[];
  removed integer;
BEGIN
  chosen := ARRAY(SELECT ${key} FROM ${prefix}authority_${name} WHERE ${due} <= now_ms AND ${ended}
    ORDER BY ${due} LIMIT max_rows FOR UPDATE SKIP LOCKED);
  DELETE FROM ${prefix}authority_${name} WHERE ${key} = ANY (chosen);
  GET DIAGNOSTICS removed = ROW_COUNT;
  RETURN removed;
END $body$;`

/** A later step of the tables than the others. */
export const ASSERTIONS_SWEPT: Swept = {
  name: 'assertions',
  key: 'ctid',
  type: 'tid',
  due: 'expires_at',
  ended: 'expires_at <= now_ms'
}

/** Of the first step of the state. */
export const sweepFunctions = (prefix: string): string => SWEPT.map((swept) => sweepFunction(prefix, swept)).join('\n')

/** Removes what has expired at `now`, slice by slice. */
export function postgresSweep(
  query: Query,
  prefix: string,
  tables: readonly Swept[] = [...SWEPT, ASSERTIONS_SWEPT]
): (now: number) => Promise<void> {
  return async (now) => {
    for (const { name } of tables) {
      let removed
      do {
        const [row] = await query(`SELECT ${prefix}authority_sweep_${name}($1, $2) AS removed`, now, SLICE)
        removed = row === undefined ? 0 : integer(row, 'removed')
      } while (removed === SLICE)
    }
  }
}
