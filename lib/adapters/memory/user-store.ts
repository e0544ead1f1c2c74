import { randomBytes } from 'node:crypto'
import { IdentityTakenError, UsernameTakenError } from '../../errors.ts'
import type { Identity, LinkedIdentity, NewUser, User, UserPatch, UserStore } from '../../ports/user-store.ts'
import { MOST_WITH_ONE_EMAIL } from '../../protocol/bounds.ts'

/** Fields of a patch that `update` ignores. */
const NOT_PATCHED = new Set(['id', 'passwordHash', 'passwordChangedAt', 'createdAt', 'version', '__proto__'])

/** Fields with a time. SQL stores keep a `Date` here as milliseconds. */
const TIMES = new Set(['createdAt', 'passwordChangedAt', 'emailProvedAt'])

/**
 * Copies the fields as a database would keep them: as JSON. A `Date` becomes milliseconds in a field of `TIMES`, and
 * text in any other.
 */
function asJson<Fields extends Readonly<Record<string, unknown>>>(fields: Fields): Fields {
  const plain = Object.entries(fields).map(([name, value]) => [
    name,
    TIMES.has(name) && value instanceof Date ? value.getTime() : value
  ])
  return JSON.parse(JSON.stringify(Object.fromEntries(plain))) as Fields
}

/** Lowercases only the ASCII letters, as SQLite does. */
const folded = (email: string | undefined): string | undefined =>
  email?.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase())

/**
 * Users in this process's memory. Objects are copied as JSON on the way in, and copied on the way out. Throws
 * `UsernameTakenError` if two of `initial` have one username, and `TypeError` if two have one id.
 */
export function memoryUserStore(initial: readonly User[] = []): Required<UserStore> {
  const byId = new Map<string, User>()
  const idByUsername = new Map<string, string>()
  const identities = memoryIdentities()

  const add = (user: User): void => {
    if (idByUsername.has(user.username)) throw new UsernameTakenError()
    if (byId.has(user.id)) throw new TypeError('Two users have one id.')
    byId.set(user.id, user)
    idByUsername.set(user.username, user.id)
  }
  const copyOf = (id: string | undefined): User | null => {
    const user = id === undefined ? undefined : byId.get(id)
    return user === undefined ? null : copied(user)
  }
  const made = (user: NewUser): User => {
    // Sets `id`, `createdAt` and `version` last, so that the caller cannot choose them.
    const stored: User = {
      ...asJson(user),
      id: randomBytes(16).toString('base64url'),
      createdAt: Date.now(),
      version: 1
    }
    add(stored)
    return stored
  }
  for (const user of initial) add({ ...asJson(user), version: 1 })

  // Each method is atomic, because none awaits anything.
  return {
    async findById(id) {
      return copyOf(id)
    },
    async findByUsername(username) {
      return copyOf(idByUsername.get(username))
    },
    async findByEmail(email) {
      const isTheirs = (user: User): boolean => folded(user.email) === folded(email)
      const rank = ({ emailVerified }: User): number => (emailVerified === true ? 0 : 1)
      const found = [...byId.values()].filter(isTheirs).toSorted((a, b) => rank(a) - rank(b))
      return found.slice(0, MOST_WITH_ONE_EMAIL).map(copied)
    },
    async list({ limit, after, prefix = '', email, connection }) {
      const isAfter = (user: User): boolean => after === undefined || newestFirst(after, user) < 0
      const fits = (user: User): boolean =>
        isAfter(user) &&
        user.username.startsWith(prefix) &&
        (email === undefined || folded(user.email) === folded(email)) &&
        (connection === undefined || identities.list(user.id).some((link) => link.connection === connection))
      return [...byId.values()].filter(fits).toSorted(newestFirst).slice(0, limit).map(copied)
    },
    async create(user: NewUser) {
      return structuredClone(made(user))
    },
    async setPasswordHash(id, next, expected, changedAt) {
      const user = byId.get(id)
      if (user === undefined) return false
      if (expected !== undefined && user.passwordHash !== expected) return false
      user.passwordHash = next
      if (changedAt !== undefined) user.passwordChangedAt = changedAt
      return true
    },
    async setEmailVerified(id, address, provedAt) {
      const user = byId.get(id)
      if (user !== undefined && (address === undefined || address === (user.email ?? user.username)))
        Object.assign(user, { emailVerified: true }, provedAt === undefined ? {} : { emailProvedAt: provedAt })
    },
    async update(id, patch, expectedVersion) {
      const user = byId.get(id)
      if (user === undefined || (expectedVersion !== undefined && user.version !== expectedVersion)) return null
      const next = patched(user, patch)
      if (next.username !== user.username && idByUsername.has(next.username)) throw new UsernameTakenError()
      idByUsername.delete(user.username)
      idByUsername.set(next.username, id)
      byId.set(id, next)
      return copied(next)
    },
    async setDisabled(id, disabled) {
      const user = byId.get(id)
      if (user === undefined) return false
      byId.set(id, { ...user, disabled, version: Number(user.version) + 1 })
      return true
    },
    async remove(id) {
      const user = byId.get(id)
      if (user === undefined) return
      byId.delete(id)
      idByUsername.delete(user.username)
      identities.removeAllOf(id)
    },
    async findByIdentity(identity) {
      return copyOf(identities.ownerOf(identity))
    },
    async createWithIdentity(user, link) {
      if (identities.ownerOf(link) !== undefined) throw new IdentityTakenError()
      const stored = made(user)
      identities.add(stored.id, link)
      return structuredClone(stored)
    },
    async linkIdentity(userId, link) {
      return byId.has(userId) ? identities.link(userId, link) : 'unknown_user'
    },
    async unlinkIdentity(userId, identity, otherFactors) {
      return identities.unlink(byId.get(userId), identity, otherFactors)
    },
    async listIdentities(userId) {
      return identities.list(userId)
    },
    async useIdentity(identity, at, email) {
      identities.use(identity, at, email)
    }
  }
}

type Place = Pick<User, 'createdAt' | 'id'>

/** The order of `list`: the newest user first, and users of the same time by descending id. */
function newestFirst(a: Place, b: Place): number {
  const later = Number(b.createdAt ?? 0) - Number(a.createdAt ?? 0)
  return later !== 0 ? later : a.id < b.id ? 1 : a.id > b.id ? -1 : 0
}

/** Makes a new object, so that a patch that can't be copied leaves the user unchanged. */
function patched(user: User, patch: UserPatch): User {
  const given = Object.entries(asJson(patch)).filter(([name]) => !NOT_PATCHED.has(name))
  const removed = new Set(given.filter(([, value]) => value === null).map(([name]) => name))
  if (removed.has('username')) throw new TypeError('A user has a username.')
  const kept = Object.entries({ ...user, ...Object.fromEntries(given) }).filter(([name]) => !removed.has(name))
  return { ...Object.fromEntries(kept), version: Number(user.version) + 1 } as User
}

/** Copies a flat user without `structuredClone`, which would take a good part of the time of a token refresh. */
function copied(user: User): User {
  for (const name in user) {
    const value = user[name]
    if (typeof value === 'object' && value !== null) return structuredClone(user)
  }
  return { ...user }
}

type Outcome<Name extends 'linkIdentity' | 'unlinkIdentity'> = Awaited<ReturnType<Required<UserStore>[Name]>>

/** The linked identities of all users. All methods are synchronous, so each call is atomic. */
interface MemoryIdentities {
  ownerOf(identity: Identity): string | undefined
  /** @throws IdentityTakenError */
  add(userId: string, link: LinkedIdentity): void
  link(userId: string, link: LinkedIdentity): Outcome<'linkIdentity'>
  unlink(user: User | undefined, identity: Identity, otherFactors: boolean): Outcome<'unlinkIdentity'>
  list(userId: string): LinkedIdentity[]
  use(identity: Identity, at: number, email?: string): void
  removeAllOf(userId: string): void
}

const keyOf = ({ issuer, subject }: Identity): string => JSON.stringify([issuer, subject])

function memoryIdentities(): MemoryIdentities {
  const owners = new Map<string, string>()
  const links = new Map<string, Map<string, LinkedIdentity>>()

  const add = (userId: string, link: LinkedIdentity): void => {
    const key = keyOf(link)
    if (owners.has(key)) throw new IdentityTakenError()
    owners.set(key, userId)
    links.set(userId, (links.get(userId) ?? new Map<string, LinkedIdentity>()).set(key, { ...link }))
  }
  const ofUser = (userId: string): LinkedIdentity[] => [...(links.get(userId)?.values() ?? [])]

  return {
    ownerOf: (identity) => owners.get(keyOf(identity)),
    add,
    link(userId, link) {
      const owner = owners.get(keyOf(link))
      if (owner !== undefined) return owner === userId ? 'already_linked' : 'taken'
      add(userId, link)
      return 'linked'
    },
    unlink(user, identity, otherFactors) {
      const key = keyOf(identity)
      if (user === undefined || owners.get(key) !== user.id) return 'unknown'
      if (user.passwordHash === null && !otherFactors && ofUser(user.id).length === 1) return 'last_sign_in_method'
      owners.delete(key)
      links.get(user.id)?.delete(key)
      return 'unlinked'
    },
    list: (userId) =>
      ofUser(userId)
        .map((link) => ({ ...link }))
        .toSorted((a, b) => a.linkedAt - b.linkedAt),
    use(identity, at, email) {
      const key = keyOf(identity)
      const link = links.get(owners.get(key) ?? '')?.get(key)
      if (link !== undefined) Object.assign(link, { lastUsedAt: at }, email === undefined ? {} : { email })
    },
    removeAllOf(userId) {
      for (const key of links.get(userId)?.keys() ?? []) owners.delete(key)
      links.delete(userId)
    }
  }
}
