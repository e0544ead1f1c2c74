import { OAuthError } from '../errors.ts'

/** What a revocation or introspection request says. The hint is read by nobody: a token's own form tells what it is. */
export interface TokenQuery {
  token: string
  client_id?: string
  client_secret?: string
}

const CLIENT_PARAMS = { client_id: 512, client_secret: 1024 } as const

/**
 * Reads the parameters of a revocation or introspection request. `token_type_hint` only speeds up a search, and a wrong or
 * unknown one must not hide a token, so it is not looked at. An empty parameter counts as not sent. A token of whatever
 * length is taken: one that is too long is simply unknown.
 * @throws OAuthError `invalid_request` naming the parameter
 * @see RFC 7009 §2.1, RFC 7662 §2.1
 */
export function parseTokenQuery (body: unknown): TokenQuery {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) throw new OAuthError('invalid_request', 'The body must hold the parameters of this request.')
  const read = (name: string): string | undefined => {
    const value: unknown = Object.hasOwn(body, name) ? (body as Record<string, unknown>)[name] : undefined
    if (value === undefined || value === '') return undefined
    if (typeof value !== 'string') throw new OAuthError('invalid_request', `${name} must be a string, sent once.`)
    return value
  }
  const token = read('token')
  if (token === undefined) throw new OAuthError('invalid_request', 'token is missing.')
  const query: TokenQuery = { token }
  for (const name of Object.keys(CLIENT_PARAMS) as Array<keyof typeof CLIENT_PARAMS>) {
    const value = read(name)
    if (value !== undefined && value.length > CLIENT_PARAMS[name]) throw new OAuthError('invalid_request', `${name} is too long.`)
    if (value !== undefined) query[name] = value
  }
  return query
}
