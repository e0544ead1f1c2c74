import { misfit } from '../errors.ts'
import type { LinkedIdentity, User } from '../ports/user-store.ts'
import { DEADLINE_STEPS, OutageError } from '../ports/outage.ts'
import type { Clock } from '../ports/clock.ts'

const isText = (value: unknown): boolean => typeof value === 'string' && value !== ''
/**
 * Accepts booleans, 0 and 1, because some databases have no booleans, and a `Date`, because some rows contain the time
 * at which the flag was set. No other value fits: the string `false` would count as true.
 */
const isFlag = (value: unknown): boolean =>
  typeof value === 'boolean' || value instanceof Date || [0, 1, 0n, 1n].includes(value as number)
export const isNone = (value: unknown): value is undefined | null => value === undefined || value === null
const isVersion = (value: unknown): boolean =>
  (typeof value === 'number' && Number.isFinite(value)) || typeof value === 'string'
const isTime = (value: unknown): boolean =>
  value instanceof Date ? !Number.isNaN(value.getTime()) : Number.isSafeInteger(value)
const FLAGS = ['emailVerified', 'disabled'] as const

interface Field<Row = User> {
  name: keyof Row & string
  fits(value: unknown): boolean
  takes: string
}

/**
 * The fields that are checked in every row. `pageFrom` also checks `createdAt`. An optional field may be `null`, which
 * SQL has for a value that was not given.
 */
const FIELDS: readonly Field[] = [
  { name: 'id', fits: isText, takes: 'a string that is not empty: String(id) makes one of a number' },
  { name: 'username', fits: isText, takes: 'a string that is not empty' },
  {
    name: 'passwordHash',
    // Rejects `undefined`: a store that names the column differently returns it, and nobody could sign in.
    fits: (value) => typeof value === 'string' || value === null,
    takes: 'a string, or null for a user without a password: String(hash) makes one of a Buffer'
  },
  { name: 'email', fits: (value) => typeof value === 'string' || isNone(value), takes: 'a string, null or left out' },
  {
    name: 'version',
    fits: (value) => isVersion(value) || isNone(value),
    takes: 'a number, a string, null or left out: String(version) makes one of a bigint or a Date'
  },
  ...(['passwordChangedAt', 'emailProvedAt'] as const).map((name) => ({
    name,
    fits: (value: unknown) => isTime(value) || isNone(value),
    takes: 'milliseconds since the epoch, a Date, null or left out: Number(time) makes them of a bigint or a string'
  })),
  ...FLAGS.map((name) => ({
    name,
    fits: (value: unknown) => isFlag(value) || isNone(value),
    takes: 'true, false, 1, 0, a Date, null or left out'
  }))
]

/**
 * Checks the user returned by a store, and converts its flags to booleans. `null` and `undefined` are misfits.
 * @throws MisfitError
 */
export function userFrom(source: string, answer: unknown): User {
  if (typeof answer !== 'object' || answer === null || Array.isArray(answer))
    throw misfit('store', { source, got: answer, takes: 'a user' })
  const row = answer as User
  for (const { name, fits, takes } of FIELDS)
    if (!fits(row[name]))
      throw misfit('store', { source, field: name, got: row[name], instead: otherSpelling(row, name), takes })
  if (FLAGS.every((name) => isNone(row[name]) || typeof row[name] === 'boolean')) return row
  return { ...row, ...ownFields(row), ...Object.fromEntries(FLAGS.map((name) => [name, Boolean(row[name])])) }
}

/**
 * Copies the fields that the service reads by name, because an object of a class may have them as getters, which a
 * plain copy loses.
 */
function ownFields(row: User): User {
  const names = [...FIELDS.map(({ name }) => name), 'createdAt']
  return Object.fromEntries(
    names.filter((name) => row[name] !== undefined).map((name) => [name, row[name]])
  ) as unknown as User
}

/** A key of the row that differs from `name` only in case and underscores, such as `password_hash`. `null`: none. */
function otherSpelling(row: object, name: string): string | null {
  const plain = (text: string): string => text.toLowerCase().replaceAll('_', '')
  return Object.keys(row).find((key) => key !== name && plain(key) === plain(name)) ?? null
}

/** Checks a user returned by a store. Returns `null` for `null` and `undefined`. @throws MisfitError */
export function userOrNone(source: string, answer: unknown): User | null {
  return isNone(answer) ? null : userFrom(source, answer)
}

/**
 * Checks the users returned by a store. A store that finds no user may return `undefined` or `null`.
 * @throws MisfitError
 */
export function usersFrom(source: string, answer: unknown): User[] {
  if (isNone(answer)) return []
  if (!Array.isArray(answer)) throw misfit('store', { source, got: answer, takes: 'an array of users' })
  return answer.map((row: unknown) => userFrom(source, row))
}

/**
 * Checks a page of users, and drops the users above `limit`. Only a page needs `createdAt`, so no other call refuses a
 * row whose column of this name has another meaning.
 * @throws MisfitError
 */
export function pageFrom(source: string, answer: unknown, limit: number): User[] {
  const users = usersFrom(source, answer)
  for (const { createdAt } of users)
    if (!isTime(createdAt) && !isNone(createdAt))
      throw misfit('store', { source, field: 'createdAt', got: createdAt, takes: `${TIME}, null or left out` })
  return users.slice(0, limit)
}

const TEXT = 'a string that is not empty'
const TIME = 'milliseconds since the epoch, or a Date: Number(time) makes them of a bigint or a string'
const timeOf = (value: number | Date): number => (typeof value === 'number' ? value : value.getTime())
const OPTIONAL_TEXT = {
  fits: (value: unknown) => typeof value === 'string' || isNone(value),
  takes: 'a string, null or left out'
}

const LINK_FIELDS: ReadonlyArray<Field<LinkedIdentity>> = [
  { name: 'issuer', fits: isText, takes: TEXT },
  { name: 'subject', fits: isText, takes: TEXT },
  { name: 'connection', fits: isText, takes: TEXT },
  { name: 'linkedAt', fits: isTime, takes: TIME },
  { name: 'lastUsedAt', fits: isTime, takes: TIME },
  { name: 'email', ...OPTIONAL_TEXT },
  { name: 'sealed', ...OPTIONAL_TEXT },
  { name: 'provisional', fits: (value) => isFlag(value) || isNone(value), takes: 'true, false, 1, 0, null or left out' }
]

/**
 * Checks the links returned by a store, keeps only the port's fields, and converts times to milliseconds. A store that
 * finds no link may return `undefined` or `null`.
 * @throws MisfitError
 */
export function linksFrom(source: string, answer: unknown): LinkedIdentity[] {
  if (isNone(answer)) return []
  if (!Array.isArray(answer)) throw misfit('store', { source, got: answer, takes: 'an array of links' })
  return answer.map((row: unknown) => linkFrom(source, row))
}

function linkFrom(source: string, answer: unknown): LinkedIdentity {
  if (typeof answer !== 'object' || answer === null || Array.isArray(answer))
    throw misfit('store', { source, got: answer, takes: 'links' })
  const row = answer as LinkedIdentity
  for (const { name, fits, takes } of LINK_FIELDS)
    if (!fits(row[name])) throw misfit('store', { source, field: name, got: row[name], takes })
  return {
    issuer: row.issuer,
    subject: row.subject,
    connection: row.connection,
    ...(isNone(row.email) ? {} : { email: row.email }),
    linkedAt: timeOf(row.linkedAt),
    lastUsedAt: timeOf(row.lastUsedAt),
    ...(isNone(row.sealed) ? {} : { sealed: row.sealed }),
    ...(row.provisional ? { provisional: true } : {})
  }
}

/**
 * Checks that the answer is one of the port's outcomes. `field`: the name of the field that `answer` comes from, for
 * the error.
 * @throws MisfitError
 */
export function outcomeFrom<Outcome extends string>(
  source: string,
  answer: unknown,
  outcomes: readonly Outcome[],
  field?: string
): Outcome {
  const outcome = outcomes.find((one) => one === answer)
  if (outcome === undefined)
    throw misfit('store', {
      source,
      ...(field === undefined ? {} : { field }),
      got: answer,
      takes: `one of ${outcomes.join(', ')}`
    })
  return outcome
}

/**
 * How long a store or a hook of the host may take for one answer. Does not apply to the `password` and `admin` hooks.
 */
export const HOST_BUDGET_MS = 5000

/**
 * Settles with the result of `call`, or rejects with an `OutageError` after `budgetMs`. A later result is dropped. A
 * synchronous result sets no timer.
 */
export function within<Answer>(budgetMs: number, clock: Clock, call: () => Answer | Promise<Answer>): Promise<Answer> {
  return new Promise<Answer>((resolve, reject) => {
    const pending = call()
    if (!isPromise(pending)) {
      resolve(pending)
      return
    }
    let cancel = (): void => {}
    // Rejects in `setImmediate`, so that a reply that has arrived by the last timer still wins.
    const step = (left: number): void => {
      cancel = clock.after(budgetMs / DEADLINE_STEPS, () => {
        if (left > 1) step(left - 1)
        else
          setImmediate(() => {
            reject(new OutageError(`no answer within ${budgetMs} ms`))
          })
      })
    }
    step(DEADLINE_STEPS)
    // A query builder is not a promise: its `then` may throw, or resolve to another thenable.
    Promise.resolve(pending).then(
      (answer) => {
        cancel()
        resolve(answer)
      },
      (error: Error) => {
        cancel()
        reject(error)
      }
    )
  })
}

export function isPromise<T>(value: T | Promise<T>): value is Promise<T> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function'
}
