import { OAuthError } from '../errors.ts'
import { readParams } from './request-params.ts'

/** The parameters of a token request that were sent: each a non-empty string. Unknown ones are left out. */
export type TokenRequestParams = { grant_type: string } & { [Name in Exclude<KnownParam, 'grant_type'>]?: string }

/** Each with its limit in bytes of UTF-8. */
const KNOWN = {
  grant_type: 256,
  username: 1024,
  password: 16384,
  scope: 4096,
  client_id: 512,
  client_secret: 1024,
  // Whatever is no token of ours is an unknown one, an access token in its place too: the length of a body is bound
  // enough.
  code: 16384,
  redirect_uri: 2048,
  code_verifier: 256,
  refresh_token: 16384,
  mfa_token: 8192,
  otp: 64,
  recovery_code: 128,
  credential: 16384,
  // It need not be ours, so its length is bounded by that of a body.
  subject_token: 16384,
  subject_token_type: 256,
  requested_token_type: 256,
  actor_token: 16384,
  actor_token_type: 256,
  connection: 32,
  nonce: 512
} as const
type KnownParam = keyof typeof KNOWN

/**
 * Reads a token request.
 * @throws OAuthError `invalid_request` naming the parameter
 * @see RFC 6749 §3.2, §4.3.2
 */
export function parseTokenRequest(body: unknown): TokenRequestParams {
  const { grant_type: grantType, ...params } = readParams(body, KNOWN)
  if (grantType === undefined) throw new OAuthError('invalid_request', 'grant_type is missing.')
  return { grant_type: grantType, ...params }
}

/** The value of a parameter that the grant needs. @throws OAuthError `invalid_request` */
export function required(params: TokenRequestParams, name: KnownParam): string {
  const value = params[name]
  if (value === undefined) throw new OAuthError('invalid_request', `${name} is missing.`)
  return value
}
