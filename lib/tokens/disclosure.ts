import { isFirstParty } from '../clients/rights.ts'
import type { Client } from '../ports/client-store.ts'
import { type ClaimName, CLAIM_SCOPES, CLAIMS_OF_SCOPE } from '../protocol/user-claims.ts'

/** Whose token it is, and what it was granted. */
interface DisclosureSubject {
  /** `null`: a caller without a client, who is the account itself. */
  client: Pick<Client, 'firstParty' | 'scopes'> | null
  /** Granted scope, or the requested one where nothing is granted yet. */
  scopes: readonly string[]
}

/** What a client may learn of a user. */
interface Disclosure {
  /** The part of the granted scope that the client may have today. The consent page shows it. */
  scopes: string[]
  /** Claims of the standard that go out where nobody names them: those of `scopes`. */
  byScope: ReadonlySet<string>
  /**
   * Claims of the standard that may go out where they are asked for by name. A client of somebody else's learns nothing
   * that the consent page did not show, so for it these are no more than `byScope`; the host's own may name what any
   * scope of theirs covers.
   */
  byName: ReadonlySet<string>
}

const STANDARD: ReadonlySet<string> = claimsOf(CLAIM_SCOPES)

/**
 * The scopes that a client may be granted at all: its own list, and never more than the option `scopes`, whatever a
 * client store says.
 */
export function allowedScopes(client: Pick<Client, 'scopes'> | null, offered: readonly string[]): string[] {
  return (client?.scopes ?? offered).filter((scope) => offered.includes(scope))
}

/**
 * The one answer to what a client may learn of a user. The authorization endpoint and its consent page, ID tokens,
 * userinfo, access tokens and introspection all ask here, so that none tells what another would not. `offered` is the
 * option `scopes`.
 * @see OpenID Connect Core 1.0 §5.4, §5.5, §16.2
 */
export function disclosureOf({ client, scopes: granted }: DisclosureSubject, offered: readonly string[]): Disclosure {
  const allowed = allowedScopes(client, offered)
  const scopes = granted.filter((scope) => allowed.includes(scope))
  const byScope = claimsOf(scopes)
  return { scopes, byScope, byName: isFirstParty(client) ? claimsOf(allowed) : byScope }
}

/**
 * Whether the standard defines this claim, with a language tag (`name#ja`) or without. @see OpenID Connect Core 1.0
 * §5.1, §5.2
 */
export function isStandardClaim(name: string): boolean {
  return STANDARD.has(baseName(name))
}

/** Whether the claim, with a language tag or without, is one of these. */
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
