import { OAuthError } from '../errors.ts'

/** How one claim is asked for; `null`: voluntarily. @see OpenID Connect Core 1.0 §5.5.1 */
export interface ClaimRequest {
  essential?: boolean
  value?: unknown
  values?: unknown[]
}

/** The `claims` parameter, with what is unknown in it left out. @see OpenID Connect Core 1.0 §5.5 */
export interface ClaimsRequest {
  userinfo?: Record<string, ClaimRequest | null>
  id_token?: Record<string, ClaimRequest | null>
}

const MAX_BYTES = 4096
/** `{ "id_token": { "acr": { "values": ["1"] } } }` is the deepest that means anything. */
const MAX_DEPTH = 4
const MAX_CLAIMS = 50
const MAX_VALUES = 20
/** Names may be URLs and have a language tag (`name#ja-Hani-JP`). */
const CLAIM_NAME = /^[\x21-\x7e]{1,128}$/

/**
 * Reads the `claims` parameter. Unknown members, and names that no claim has, are left out. No object in the result has
 * a prototype, so that nothing but what was sent can be found in it.
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
    // Own here, but a plain assignment elsewhere would set a prototype.
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

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Goes no deeper than `depth` itself. */
function isDeeperThan(depth: number, value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  return depth === 0 || Object.values(value).some((inner) => isDeeperThan(depth - 1, inner))
}
