import { isContent } from '../clients/rights.ts'
import type { Client } from '../ports/client-store.ts'
import type { BrowserSession } from '../ports/session-store.ts'
import { ACR_VALUES, type AuthenticationContext, contextOf } from '../protocol/authentication.ts'
import type { AuthorizationRequest } from '../protocol/authorization-request.ts'

/** `acr` must be one of these values; `null`: any value or none will do. */
export type RequiredAcr = readonly string[] | null

/**
 * The level that an authorization request requires. An essential claim must be met. `acr_values` must be met too,
 * because a client that an API sent here for more would otherwise come back with the same level for ever. Values
 * without a meaning for this server are wishes. The client's own requirement is the minimum in any case, because the
 * person can change the address.
 * @see OpenID Connect Core 1.0 §5.5.1.1, §15.1, RFC 9470 §5
 */
export function requiredAcr(
  { acrValues, claims }: Pick<AuthorizationRequest, 'acrValues' | 'claims'>,
  client: Pick<Client, 'acr'>
): RequiredAcr {
  const content = (value: string): boolean => isContent(client, value)
  const essential = claims.id_token?.acr?.essential === true ? claimedAcr(claims) : null
  if (essential !== null) return essential.filter(content)
  const known = acrValues.filter((value) => ACR_VALUES.includes(value) && content(value))
  if (known.length > 0) return known
  return client.acr === undefined ? null : ACR_VALUES.filter(content)
}

/**
 * The level that the code and its tokens state: the strongest required one that this session satisfies, else the
 * strongest wish, else its own. `null`: it satisfies no required one.
 */
export function contextFor(
  { claims }: Pick<AuthorizationRequest, 'claims'>,
  required: RequiredAcr,
  session: BrowserSession
): AuthenticationContext | null {
  if (required !== null) return contextOf(session, required)
  const wished = claimedAcr(claims) ?? []
  return (wished.length === 0 ? null : contextOf(session, wished)) ?? contextOf(session)
}

/** A value that is no string matches nothing. */
function claimedAcr({ id_token: idToken }: AuthorizationRequest['claims']): string[] | null {
  const acr = idToken?.acr
  if (acr === undefined || acr === null || (acr.value === undefined && acr.values === undefined)) return null
  return [...(acr.value === undefined ? (acr.values ?? []) : [acr.value])].filter((value) => typeof value === 'string')
}
