/**
 * Puts the users of an export into a user store, row by row: docs/guides/importing-users.md#a-large-export says how it
 * is used.
 */
import { UsernameTakenError, type User, type UserStore } from '../../lib/index.ts'

/** A store of the host's that takes a user with the id and the hash that they have. */
export interface ImportTarget extends Pick<UserStore, 'findById' | 'findByUsername'> {
  /** Atomic. @throws UsernameTakenError where another user has the name */
  insert(user: User): Promise<void>
}

export type Refusal = 'invalid' | 'unknown_hash' | 'duplicate_id' | 'duplicate_username'

export interface RefusedRow {
  /** Which row of the export it is, from 1. */
  row: number
  reason: Refusal
  /** The fault of the row. Nothing of a hash. */
  detail: string
  /** The row as it was, to be mended and imported again. */
  source: string
}

export interface ImportReport {
  rows: number
  imported: number
  thereAlready: number
  skipped: number
  refused: Record<Refusal, number>
}

export interface ImportOptions {
  /** A user of a row; `null` for a row that has none, such as a heading. An error refuses the row. */
  read(source: string): User | null
  /** Gets each row that is not imported. Awaited, so that none is lost. */
  onRefused(row: RefusedRow): void | Promise<void>
  /** After every batch: all rows up to this one are dealt with. A later run can begin behind it. */
  onProgress?: (row: number) => void | Promise<void>
  /** How many rows are held and written at once. Default: 50. */
  batchSize?: number
  /** Rows before this one are passed over. Default: 1. */
  fromRow?: number
}

/** The formats that the plugin verifies, by how they begin. */
const HASHES =
  /^(?:\$argon2(?:id|i|d)\$|argon2\$|\$2[aby]\$\d\d\$|bcrypt(?:_sha256)?\$|\$wp\$2y\$|\$scrypt\$|scrypt[:$]|\$fbscrypt\$|\$pbkdf2(?:-sha(?:256|512))?\$|pbkdf2[_:]sha|\$[PH]\$|A[A-Za-f][A-Za-z0-9+/]{48})/

/**
 * Every row ends as imported, as present already, as a row without a user, or at `onRefused`. It can run as often as
 * you like: a user whose id is in the store is left unchanged. If the store fails, it rejects; the next run goes on
 * where this one ended.
 */
export async function importUsers(
  rows: AsyncIterable<string> | Iterable<string>,
  target: ImportTarget,
  { read, onRefused, onProgress, batchSize = 50, fromRow = 1 }: ImportOptions
): Promise<ImportReport> {
  const report: ImportReport = {
    rows: 0,
    imported: 0,
    thereAlready: 0,
    skipped: 0,
    refused: { invalid: 0, unknown_hash: 0, duplicate_id: 0, duplicate_username: 0 }
  }
  let batch: Array<{ row: number; source: string }> = []

  async function refuse(row: number, source: string, reason: Refusal, detail: string): Promise<void> {
    report.refused[reason]++
    await onRefused({ row, reason, detail, source })
  }

  async function write(row: number, source: string, user: User): Promise<void> {
    if (((await target.findById(user.id)) ?? null) !== null) {
      report.thereAlready++
      return
    }
    try {
      await target.insert(user)
      report.imported++
    } catch (error) {
      if (!(error instanceof UsernameTakenError)) throw error
      await refuse(row, source, 'duplicate_username', `another user is called ${user.username}`)
    }
  }

  async function flush(): Promise<void> {
    const last = batch.at(-1)?.row
    const ids = new Set<string>()
    const writes: Array<Promise<void>> = []
    for (const { row, source } of batch) {
      const user = userOf(source, read)
      if (user === null) report.skipped++
      else if (typeof user === 'string') await refuse(row, source, 'invalid', user)
      else if (user.passwordHash !== null && !HASHES.test(user.passwordHash))
        await refuse(row, source, 'unknown_hash', 'no format that can be verified')
      else if (ids.has(user.id)) await refuse(row, source, 'duplicate_id', `the id ${user.id} is in the export twice`)
      else {
        ids.add(user.id)
        writes.push(write(row, source, user))
      }
    }
    batch = []
    const failed = (await Promise.allSettled(writes)).find((one) => one.status === 'rejected')
    if (failed !== undefined) throw failed.reason
    if (last !== undefined) await onProgress?.(last)
  }

  for await (const source of rows) {
    report.rows++
    if (report.rows < fromRow) continue
    batch.push({ row: report.rows, source })
    if (batch.length >= batchSize) await flush()
  }
  await flush()
  return report
}

/** The user with the name as the plugin looks for it; a sentence where the row has none that could sign in. */
function userOf(source: string, read: ImportOptions['read']): User | string | null {
  try {
    const user = read(source)
    if (user === null) return null
    if (typeof user.id !== 'string' || user.id === '') return 'it has no id'
    if (typeof user.username !== 'string') return 'it has no username'
    const username = user.username.trim().normalize('NFC').toLowerCase()
    if (!/^[^\s,;"<>]{1,254}$/.test(username))
      return 'its username is empty, too long, or has a character that no username has'
    if (user.passwordHash !== null && typeof user.passwordHash !== 'string') return 'its password hash is no text'
    return { ...user, username }
  } catch (error) {
    // The message of a parser may show what it read, and so a hash.
    return `it can't be read (${error instanceof Error ? error.name : 'an error'})`
  }
}
