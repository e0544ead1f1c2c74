import type { UserFactors } from '../ports/factor-store.ts'
import type { ConnectionWay } from '../ports/upstream.ts'
import type { LinkedIdentity, User } from '../ports/user-store.ts'
import { isActive } from '../sessions/active-user.ts'
import type { AccountsDeps } from './deps.ts'
import type { WayIn } from './slots.ts'
import { addressOf } from './outbox.ts'
import { emailOf, normalizeUsername } from './username.ts'

interface Ways {
  /** The connections by id. */
  connections: ReadonlyMap<string, ConnectionWay>
}

/** The domain of a normalized address: the part after its last `@`; `''` if there is none. */
export function domainOf(address: string): string {
  const at = address.lastIndexOf('@')
  return at === -1 ? '' : address.slice(at + 1)
}

/**
 * The id of the connection that manages an account or an address: one with `enforce`, whose `domains` contain the
 * domain. Only this connection can sign in to the account, create it or be linked to it. An account belongs to the
 * domain of its username, or else to that of its email. `null`: no connection manages it.
 */
export function ownerConnection(of: string | Pick<User, 'username' | 'email'>, { connections }: Ways): string | null {
  const enforcing = [...connections].filter(([, { enforce }]) => enforce)
  if (enforcing.length === 0) return null
  const addresses = typeof of === 'string' ? [of] : [of.username, of.email ?? '']
  for (const address of addresses) {
    const domain = domainOf(normalizeUsername(address) ?? address)
    const owner = domain === '' ? undefined : enforcing.find(([, { domains }]) => domains.includes(domain))
    if (owner !== undefined) return owner[0]
  }
  return null
}

/**
 * True if a connection other than `connection` manages the account or the address. `connection: null`: the sign-in used
 * no connection.
 */
export function isManagedElsewhere(
  of: string | Pick<User, 'username' | 'email'>,
  connection: string | null,
  ways: Ways
): boolean {
  const owner = ownerConnection(of, ways)
  return owner !== null && owner !== connection
}

/** All second factors of the user. `null`: the feature of second factors is off. */
export async function factorsOf(
  { id }: Pick<User, 'id'>,
  { slots }: Pick<AccountsDeps, 'slots'>
): Promise<UserFactors | null> {
  for (const { factors } of slots) if (factors !== undefined) return await factors(id)
  return null
}

/** The ways in which a user can sign in now. */
export interface WaysIn {
  password: boolean
  /** The links that can sign this user in now: `opens` holds, and the connection is enabled. */
  links: LinkedIdentity[]
  /** The ways that features offer. */
  others: WayIn[]
}

type WaysDeps = Pick<AccountsDeps, 'users' | 'slots'> & Ways

export async function waysIn(user: User, deps: WaysDeps): Promise<WaysIn> {
  const { connections, slots, users } = deps
  const links: LinkedIdentity[] = []
  for (const link of (await users.listIdentities?.(user.id)) ?? [])
    if (opens(link, user, deps) && (await connections.get(link.connection)?.enabled()) === true) links.push(link)
  return {
    password: user.passwordHash !== null && ownerConnection(user, deps) === null,
    links,
    others: (await Promise.all(slots.map(async ({ ways }) => (await ways?.(user)) ?? []))).flat()
  }
}

/**
 * True if the link can open the account: its connection exists and accepts the issuer, and no other connection manages
 * the account. Does not ask whether the connection is enabled.
 */
export function opens({ connection, issuer }: LinkedIdentity, user: User, ways: Ways): boolean {
  return ways.connections.get(connection)?.acceptsIssuer(issuer) === true && !isManagedElsewhere(user, connection, ways)
}

/** True if there is a way in without a link. */
export const opensWithoutLink = ({ password, others }: WaysIn): boolean => password || others.length > 0

/** True if the user may sign in with a code that is sent to their stored address. */
export function getsCodes(user: User, ways: Ways): boolean {
  const address = normalizeUsername(addressOf(user))
  return isActive(user) && ownerConnection(user, ways) === null && address !== null && emailOf(address) !== null
}
