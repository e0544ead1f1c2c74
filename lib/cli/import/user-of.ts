import type { FirebaseParameters } from '../../accounts/imported-hash-formats.ts'
import { holdsUnstorable } from '../../accounts/register.ts'
import { parseStoredHash } from '../../accounts/stored-hash.ts'
import { normalizeUsername } from '../../accounts/username.ts'
import type { User, LinkedIdentity, UserToImport } from '../../ports/user-store.ts'
import { isStorable } from '../../protocol/bounds.ts'
import { BadRow, type Columns } from './columns.ts'
import type { Format, SourceUser, OwnLink, SourceLink } from './formats.ts'
import { makesProvisional } from '../../accounts/address-proof.ts'
import { linkOf } from '../../accounts/identities.ts'

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
function linksOf(
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

/** The longest id that the administration's routes take. */
const LONGEST_ID = 255

export interface Planned extends UserToImport {
  /** The format of the hash; `null`: there is none that can be verified. */
  hash: string | null
  /** The reason why the source's hash is left out. */
  unusable: string | null
  /** Providers whose links are left out. */
  leftOut: readonly string[]
}

export interface ReadingDeps {
  format: Format
  now: number
  firebase: FirebaseParameters | null
}

/**
 * The user of a row. A hash that can't be verified, or that costs too much, is left out and never run, so that the user
 * can set a password by a link.
 * @throws BadRow for a row that can't be imported
 */
export function userOf(columns: Columns, { format, now, firebase }: ReadingDeps): Planned {
  const source = format.read(columns, now)
  const { id, username: spelling, email, emailVerified, disabled, createdAt, fields } = source
  if (id === undefined) throw new BadRow('has no id')
  if (id.length > LONGEST_ID) throw new BadRow(`has an id of more than ${LONGEST_ID} characters`)
  if (spelling === undefined) throw new BadRow('has neither a username nor an email address')
  const username = normalizeUsername(spelling)
  if (username === null) throw new BadRow('has a username that is too long, or with a character that no username has')
  if (email !== undefined && (!email.includes('@') || normalizeUsername(email) === null))
    throw new BadRow('has an email address that nobody can have')
  const profile = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
  if (!isStorable(id) || holdsUnstorable(profile))
    throw new BadRow('has a text with a NUL or half a character, or is nested too deep')
  const { passwordHash, hash, unusable } = hashOf(source.passwordHash, firebase)
  const user: User = {
    ...profile,
    id,
    username,
    passwordHash,
    ...(email === undefined ? {} : { email }),
    emailVerified,
    disabled,
    ...(createdAt === undefined ? {} : { createdAt })
  }
  return { user, ...linksOf(user, source.links, now), hash, unusable }
}

function hashOf(
  given: SourceUser['passwordHash'],
  firebase: FirebaseParameters | null
): Pick<Planned, 'hash' | 'unusable'> & Pick<User, 'passwordHash'> {
  if (given === undefined) return { passwordHash: null, hash: null, unusable: null }
  if (typeof given === 'object') return { passwordHash: null, hash: null, unusable: given.unusable }
  const parsed = parseStoredHash(given, firebase)
  if (parsed.kind === 'unusable') return { passwordHash: null, hash: null, unusable: parsed.reason }
  return { passwordHash: given, hash: parsed.kind === 'argon2' ? parsed.variant : parsed.kind, unusable: null }
}
