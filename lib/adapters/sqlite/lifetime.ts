import type { Connection } from './database.ts'

/** Takes `now` twice. */
export const ALIVE = 'expires_at > ? AND idle_expires_at > ?'

/**
 * Leaves a user `max` of those rows that count, the row `sid` among them: what has ended goes first, then what was
 * created first. Inside the transaction that added the row.
 */
export function bound(
  { execute }: Connection,
  { table, counts }: { table: string; counts: string },
  { userId, sid, max, now }: { userId: string; sid: string; max: number; now: number }
): void {
  execute(
    `DELETE FROM ${table} WHERE rowid IN (SELECT rowid FROM ${table} WHERE user_id = ? AND sid <> ? AND ${counts}
      ORDER BY ${ALIVE} DESC, created_at DESC, rowid DESC LIMIT -1 OFFSET ?)`,
    userId,
    sid,
    now,
    now,
    max - 1
  )
}
