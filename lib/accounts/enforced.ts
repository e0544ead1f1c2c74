import type { User } from '../ports/user-store.ts'
import { normalizeUsername } from './username.ts'

/** What follows the last `@` of a normalised address; `''` where there is none. */
export function domainOf(address: string): string {
  const at = address.lastIndexOf('@')
  return at === -1 ? '' : address.slice(at + 1)
}

/**
 * Whether the account has an address in a domain whose people sign in through a connection alone: the one that it signs
 * in with, or the one that messages go to.
 */
export function isEnforced(
  { username, email }: Pick<User, 'username' | 'email'>,
  enforcedDomains: ReadonlySet<string>
): boolean {
  if (enforcedDomains.size === 0) return false
  return [username, email ?? ''].some((address) => enforcedDomains.has(domainOf(normalizeUsername(address) ?? address)))
}
