import { LOCK } from './migrations.ts'

/**
 * A connection keeps the plans of a function. One made while a table had few rows would read the whole table, and go on
 * doing so until the table is next analyzed, however it grows. So here the indexes are always used.
 */
export const LANGUAGE = 'LANGUAGE plpgsql SET enable_seqscan TO off'

/** Takes the two ends of a row and `now`, as SQL. */
export const alive = (now: string): string => `expires_at > ${now} AND idle_expires_at > ${now}`

/**
 * Locks of a transaction, one for each user (and for those few whose hashes meet). What touches several rows of a user
 * takes its lock first, and whatever takes it has no row yet; whatever touches one row takes no lock but that row's. So
 * no two wait for each other in a circle, and a bound on a user's rows is counted by one transaction at a time.
 */
export const FAMILIES_LOCK = LOCK + 1
export const SESSIONS_LOCK = LOCK + 2

/**
 * When a row that ends at `ends` is due for the sweep, as SQL. An index on the ends themselves would change with every
 * use, and every use would write into all indexes. So this one stays as it is as long as it is not before the end, and
 * then goes ahead to the next multiple of a power of two, up to a sixteenth of the time that is left: a row that has
 * ended counts for nothing, and may lie there a little longer.
 */
export const sweepAfter = (prefix: string, ends: string, now: string): string =>
  `${prefix}authority_sweep_after(${ends}, ${now}, sweep_after)`

/** Steps for less time than this would be so small that nearly every use moved it anyway. */
const MIN_LEFT_MS = 2 ** 18

export const lifetimeFunctions = (prefix: string): string => `
CREATE FUNCTION ${prefix}authority_sweep_after(ends bigint, now_ms bigint, former bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS $body$
  SELECT CASE WHEN ends <= former THEN former WHEN ends - now_ms < ${MIN_LEFT_MS} THEN ends
    ELSE (SELECT (ceil(ends / step) * step)::bigint FROM (SELECT 2 ^ floor(ln((ends - now_ms)::float8 / 16) / ln(2::float8)) AS step) AS steps) END
$body$;`
