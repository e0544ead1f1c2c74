import { isFirstParty } from '../clients/rights.ts'
import type { Client } from '../ports/client-store.ts'
import { type ClaimName, CLAIM_SCOPES, CLAIMS_OF_SCOPE } from '../protocol/user-claims.ts'

/** The user of a token, and the grant. */
interface DisclosureSubject {
  /** `null` for a caller without a client, which is the account itself. */
  client: Pick<Client, 'firstParty' | 'scopes'> | null
  /** The granted scope, or the requested one before anything is granted. */
  scopes: readonly string[]
}

/** The data of a user that a client may learn. */
interface Disclosure {
  /** The part of the granted scope that the client may have today. The consent page shows it. */
  scopes: string[]
  /** Standard claims that `scopes` releases without being named. */
  byScope: ReadonlySet<string>
  /**
   * Standard claims that the client may ask for by name. For a third-party client these are `byScope` only, so that it
   * learns nothing that the consent page did not show. The host's own clients may name every claim that one of their
   * scopes covers.
   */
  byName: ReadonlySet<string>
}

const STANDARD: ReadonlySet<string> = claimsOf(CLAIM_SCOPES)

/**
 * The scopes that a client may be granted: its own list, limited to the option `scopes` whatever a client store says.
 */
export function allowedScopes(client: Pick<Client, 'scopes'> | null, offered: readonly string[]): string[] {
  return (client?.scopes ?? offered).filter((scope) => offered.includes(scope))
}

/**
 * Decides which data of a user a client may learn. The authorization endpoint and its consent page, ID tokens,
 * userinfo, access tokens and introspection all ask here, so that they agree. `offered` is the option `scopes`.
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
export function isStandardClaim(name: string): boolean {
  return STANDARD.has(baseName(name))
}

/** True if the claim is one of these, with or without a language tag. */
export function isAmong(claims: ReadonlySet<string>, name: string): boolean {
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
