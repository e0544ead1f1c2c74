import { mayUse } from '../../clients/rights.ts'
import { OAuthError } from '../../errors.ts'
import type { Client, GrantType } from '../../ports/client-store.ts'
import { TOKEN_EXCHANGE_GRANT } from '../../protocol/request-params.ts'
import { type Grant, grant, type GrantTypesDeps } from '../grant.ts'
import { AUTHORIZATION_CODE } from './authorization-code.ts'
import { CLIENT_CREDENTIALS } from './client-credentials.ts'
import { PASSWORD } from './password.ts'
import { REFRESH_TOKEN } from './refresh-token.ts'
import { TOKEN_EXCHANGE } from './token-exchange.ts'
import { withMfa } from './with-mfa.ts'

const CREDENTIAL = {
  bytes: 16384,
  what: 'The answer of `navigator.credentials.get`, as the text of `AuthenticationResponseJSON`.'
}

/** Finishes a password grant or a token exchange by the second factor. */
const MFA = grant({
  type: 'urn:fastify-authority:grant-type:mfa',
  isOn: ({ passwordGrant, exchange, accounts }) =>
    (passwordGrant !== false || exchange !== null) && accounts.factors !== null,
  rightOf: ['password', TOKEN_EXCHANGE_GRANT],
  params: {
    mfa_token: { bytes: 8192, what: 'From the answer `mfa_required`.' },
    otp: { bytes: 64, what: 'Six digits of an authenticator app.' },
    recovery_code: { bytes: 128, what: 'Instead of `otp`.' },
    credential: CREDENTIAL
  },
  errors: ['invalid_code', 'invalid_grant'],
  what:
    'the tokens of `grant_type=password` for a user with a second factor. That grant answers 400 ' +
    '`mfa_required` after the right password, with an `mfa_token` and the accepted `methods`. The same client ' +
    'sends the token here within ten minutes, with `otp`, `recovery_code`, or as `credential` the answer of a ' +
    'passkey to `passkey_options`. Nothing is issued before. A token exchange of a user with a second factor ' +
    'answers and continues in the same way. Exists with `factors` and one of the two grants; a client needs ' +
    'the grant with which it began.',
  handle: async (...request) => await (await withMfa()).mfaGrant(...request)
})

/** Signs in by a passkey alone. */
const PASSKEY = grant({
  type: 'urn:fastify-authority:grant-type:passkey',
  isOn: ({ passwordGrant, accounts }) => passwordGrant !== false && (accounts.factors?.passkeys ?? null) !== null,
  rightOf: ['password'],
  params: { credential: CREDENTIAL },
  errors: ['invalid_grant', 'invalid_scope'],
  what:
    'the tokens of `grant_type=password` for a user with a passkey. `credential` is its answer to the options ' +
    'of `GET /auth/passkey-challenge`. There is no username, no password and no second step; the tokens have ' +
    'the `acr` `phr`. Every refusal is `invalid_grant` with one text. An answer works once. Exists with the ' +
    'password grant and passkeys; a client needs the grant `password`.',
  handle: async (...request) => await (await import('./passkey.ts')).passkeyGrant(...request)
})

/** The order is that of the metadata and the reference. */
export const GRANTS: readonly Grant[] = [
  PASSWORD,
  AUTHORIZATION_CODE,
  REFRESH_TOKEN,
  CLIENT_CREDENTIALS,
  TOKEN_EXCHANGE,
  MFA,
  PASSKEY
]

/** The parameters of all grants, each with its limit in bytes of UTF-8. */
export const GRANT_PARAMS: Readonly<Record<string, number>> = Object.fromEntries(
  GRANTS.flatMap(({ params }) => Object.entries(params).map(([name, { bytes }]) => [name, bytes]))
)

/** @throws OAuthError `unsupported_grant_type`. @see RFC 6749 §5.2 */
export function findGrant(type: string, deps: GrantTypesDeps): Grant {
  const found = GRANTS.find((candidate) => candidate.type === type)
  if (found === undefined || !isOn(found, deps))
    throw new OAuthError(
      'unsupported_grant_type',
      // An unknown type may be any text, even a password, and descriptions are logged.
      `${found?.type ?? 'The grant type'} is not supported here. There are: ${grantTypesOn(deps).join(', ')}.`
    )
  return found
}

/** The grant types that the token endpoint accepts in this configuration. */
export function grantTypesOn(deps: GrantTypesDeps): string[] {
  return GRANTS.filter((one) => isOn(one, deps)).map(({ type }) => type)
}

const isOn = (one: Grant, deps: GrantTypesDeps): boolean => one.isOn?.(deps) ?? true

/** @throws OAuthError `unauthorized_client`. @see RFC 6749 §5.2 */
export function checkGrantAllowed({ type, rightOf = [type as GrantType] }: Grant, client: Client | null): void {
  if (client !== null && !rightOf.some((right) => mayUse(client, right)))
    throw new OAuthError('unauthorized_client', 'The client may not use this grant type.')
}
