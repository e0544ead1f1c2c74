import { scrypt, type ScryptOptions } from 'node:crypto'
import { promisify } from 'node:util'
import { normalizeUsername } from '../accounts/username.ts'
import { memoryUserStore as storeOf } from '../adapters/memory/user-store.ts'
import { systemRandom } from '../adapters/node/system.ts'
import { userFrom } from '../boundary/answers.ts'
import { misfit } from '../errors.ts'
import type { User, UserStore } from '../ports/user-store.ts'

/** An initial user of a memory user store. */
export interface SeededUser {
  id: string
  /** The username in any spelling. The store normalizes it. */
  username: string
  /**
   * The password, instead of `passwordHash`. The store hashes it at its first call. For tests, demos and development.
   */
  password?: string
  passwordHash?: string | null
  [claim: string]: unknown
}

const hashOf = promisify(
  scrypt as (
    password: string,
    salt: Buffer,
    bytes: number,
    options: ScryptOptions,
    done: (error: Error | null, key: Buffer) => void
  ) => void
)
/**
 * The parameters of the scrypt hashes. This package verifies scrypt hashes itself, so scrypt hashes work with every
 * `password.hasher`. The first sign-in replaces the hash.
 */
const COST = { ln: 14, r: 8, p: 1 }

const memoryStores = new WeakSet<object>()

/** True for a store that `memoryUserStore` made. No other process sees its users. */
export const isMemoryUserStore = (store: object): boolean => memoryStores.has(store)

/**
 * Keeps users in the memory of this process until it ends: for tests, demos and development. Copies objects on the way
 * in and on the way out, so that a user changes only through the store. Checks each user of `initial` like a row of any
 * store, normalizes the username, and hashes a `password` when the store is first used. Throws `MisfitError` for a row
 * with an invalid field, `UsernameTakenError` if two users have the same username, and `TypeError` if two have the same
 * id.
 */
export function memoryUserStore(initial: readonly (User | SeededUser)[] = []): Required<UserStore> {
  const passwords = new Map<string, string>()
  const store = storeOf(
    initial.map((given, index) => {
      const { row, password } = rowOf(given, `memoryUserStore[${index}]`)
      if (password !== undefined) passwords.set(row.id, password)
      return row
    })
  )
  memoryStores.add(store)
  if (passwords.size === 0) return store
  const ready = lazily(async () => {
    await Promise.all(
      [...passwords].map(async ([id, password]) => await store.setPasswordHash(id, await phcOf(password)))
    )
  })
  const seeded = Object.fromEntries(
    Object.entries(store).map(([name, method]) => [
      name,
      async (...given: never[]) => {
        await ready()
        return await (method as (...given: never[]) => Promise<unknown>)(...given)
      }
    ])
  ) as unknown as Required<UserStore>
  memoryStores.add(seeded)
  return seeded
}

function rowOf(given: User | SeededUser, source: string): { row: User; password: string | undefined } {
  const { password, ...rest } = given as SeededUser
  const takesPassword = 'a string, which stands for passwordHash'
  if ('password' in given && (typeof password !== 'string' || password === ''))
    throw misfit('store', { source, field: 'password', got: password, takes: takesPassword })
  const row = userFrom(source, password === undefined ? rest : { passwordHash: null, ...rest })
  const username = normalizeUsername(row.username)
  if (username === null)
    throw misfit('store', { source, field: 'username', got: row.username, takes: 'a name without spaces and controls' })
  return { row: { ...row, username }, password }
}

async function phcOf(password: string): Promise<string> {
  const salt = Buffer.from(systemRandom().secret(), 'base64url')
  const key = await hashOf(password, salt, 32, { N: 2 ** COST.ln, r: COST.r, p: COST.p })
  const text = (bytes: Buffer): string => bytes.toString('base64').replaceAll('=', '')
  return `$scrypt$ln=${COST.ln},r=${COST.r},p=${COST.p}$${text(salt)}$${text(key)}`
}

/**
 * Runs `load` at the first call, and gives all later calls the same promise. Forgets a failed load, so that the next
 * call tries again.
 */
export function lazily<Part>(load: () => Promise<Part>): () => Promise<Part> {
  let part: Promise<Part> | null = null
  return async () =>
    await (part ??= load().catch((error: unknown) => {
      part = null
      throw error
    }))
}
