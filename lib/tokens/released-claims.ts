import { isFirstParty } from '../clients/rights.ts'
import type { Client } from '../ports/client-store.ts'
import type { User } from '../ports/user-store.ts'
import type { ClaimsRequest } from '../protocol/claims-request.ts'
import { CLAIM_SCOPES, requestedClaims, standardClaims } from '../protocol/user-claims.ts'
import { disclosureOf, isAmong, isStandardClaim } from './disclosure.ts'

/** What the function of the option `claims` is told beside the user. */
export interface ClaimsContext {
  scopes: string[]
  client: Client | null
  use: 'access_token' | 'id_token' | 'userinfo'
}

/**
 * The option `claims`. `Account`: the type of the user store's rows. It is the type of a method, so that a function of
 * a host's own type of user is one too: the users come from the host's own store.
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
  /** Whether an ID token has the claims of the granted scopes too, as userinfo always has. */
  scopeClaims?: boolean
}

export interface ReleasePolicy {
  /** The option `claims`. */
  claims: ClaimsFunction | null
  /** The option `scopes`. */
  scopes: readonly string[]
}

/**
 * The claims about a user that go into an ID token or a userinfo answer, without `sub`.
 *
 * The host's function says what a claim's value is, before the user's row; `undefined` takes the claim away. A claim of
 * the standard goes out only where it is asked for, by a granted scope (at userinfo, and in ID tokens by the option
 * `idToken.claims`) or by name in the `claims` parameter, and where the client may learn it (`disclosureOf`), whoever
 * knows its value. One of the host's own goes wherever the host returns it.
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
 * The host's claims of an access token. Every client can read its own, so to somebody else's a claim of the standard is
 * told only where a granted scope covers it. In a token of the host's own programs the host puts what it wants.
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
