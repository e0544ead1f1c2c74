/**
 * The servers under test, in a process of their own: one honest, one that answers an unknown name without hashing, one
 * that is 1 ms late with it, and an honest one with accounts in SQLite. The leaks are planted in the hasher, below
 * everything that is measured, so that they come through the very pipeline that the honest server has.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Fastify, { type FastifyInstance } from 'fastify'
import Database from 'libsql'
import authPlugin, {
  argon2Hasher,
  type AuthorityOptions,
  memoryUserStore,
  type PasswordHasher,
  sqliteState,
  sqliteUserStore,
  type User
} from '../../lib/index.ts'

export type Variant = 'honest' | 'no-hash' | 'late' | 'accounts'
export type Ports = Record<Variant, number>

export const USERS = 50
export const PASSWORD = 'the password of all of them'
/** All names have one length and one alphabet. */
export const nameOf = (kind: 'known' | 'unknown' | 'disabled', index: number): string =>
  `${{ known: 'ka', unknown: 'ub', disabled: 'dc' }[kind]}${String(index).padStart(6, '0')}@mail.example`

export async function serve(): Promise<Ports> {
  const honest = argon2Hasher()
  const passwordHash = await honest.hash(PASSWORD, {
    memoryCost: 19_456,
    timeCost: 2,
    parallelism: 1
  })
  const users: User[] = Array.from({ length: USERS }, (_, index) => index).flatMap((index) => [
    { id: `k${index}`, username: nameOf('known', index), passwordHash },
    { id: `d${index}`, username: nameOf('disabled', index), passwordHash, disabled: true }
  ])
  const listen = async (hasher: PasswordHasher, more: Partial<AuthorityOptions> = {}): Promise<number> => {
    const app = Fastify() as unknown as FastifyInstance
    // The log would tell of memory keys and of nothing that matters here; hashing has its production parameters.
    await app.register(authPlugin, {
      issuer: 'http://localhost',
      users: memoryUserStore(users),
      rateLimit: false,
      password: { hasher },
      ...more
    })
    await app.listen({ port: 0, host: '127.0.0.1' })
    return (app.server.address() as AddressInfo).port
  }
  const accounts = sqliteUserStore(database())
  for (const user of users) {
    const { id } = await accounts.create({ ...user, emailVerified: true })
    if (user.disabled) await accounts.update(id, { disabled: true })
  }
  return {
    accounts: await listen(honest, {
      users: accounts,
      state: sqliteState(database()),
      secret: 'a secret of at least 32 characters, used for nothing else',
      registration: { username: 'email', verifyEmail: true },
      sendMessage: async () => {}
    }),
    honest: await listen(honest),
    'no-hash': await listen(leaking(honest, 'no-hash')),
    late: await listen(leaking(honest, 'late'))
  }
}

function leaking(hasher: PasswordHasher, leak: 'no-hash' | 'late'): PasswordHasher {
  // The service itself hashes only the decoy: the users' hashes were made before.
  const decoys = new Set<string>()
  return {
    async hash(...args) {
      const encoded = await hasher.hash(...args)
      decoys.add(encoded)
      return encoded
    },
    async verify(encoded, ...args) {
      if (!decoys.has(encoded)) return await hasher.verify(encoded, ...args)
      if (leak === 'no-hash') return false
      const matches = await hasher.verify(encoded, ...args)
      const end = performance.now() + 1
      while (performance.now() < end);
      return matches
    }
  }
}

/** In a file: a write has to be durable before it is answered. */
function database(): Database.Database {
  const directory = mkdtempSync(join(tmpdir(), 'authority-timing-'))
  process.once('exit', () => {
    rmSync(directory, { recursive: true, force: true })
  })
  const db = new Database(join(directory, 'file.db'))
  db.exec('PRAGMA journal_mode = WAL')
  return db
}
