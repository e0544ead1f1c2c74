import { mayUse } from '../../clients/rights.ts'
import { OAuthError } from '../../errors.ts'
import type { Client, GrantType } from '../../ports/client-store.ts'
import type { GrantDeps, Grant, GrantDeclaration } from '../deps.ts'
import { AUTHORIZATION_CODE } from './authorization-code.ts'
import { CLIENT_CREDENTIALS } from './client-credentials.ts'
import { PASSWORD } from './password.ts'
import { REFRESH_TOKEN } from './refresh-token.ts'

/** The grants of the kernel, in the order of the metadata and the reference. The grants of features follow. */
export const GRANTS: readonly Grant[] = [PASSWORD, AUTHORIZATION_CODE, REFRESH_TOKEN, CLIENT_CREDENTIALS]

/** The parameters of these grants, each with its limit in bytes of UTF-8. */
export function parameterLimits(grants: readonly GrantDeclaration[]): Readonly<Record<string, number>> {
  return Object.fromEntries(
    grants.flatMap(({ params }) => Object.entries(params).map(([name, { bytes }]) => [name, bytes]))
  )
}

/** @throws OAuthError `unsupported_grant_type`. @see RFC 6749 §5.2 */
export function findGrant(type: string, deps: Pick<GrantDeps, 'grants' | 'declaredGrants'>): Grant {
  const found = deps.grants.find((candidate) => candidate.type === type)
  if (found !== undefined) return found
  // Does not quote an unknown type, which may be any text, even a password: descriptions are logged.
  const known = deps.declaredGrants.find((candidate) => candidate.type === type)?.type ?? 'The grant type'
  throw new OAuthError(
    'unsupported_grant_type',
    `${known} is not supported here. There are: ${grantTypesOn(deps).join(', ')}.`
  )
}

/** The grant types that the token endpoint accepts in this configuration. */
export const grantTypesOn = ({ grants }: Pick<GrantDeps, 'grants'>): string[] => grants.map(({ type }) => type)

/** @throws OAuthError `unauthorized_client`. @see RFC 6749 §5.2 */
export function checkGrantAllowed({ type, rightOf = [type as GrantType] }: Grant, client: Client | null): void {
  if (client !== null && !rightOf.some((right) => mayUse(client, right)))
    throw new OAuthError('unauthorized_client', 'The client may not use this grant type.')
}
