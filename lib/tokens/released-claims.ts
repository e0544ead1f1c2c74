import { isFirstParty } from '../clients/rights.ts'
import type { Client } from '../ports/client-store.ts'
import type { User } from '../ports/user-store.ts'
import { CLAIM_SCOPES, type ClaimsRequest, requestedClaims, standardClaims } from '../protocol/user-claims.ts'
import { disclosureOf, isAmong, isStandardClaim } from './disclosure.ts'

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
 * A value from the host's function wins over the user's row, and `undefined` removes the claim. A standard claim is
 * released only if it is requested and the client may learn it (`disclosureOf`), wherever its value comes from. A
 * granted scope requests it (at userinfo, and in ID tokens with the option `idToken.claims`), and so does its name in
 * the `claims` parameter. A claim of the host's own is always released.
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
