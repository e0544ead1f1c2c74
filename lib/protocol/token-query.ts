import { OAuthError } from '../errors.ts'
import { readParams } from './request-params.ts'

/**
 * The parameters of a revocation or introspection request. The hint is ignored, because a token's own form tells its
 * kind.
 */
interface TokenQuery {
  token: string
  client_id?: string
  client_secret?: string
}

/** A token of whatever length is taken: one that is too long is an unknown one. */
const KNOWN = { token: Infinity, client_id: 512, client_secret: 1024 } as const

/**
 * Reads the parameters of a revocation or introspection request. `token_type_hint` only speeds up a search, and a wrong
 * or unknown one must not hide a token, so it is not looked at.
 * @throws OAuthError `invalid_request` naming the parameter
 * @see RFC 7009 §2.1, RFC 7662 §2.1
 */
export function parseTokenQuery(body: unknown): TokenQuery {
  const { token, ...client } = readParams(body, KNOWN)
  if (token === undefined) throw new OAuthError('invalid_request', 'token is missing.')
  return { token, ...client }
}
