/** Rows a sweep removes in one statement, with the write lock held; requests get their turn in between. */
export const SLICE = 500

export const expiredIn = (table: string, condition: string): string =>
  `DELETE FROM ${table} WHERE rowid IN (SELECT rowid FROM ${table} WHERE ${condition} LIMIT ` +
  `${SLICE}) RETURNING 1 AS removed`
