import { IdentityTakenError } from '../../errors.ts'
import type { Identity, LinkedIdentity, User, UserStore } from '../../ports/user-store.ts'

type Outcome<Name extends 'linkIdentity' | 'unlinkIdentity'> = Awaited<ReturnType<Required<UserStore>[Name]>>

/** The links of all users. Nothing in here waits, so each call is one step. */
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

export function memoryIdentities(): MemoryIdentities {
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
