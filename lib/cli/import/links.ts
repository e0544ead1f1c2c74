import { makesProvisional } from '../../accounts/address-proof.ts'
import { linkOf } from '../../accounts/identities.ts'
import type { LinkedIdentity, User } from '../../ports/user-store.ts'
import { isStorable } from '../../protocol/bounds.ts'
import { BadRow } from './columns.ts'
import type { OwnLink, SourceLink } from './formats.ts'

/**
 * The issuers of providers whose subjects stay the same for another client of one owner. Microsoft is none of them: its
 * `sub` is another for each client, and few exports have the `oid`.
 */
const ISSUERS: ReadonlyMap<string, string> = new Map([
  ['google', 'https://accounts.google.com'],
  ['apple', 'https://appleid.apple.com'],
  ['github', 'https://github.com/login/oauth'],
  ['discord', 'https://discord.com'],
  ['facebook', 'https://www.facebook.com']
])
/** The source's own accounts, which are no links. */
const OF_THE_SOURCE = ['auth0', 'email', 'password', 'phone']

/** The links that come along, and the providers of those that do not. */
export function linksOf(
  user: User,
  given: ReadonlyArray<SourceLink | OwnLink>,
  now: number
): { links: LinkedIdentity[]; leftOut: string[] } {
  const [links, leftOut]: [LinkedIdentity[], string[]] = [[], []]
  for (const one of given) {
    // Firebase writes `google.com`, and Auth0 `google-oauth2`.
    const connection = 'provider' in one ? one.provider.replace(/(?:\.com|-oauth2)$/, '') : one.connection
    const issuer = 'provider' in one ? ISSUERS.get(connection) : one.issuer
    const { subject } = one
    const email = 'email' in one ? one.email : undefined
    if (![connection, issuer ?? '', subject, email ?? ''].every(isStorable)) throw new BadRow('has a link with a NUL')
    // A store takes an identity once, so the first of two equal links counts.
    if (links.some((link) => link.issuer === issuer && link.subject === subject)) continue
    if (issuer !== undefined)
      links.push(linkOf({ issuer, subject, email }, { connection, now, isProvisional: makesProvisional(user) }))
    else if (!OF_THE_SOURCE.includes(connection)) leftOut.push(connection)
  }
  return { links, leftOut }
}
