/** Rows a sweep removes in one statement, with the write lock held; requests get their turn in between. */
export const SLICE = 500

/** `key`: the columns of the table's primary key, or `rowid`. */
export const expiredIn = (table: string, key: string, condition: string): string =>
  `DELETE FROM ${table} WHERE (${key}) IN (SELECT ${key} FROM ${table} WHERE ${condition} LIMIT ` +
  `${SLICE}) RETURNING 1 AS removed`
