/** A row as the driver returned it. Its shape is unknown: it may have no prototype, or extra fields of the driver. */
export type Row = Readonly<Record<string, unknown>>

export const isRow = (value: unknown): value is Row => typeof value === 'object' && value !== null

const unreadable = (column: string): TypeError => new TypeError(`The database holds a ${column} of the wrong type.`)

export function text(row: Row, column: string): string {
  const value = row[column]
  if (typeof value !== 'string') throw unreadable(column)
  return value
}

export function textOrNull(row: Row, column: string): string | null {
  return row[column] === null ? null : text(row, column)
}

const WHOLE_NUMBER = /^-?\d{1,16}$/

/** Reads a safe integer. Some drivers return a column of 64 bits as a `bigint` or as a string. */
export function integer(row: Row, column: string): number {
  const given = row[column]
  const value =
    typeof given === 'bigint' || (typeof given === 'string' && WHOLE_NUMBER.test(given)) ? Number(given) : given
  if (typeof value !== 'number' || !Number.isSafeInteger(value)) throw unreadable(column)
  return value
}

/** Reads a boolean, or 1 or 0 from a database without booleans. */
export function flag(row: Row, column: string): boolean {
  if (typeof row[column] === 'boolean') return row[column]
  const value = integer(row, column)
  if (value !== 0 && value !== 1) throw unreadable(column)
  return value === 1
}

/** Reads JSON. Some drivers have parsed it already. */
function json(row: Row, column: string): unknown {
  const value = row[column]
  if (typeof value !== 'string') return value
  try {
    return JSON.parse(value)
  } catch {
    // Replaces the error of the parser, because that error quotes the text.
    throw unreadable(column)
  }
}

/** A JSON object without `__proto__`, because copying that field by plain assignment would set a prototype. */
export function jsonObject(row: Row, column: string): Record<string, unknown> {
  const value = json(row, column)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw unreadable(column)
  return Object.fromEntries(Object.entries(value).filter(([name]) => name !== '__proto__'))
}

/** Reads an array of rows, which may be JSON text. */
export function rowsIn(row: Row, column: string): Row[] {
  const value = json(row, column)
  if (!Array.isArray(value) || !value.every(isRow)) throw unreadable(column)
  return value
}

/**
 * Checks a name that the host chose for SQL, such as that of a table.
 * @throws TypeError if the name has other characters than letters, digits and `_`, begins with a digit, is empty, or
 * has more than 63 characters
 */
export function requireName(name: string, what: string): void {
  if (!/^[A-Za-z_][A-Za-z0-9_]{0,62}$/.test(name))
    throw new TypeError(
      `A ${what} name has letters, digits and _ only. It begins with no digit and has at most 63 characters.`
    )
}
