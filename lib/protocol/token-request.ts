import { OAuthError } from '../errors.ts'
import { readParams } from './request-params.ts'

/** Parameters of every token request, each with its limit in bytes of UTF-8. */
const COMMON = { grant_type: 256, scope: 4096, client_id: 512, client_secret: 1024 } as const
type Common = Exclude<keyof typeof COMMON, 'grant_type'>

/** The sent parameters of a token request: each a non-empty string. `Name` are those of its grant. */
export type TokenRequestParams<Name extends string = never> = { grant_type: string } & {
  [Key in Common]?: string
} & { [Key in Name]?: string }

/**
 * Reads a token request. `limits` are the parameters of all grants, each with its limit in bytes of UTF-8. Unknown
 * parameters are ignored.
 * @throws OAuthError `invalid_request` naming the parameter
 * @see RFC 6749 §3.2, §4.3.2
 */
export function parseTokenRequest<Name extends string>(
  body: unknown,
  limits: Readonly<Record<Name, number>>
): TokenRequestParams<Name> {
  const params = readParams<string>(body, { ...limits, ...COMMON })
  if (params['grant_type'] === undefined) throw new OAuthError('invalid_request', 'grant_type is missing.')
  return params as TokenRequestParams<Name>
}

/** The value of a parameter that the grant needs. @throws OAuthError `invalid_request` */
export function required<Name extends string>(params: { [Key in Name]?: string }, name: Name): string {
  const value = params[name]
  if (value === undefined) throw new OAuthError('invalid_request', `${name} is missing.`)
  return value
}
