/** The parameters of a client that exchanges an ID token of another provider. @see RFC 8693 §2.1 */
import { OAuthError } from '../errors.ts'
import { digest } from './digest.ts'
import { required, type TokenRequestParams } from './token-request.ts'

export const TOKEN_EXCHANGE_GRANT = 'urn:ietf:params:oauth:grant-type:token-exchange'
const ID_TOKEN = 'urn:ietf:params:oauth:token-type:id_token'
export const ACCESS_TOKEN = 'urn:ietf:params:oauth:token-type:access_token'

interface TokenExchange {
  /** The ID token, unchecked. */
  subjectToken: string
  /** The `id` of the connection that it is for. */
  connection: string
  nonce: string | null
}

export type TokenExchangeParams = TokenRequestParams<
  | 'subject_token'
  | 'subject_token_type'
  | 'requested_token_type'
  | 'actor_token'
  | 'actor_token_type'
  | 'connection'
  | 'nonce'
>

/**
 * Reads the parameters of a token exchange. Access tokens are refused, since they don't prove who sends them: every app
 * that a person ever gave one to could bring it here.
 * @throws OAuthError `invalid_request`
 */
export function readTokenExchange(params: TokenExchangeParams): TokenExchange {
  const subjectToken = required(params, 'subject_token')
  const connection = required(params, 'connection')
  if (required(params, 'subject_token_type') !== ID_TOKEN)
    throw new OAuthError(
      'invalid_request',
      `subject_token_type must be ${ID_TOKEN}: no other token says who signed in to this client.`
    )
  if (params.actor_token !== undefined || params.actor_token_type !== undefined)
    throw new OAuthError('invalid_request', 'actor_token is not supported.')
  if (params.requested_token_type !== undefined && params.requested_token_type !== ACCESS_TOKEN)
    throw new OAuthError('invalid_request', `requested_token_type must be ${ACCESS_TOKEN}, or be left out.`)
  return { subjectToken, connection, nonce: params.nonce ?? null }
}

/**
 * The digest by which a token is remembered, so that it counts once. It covers the signed part without the signature,
 * because anybody can compute a second valid ECDSA signature, and the same token would pass again with it.
 */
export function assertionDigest(token: string): string {
  return digest(`assertion ${token.slice(0, token.lastIndexOf('.'))}`)
}
