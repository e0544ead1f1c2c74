import { OAuthError } from '../errors.ts'

/** The parameters of a token request that were sent: each a non-empty string. Unknown ones are left out. */
export type TokenRequestParams = { grant_type: string } & { [Name in Exclude<KnownParam, 'grant_type'>]?: string }

const KNOWN = {
  grant_type: 256,
  username: 1024,
  password: 16384,
  scope: 4096,
  client_id: 512,
  client_secret: 1024,
  code: 512,
  redirect_uri: 2048,
  code_verifier: 256,
  refresh_token: 512
} as const
type KnownParam = keyof typeof KNOWN

/**
 * Reads a token request. An empty parameter counts as not sent; an unknown one is ignored; one that is too long or no string
 * is refused, never ignored.
 * @throws OAuthError `invalid_request` naming the parameter
 * @see RFC 6749 §3.2, §4.3.2
 */
export function parseTokenRequest (body: unknown): TokenRequestParams {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) throw new OAuthError('invalid_request', 'The body must hold the parameters of a token request.')
  const params: Partial<Record<KnownParam, string>> = {}
  for (const name of Object.keys(KNOWN) as KnownParam[]) {
    const value: unknown = Object.hasOwn(body, name) ? (body as Record<string, unknown>)[name] : undefined
    if (value === undefined || value === '') continue
    if (typeof value !== 'string') throw new OAuthError('invalid_request', `${name} must be a string, sent once.`)
    if (value.length > KNOWN[name]) throw new OAuthError('invalid_request', `${name} is too long.`)
    params[name] = value
  }
  if (params.grant_type === undefined) throw new OAuthError('invalid_request', 'grant_type is missing.')
  return params as TokenRequestParams
}

/** The value of a parameter that the grant needs. @throws OAuthError `invalid_request` */
export function required (params: TokenRequestParams, name: KnownParam): string {
  const value = params[name]
  if (value === undefined) throw new OAuthError('invalid_request', `${name} is missing.`)
  return value
}
