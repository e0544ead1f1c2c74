import { isFirstParty } from '../clients/rights.ts'
import type { Client } from '../ports/client-store.ts'
import {
  CLAIM_SCOPES,
  type ClaimName,
  CLAIMS_OF_SCOPE,
  type ClaimsRequest,
  requestedClaims,
  standardClaims
} from '../protocol/user-claims.ts'
import type { User } from '../ports/user-store.ts'

/** The client that asks for data of a user, and its grant. */
interface DisclosureSubject {
  /** `null` for a caller without a client, which is the account itself. */
  client: Pick<Client, 'firstParty' | 'scopes'> | null
  /** The granted scopes. */
  scopes: readonly string[]
}

/** The data of a user that a client may learn. */
interface Disclosure {
  /** The granted scopes that the client may still have. */
  scopes: string[]
  /** Standard claims that `scopes` releases even if the request does not name them. */
  byScope: ReadonlySet<string>
  /**
   * Standard claims that the client may ask for by name. For a third-party client these are `byScope` only, so that it
   * learns nothing beyond the scopes on the consent page. The host's own clients may name every claim that one of their
   * scopes covers.
   */
  byName: ReadonlySet<string>
}

const STANDARD: ReadonlySet<string> = claimsOf(CLAIM_SCOPES)

/**
 * The scopes among `offered` that a client may be granted: those in its own list, or all if it has no list.
 */
export function allowedScopes(client: Pick<Client, 'scopes'> | null, offered: readonly string[]): string[] {
  return (client?.scopes ?? offered).filter((scope) => offered.includes(scope))
}

/**
 * Decides which data of a user a client may learn. ID tokens, userinfo, access tokens and introspection use this
 * function, so that they agree. `offered`: the option `scopes`.
 * @see OpenID Connect Core 1.0 §5.4, §5.5, §16.2
 */
export function disclosureOf({ client, scopes: granted }: DisclosureSubject, offered: readonly string[]): Disclosure {
  const allowed = allowedScopes(client, offered)
  const scopes = granted.filter((scope) => allowed.includes(scope))
  const byScope = claimsOf(scopes)
  return { scopes, byScope, byName: isFirstParty(client) ? claimsOf(allowed) : byScope }
}

/**
 * True if the standard defines this claim, with or without a language tag (`name#ja`).
 * @see OpenID Connect Core 1.0 §5.1, §5.2
 */
function isStandardClaim(name: string): boolean {
  return STANDARD.has(baseName(name))
}

/** True if the claim is one of these, with or without a language tag. */
function isAmong(claims: ReadonlySet<string>, name: string): boolean {
  return claims.has(baseName(name))
}

function claimsOf(scopes: readonly string[]): ReadonlySet<string> {
  return new Set(
    CLAIM_SCOPES.filter((scope) => scopes.includes(scope)).flatMap(
      (scope): readonly ClaimName[] => CLAIMS_OF_SCOPE[scope]
    )
  )
}

function baseName(name: string): string {
  return name.split('#', 1)[0] ?? name
}

/** The second argument of the option `claims`. */
export interface ClaimsContext {
  scopes: string[]
  client: Client | null
  use: 'access_token' | 'id_token' | 'userinfo'
}

/**
 * The option `claims`. `Account` is the row type of the user store. Written as a method, so that a function over the
 * host's own user type is accepted: the users come from the host's own store.
 */
export type ClaimsFunction<Account extends User = User> = {
  claims(user: Account, context: ClaimsContext): Record<string, unknown> | Promise<Record<string, unknown>>
}['claims']

interface ClaimsRelease {
  user: User
  client: Client | null
  /** Granted scope. */
  scopes: string[]
  use: 'id_token' | 'userinfo'
  /** The `claims` parameter of the authorization request. */
  claims: ClaimsRequest | undefined
  /** True if an ID token contains the claims of the granted scopes, as userinfo always does. */
  scopeClaims?: boolean
}

export interface ReleasePolicy {
  /** The option `claims`. */
  claims: ClaimsFunction | null
  /** The option `scopes`. */
  scopes: readonly string[]
}

/**
 * The claims of a user for an ID token or a userinfo answer, without `sub`.
 *
 * A value from the host's function wins over the user's row, and `undefined` or `null` removes the claim. A standard
 * claim is released only if it is requested and the client may learn it (`disclosureOf`), wherever its value comes
 * from. A granted scope requests it (at userinfo, and in ID tokens with the option `idToken.claims`), and so does its
 * name in the `claims` parameter. A claim of the host's own is always released.
 * @see OpenID Connect Core 1.0 §5.3.2, §5.4, §5.5
 */
export async function releasedClaims(
  { user, client, scopes, use, claims, scopeClaims = false }: ClaimsRelease,
  { claims: host, scopes: offered }: ReleasePolicy
): Promise<Record<string, unknown>> {
  const disclosure = disclosureOf({ client, scopes }, offered)
  const asked = use === 'userinfo' || scopeClaims ? disclosure.byScope : new Set<string>()
  const named = Object.fromEntries(
    Object.entries(claims?.[use] ?? {}).filter(([name]) => !isStandardClaim(name) || isAmong(disclosure.byName, name))
  )
  const knowsEmail = disclosure.byScope.has('email') || Object.hasOwn(named, 'email')
  const ofHost = host === null ? {} : await host(user, { scopes: disclosure.scopes, client, use })
  const all: Record<string, unknown> = { ...standardClaims(user, CLAIM_SCOPES, { knowsEmail }), ...ofHost }
  const goes = Object.entries(all).filter(([name]) => !isStandardClaim(name) || isAmong(asked, name))
  const released = { ...Object.fromEntries(goes), ...requestedClaims(all, named) }
  return Object.fromEntries(
    Object.entries(released).filter(([name, value]) => name !== 'sub' && value !== undefined && value !== null)
  )
}

/**
 * The host's claims of an access token. A client can read its own tokens, so a third-party client gets a standard claim
 * only if a granted scope covers it. The host's own clients get every claim that the host returns.
 * @see RFC 9068 §6
 */
export async function hostClaims(
  { user, client, scopes }: Pick<ClaimsRelease, 'user' | 'client' | 'scopes'>,
  { claims: host, scopes: offered }: ReleasePolicy
): Promise<Record<string, unknown>> {
  if (host === null) return {}
  const claims = await host(user, { scopes, client, use: 'access_token' })
  if (isFirstParty(client)) return claims
  const { byScope } = disclosureOf({ client, scopes }, offered)
  return Object.fromEntries(
    Object.entries({ ...claims }).filter(([name]) => !isStandardClaim(name) || isAmong(byScope, name))
  )
}
