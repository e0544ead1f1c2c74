import { isObject } from './json.ts'
import { OAuthError } from '../errors.ts'

/** The source of the claims: a row of the user store. */
interface ClaimsSubject {
  id: string
  username: string
  [claim: string]: unknown
}

/**
 * The claims of each scope.
 * @see OpenID Connect Core 1.0 §5.4
 */
export const CLAIMS_OF_SCOPE = {
  profile: [
    'name',
    'family_name',
    'given_name',
    'middle_name',
    'nickname',
    'preferred_username',
    'profile',
    'picture',
    'website',
    'gender',
    'birthdate',
    'zoneinfo',
    'locale',
    'updated_at'
  ],
  email: ['email', 'email_verified'],
  address: ['address'],
  phone: ['phone_number', 'phone_number_verified']
} as const
/**
 * Standard claims that are taken from a provider's statement about a person. None of them identifies the user here or
 * gives rights.
 * @see OpenID Connect Core 1.0 §5.1
 */
export const PROFILE_CLAIMS: readonly string[] = CLAIMS_OF_SCOPE.profile.filter(
  (name) => name !== 'preferred_username' && name !== 'updated_at'
)
export type ClaimName = (typeof CLAIMS_OF_SCOPE)[keyof typeof CLAIMS_OF_SCOPE][number]

/** Every scope with claims. With all of them, `standardClaims` returns every known claim. */
export const CLAIM_SCOPES = Object.keys(CLAIMS_OF_SCOPE) as ReadonlyArray<keyof typeof CLAIMS_OF_SCOPE>

const ADDRESS_MEMBERS = ['formatted', 'street_address', 'locality', 'region', 'postal_code', 'country']
/** A time of at least this value is in milliseconds. In seconds it would be in the year 5138; in milliseconds, 1973. */
const LEAST_MILLISECONDS = 1e11

type Read = (user: ClaimsSubject, context: { knowsEmail: boolean }) => unknown

/** Readers of the claims that are not simply a string field of the same name in the row. */
const READERS: { [Name in ClaimName]?: Read } = {
  preferred_username: (user, { knowsEmail }) => preferredUsername(user, knowsEmail),
  updated_at: (user) => seconds(user['updated_at']),
  email_verified: (user) => (text(user['email']) === undefined ? undefined : isVerified(user['emailVerified'])),
  address: (user) => address(user['address']),
  phone_number_verified: (user) =>
    text(user['phone_number']) === undefined ? undefined : flag(user['phone_number_verified'])
}

/**
 * The standard claims of these scopes, from fields of the row with the claims' own names, and always `sub`.
 * `preferred_username` is that field, or else the username. If the value is an email address, it is left out, unless
 * the client may know the email address (by default: with the scope `email`). With an email address, `email_verified`
 * is always `true` or `false`, from the field `emailVerified`. `updated_at` is in seconds, whether the row has a
 * `Date`, an ISO 8601 string, seconds or milliseconds. Other unknown and empty values, and values of a wrong type, are
 * left out.
 * @see OpenID Connect Core 1.0 §5.1, §5.3.2, §5.4
 */
export function standardClaims(
  user: ClaimsSubject,
  scopes: readonly string[],
  context: { knowsEmail: boolean } = { knowsEmail: scopes.includes('email') }
): Record<string, unknown> {
  const claims: Record<string, unknown> = { sub: user.id }
  for (const scope of CLAIM_SCOPES) {
    if (!scopes.includes(scope)) continue
    for (const name of CLAIMS_OF_SCOPE[scope]) {
      const value = Object.hasOwn(READERS, name) ? READERS[name]?.(user, context) : text(user[name])
      if (value !== undefined) claims[name] = value
    }
  }
  return claims
}

/**
 * The claims that a member of the `claims` parameter requests. A claim that is missing, or has none of the requested
 * values, is left out, even if it is essential. (The authorization endpoint handles `sub`, `acr` and `auth_time`.)
 * @see OpenID Connect Core 1.0 §5.5.1
 */
export function requestedClaims(
  all: Readonly<Record<string, unknown>>,
  requested: Readonly<Record<string, ClaimRequest | null>> | undefined
): Record<string, unknown> {
  const picked = Object.entries(requested ?? {})
    .filter(([name, how]) => Object.hasOwn(all, name) && fits(all[name], how))
    .map(([name]) => [name, all[name]])
  return Object.fromEntries(picked) as Record<string, unknown>
}

function fits(value: unknown, how: ClaimRequest | null): boolean {
  if (how === null) return true
  if (Object.hasOwn(how, 'value') && how.value !== value) return false
  return how.values === undefined || how.values.includes(value)
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

function flag(value: unknown): boolean | undefined {
  return typeof value === 'boolean' ? value : undefined
}

/** The username is often an email address, which the scope `profile` alone must not reveal. */
function preferredUsername(user: ClaimsSubject, knowsEmail: boolean): string | undefined {
  const name = text(user['preferred_username']) ?? text(user.username)
  return name === undefined || knowsEmail || !isEmailAddress(name, user['email']) ? name : undefined
}

/** True for every text with an @ inside, and for the user's own `email` in any letter case. */
function isEmailAddress(name: string, email: unknown): boolean {
  return /.@./u.test(name) || name.toLowerCase() === text(email)?.toLowerCase()
}

/**
 * True for `true`, 1 (databases without booleans) and a `Date` (rows with the time). Not for other truthy values, such
 * as the string `false`.
 */
function isVerified(value: unknown): boolean {
  return value === true || value === 1 || value === 1n || value instanceof Date
}

function seconds(value: unknown): number | undefined {
  const given =
    value instanceof Date ? value.getTime() / 1000 : typeof value === 'string' ? Date.parse(value) / 1000 : value
  if (typeof given !== 'number' || !Number.isFinite(given) || given < 0) return undefined
  return Math.floor(typeof value === 'number' && given >= LEAST_MILLISECONDS ? given / 1000 : given)
}

/** @see OpenID Connect Core 1.0 §5.1.1 */
function address(value: unknown): Record<string, string> | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const entries = ADDRESS_MEMBERS.map((name) => [name, text((value as Record<string, unknown>)[name])] as const).filter(
    (entry): entry is [string, string] => entry[1] !== undefined
  )
  return entries.length === 0 ? undefined : Object.fromEntries(entries)
}

/**
 * The request of one claim. `null`: requested as a voluntary claim.
 * @see OpenID Connect Core 1.0 §5.5.1
 */
interface ClaimRequest {
  essential?: boolean
  value?: unknown
  values?: unknown[]
}

/**
 * The `claims` parameter without unknown members.
 * @see OpenID Connect Core 1.0 §5.5
 */
export interface ClaimsRequest {
  userinfo?: Record<string, ClaimRequest | null>
  id_token?: Record<string, ClaimRequest | null>
}

const MAX_BYTES = 4096
/** The depth of `{ "id_token": { "acr": { "values": ["1"] } } }`, the deepest valid form. */
const MAX_DEPTH = 4
const MAX_CLAIMS = 50
const MAX_VALUES = 20
/** Names may be URLs and have a language tag (`name#ja-Hani-JP`). */
const CLAIM_NAME = /^[\x21-\x7e]{1,128}$/

/**
 * Reads the `claims` parameter. Leaves out unknown members and invalid names. The result, its maps of claims and each
 * request of a claim have no prototype, so that lookups find only sent members.
 * @throws OAuthError `invalid_request`
 */
export function parseClaimsRequest(json: string): ClaimsRequest {
  if (Buffer.byteLength(json) > MAX_BYTES) throw refused('is too long')
  let parsed: unknown
  try {
    parsed = JSON.parse(json)
  } catch {
    throw refused('is not valid JSON')
  }
  if (!isObject(parsed)) throw refused('must be a JSON object')
  if (isDeeperThan(MAX_DEPTH, parsed)) throw refused('is nested too deep')
  const request = Object.create(null) as ClaimsRequest
  for (const member of ['userinfo', 'id_token'] as const) {
    if (Object.hasOwn(parsed, member)) request[member] = claimsOf(parsed[member], member)
  }
  return request
}

function claimsOf(member: unknown, name: string): Record<string, ClaimRequest | null> {
  if (!isObject(member)) throw refused(`must have an object as ${name}`)
  const entries = Object.entries(member)
  if (entries.length > MAX_CLAIMS) throw refused(`must not name more than ${MAX_CLAIMS} claims in ${name}`)
  const claims = Object.create(null) as Record<string, ClaimRequest | null>
  for (const [claim, how] of entries) {
    const request = how === null ? null : claimOf(how)
    // Skips `__proto__`. `claims` has no prototype, so the name would be a plain property here. But a later copy by
    // assignment would set a prototype.
    if (CLAIM_NAME.test(claim) && claim !== '__proto__') claims[claim] = request
  }
  return claims
}

function claimOf(how: unknown): ClaimRequest {
  if (!isObject(how)) throw refused('must ask for each claim by null or an object')
  const { essential, values } = how
  const claim = Object.create(null) as ClaimRequest
  if (essential !== undefined) {
    if (typeof essential !== 'boolean') throw refused('must have true or false as essential')
    claim.essential = essential
  }
  if (Object.hasOwn(how, 'value')) claim.value = how['value']
  if (values !== undefined) {
    if (!Array.isArray(values) || values.length > MAX_VALUES)
      throw refused(`must have an array of at most ${MAX_VALUES} as values`)
    claim.values = values
  }
  return claim
}

function refused(problem: string): OAuthError {
  return new OAuthError('invalid_request', `claims ${problem}.`)
}

/** Recurses at most `depth` levels. */
function isDeeperThan(depth: number, value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  return depth === 0 || Object.values(value).some((inner) => isDeeperThan(depth - 1, inner))
}
