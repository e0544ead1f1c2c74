/** The values of a row by the names of their columns. */
export type Columns = Readonly<Record<string, unknown>>

/** Maximum length of a row in characters. Without a limit, an unclosed quote would take in the rest of the file. */
export const LONGEST_ROW = 1_000_000
export const TOO_LONG = 'is longer than a million characters'

/** A row that can't be imported. The message is for the report and holds no value of the row. */
export class BadRow extends Error {}

const IDS = ['id', 'user_id', 'localId', 'pk', 'ID', 'Id']

/** Finds the id of a row that can't be imported, so that the report can name the row. `undefined`: the row has none. */
export function idIn(row: Columns): string | undefined {
  const id = IDS.map((name) => row[name]).find((value) => !isNone(value))
  return typeof id === 'string' || typeof id === 'number' ? String(id) : undefined
}

const isNone = (value: unknown): boolean => value === undefined || value === null || value === ''

/**
 * Returns the value of the first of these columns that is not empty. Integers become text, because many ids are
 * integers. @throws BadRow for a value of another type
 */
export function textIn(row: Columns, ...names: string[]): string | undefined {
  const name = names.find((one) => !isNone(row[one]))
  if (name === undefined) return undefined
  const value = row[name]
  if (typeof value !== 'string' && !Number.isSafeInteger(value)) throw new BadRow(`${name} is no text`)
  return String(value)
}

const FLAGS: ReadonlyMap<unknown, boolean> = new Map<unknown, boolean>([
  [1, true],
  [0, false],
  ...['true', 't', '1', 'yes'].map((word) => [word, true] as const),
  ...['false', 'f', '0', 'no'].map((word) => [word, false] as const)
])

/**
 * Reads a flag in the spellings of JSON, CSV and databases. An unknown word is a `BadRow`: read as false, it could
 * enable a disabled user.
 */
export function flag(row: Columns, name: string): boolean | undefined {
  const value = row[name]
  if (isNone(value)) return undefined
  const is = typeof value === 'boolean' ? value : FLAGS.get(typeof value === 'string' ? value.toLowerCase() : value)
  if (is === undefined) throw new BadRow(`${name} is neither true nor false`)
  return is
}

const LOCAL = /^\d{4}-\d\d-\d\d[ T]\d\d:\d\d(?::\d\d(?:\.\d+)?)?$/

/** True if the column has no time. MySQL writes an unknown time with zeros. */
const isNoTime = (value: unknown): boolean =>
  isNone(value) || (typeof value === 'string' && value.startsWith('0000-00-00'))

/** Returns milliseconds since the epoch. Reads a time without a zone as UTC. `undefined`: the value is no time. */
function timeOf(value: unknown): number | undefined {
  if (typeof value !== 'string' && typeof value !== 'number') return undefined
  const at =
    typeof value === 'number' || /^-?\d{9,}$/.test(value)
      ? Number(value)
      : new Date(LOCAL.test(value) ? `${value.replace(' ', 'T')}Z` : value).getTime()
  return Number.isSafeInteger(at) ? at : undefined
}

/**
 * Returns the time in a column in milliseconds since the epoch. `undefined`: the column has no time.
 * @throws BadRow for a value that is no time since 1970
 */
export function knownTime(row: Columns, name: string): number | undefined {
  const value = row[name]
  if (isNoTime(value)) return undefined
  const at = timeOf(isObject(value) ? value['$date'] : value)
  if (at === undefined || at < 0) throw new BadRow(`${name} is no time since 1970`)
  return at
}

/**
 * True if the column has the end of a ban and this time has not passed. .NET lifts a ban by setting its end to a time
 * before 1970. A time that can't be parsed, such as `infinity`, is a ban without an end.
 */
export const isBarred = (row: Columns, name: string, now: number): boolean =>
  !isNoTime(row[name]) && (timeOf(row[name]) ?? Infinity) > now

/** Returns an object or a list of the row. Parses a text, because CSV writes both as JSON. */
function json(row: Columns, name: string): unknown {
  const value = row[name]
  if (typeof value !== 'string') return value
  try {
    return value === '' ? undefined : JSON.parse(value)
  } catch {
    throw new BadRow(`${name} is no JSON`)
  }
}

export const isObject = (value: unknown): value is Columns =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export function object(row: Columns, name: string): Columns | undefined {
  const value = json(row, name) ?? undefined
  if (value !== undefined && !isObject(value)) throw new BadRow(`${name} is no object`)
  return value
}

export function list(row: Columns, name: string): Columns[] {
  const value = json(row, name) ?? []
  if (!Array.isArray(value) || !value.every(isObject)) throw new BadRow(`${name} is no list of objects`)
  return value
}
