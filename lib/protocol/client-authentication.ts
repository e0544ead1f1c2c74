import { OAuthError } from '../errors.ts'

/** What a request says of its client. `none`: `client_id` alone, a public client. @see RFC 6749 §2.3 */
export type ClientCredentials =
  | { method: 'client_secret_basic' | 'client_secret_post', clientId: string, clientSecret: string }
  | { method: 'none', clientId: string }

const MAX_BASIC_LENGTH = 4096

/**
 * Reads the client's credentials from the header and the parameters; `undefined` where there are none.
 * @throws OAuthError `invalid_request` where two methods are used at once, `invalid_client` where the header is malformed
 * @see RFC 6749 §2.3.1
 */
export function clientCredentials (authorization: string | undefined, params: { client_id?: string, client_secret?: string }): ClientCredentials | undefined {
  const { client_id: clientId, client_secret: clientSecret } = params
  if (authorization !== undefined && authorization.slice(0, 6).toLowerCase() === 'basic ') {
    const basic = basicCredentials(authorization.slice(6).trim())
    if (clientSecret !== undefined) throw new OAuthError('invalid_request', 'Use one way of client authentication, not two.')
    if (clientId !== undefined && clientId !== basic.clientId) throw new OAuthError('invalid_request', 'client_id differs from the one in the Authorization header.')
    return { method: 'client_secret_basic', ...basic }
  }
  if (clientSecret !== undefined) {
    if (clientId === undefined) throw new OAuthError('invalid_request', 'client_secret needs a client_id.')
    return { method: 'client_secret_post', clientId, clientSecret }
  }
  return clientId === undefined ? undefined : { method: 'none', clientId }
}

/** 401 with the challenge of the scheme that was used. @see RFC 6749 §5.2 */
export function invalidClient (method: ClientCredentials['method'] | undefined): OAuthError {
  return new OAuthError('invalid_client', 'Client authentication failed.', method === 'client_secret_basic'
    ? { headers: { 'www-authenticate': 'Basic realm="token", charset="UTF-8"' } }
    : {})
}

function basicCredentials (encoded: string): { clientId: string, clientSecret: string } {
  if (encoded.length > MAX_BASIC_LENGTH || !/^[A-Za-z0-9+/]+={0,2}$/.test(encoded)) throw invalidClient('client_secret_basic')
  const text = Buffer.from(encoded, 'base64').toString('utf8')
  const colon = text.indexOf(':')
  if (colon < 1) throw invalidClient('client_secret_basic')
  try {
    return { clientId: formDecode(text.slice(0, colon)), clientSecret: formDecode(text.slice(colon + 1)) }
  } catch {
    throw invalidClient('client_secret_basic')
  }
}

/** Id and secret are form-encoded inside the Basic credentials. @see RFC 6749 §2.3.1, appendix B */
function formDecode (text: string): string {
  return decodeURIComponent(text.replaceAll('+', ' '))
}
