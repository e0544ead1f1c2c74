import { OAuthError } from '../errors.ts'

/** A request's claim about its client. `none`: `client_id` alone, a public client. @see RFC 6749 §2.3 */
type ClientCredentials =
  | (BasicCredentials & { method: 'client_secret_basic' })
  | (IdAndSecret & { method: 'client_secret_post' })
  | { method: 'none'; clientId: string }

interface IdAndSecret {
  clientId: string
  clientSecret: string
}
/** The form-decoded and the raw value, because many clients do not encode and mean a `+` or `%` literally. */
interface BasicCredentials extends IdAndSecret {
  asSent: IdAndSecret
}

const MAX_BASIC_LENGTH = 4096
/**
 * The scheme, with or without anything after it: a failed attempt must not pass for a request without client
 * authentication.
 */
const BASIC = /^basic(?![\w!#$%&'*+.^`|~-])/i

/**
 * Reads the client's credentials from the header and the parameters; `undefined` where there are none.
 * @throws OAuthError `invalid_request` where two methods are used at once, `invalid_client` where the header is
 * malformed
 * @see RFC 6749 §2.3.1
 */
export function clientCredentials(
  authorization: string | undefined,
  params: { client_id?: string; client_secret?: string }
): ClientCredentials | undefined {
  const { client_id: clientId, client_secret: clientSecret } = params
  if (authorization !== undefined && BASIC.test(authorization)) {
    const basic = basicCredentials(authorization.slice(5).trim())
    if (clientSecret !== undefined)
      throw new OAuthError('invalid_request', 'Use one way of client authentication, not two.')
    if (clientId !== undefined && clientId !== basic.clientId && clientId !== basic.asSent.clientId)
      throw new OAuthError('invalid_request', 'client_id differs from the one in the Authorization header.')
    return { method: 'client_secret_basic', ...basic }
  }
  if (clientSecret !== undefined) {
    if (clientId === undefined) throw new OAuthError('invalid_request', 'client_secret needs a client_id.')
    return { method: 'client_secret_post', clientId, clientSecret }
  }
  return clientId === undefined ? undefined : { method: 'none', clientId }
}

/** 401 with the challenge of the scheme that was used. @see RFC 6749 §5.2 */
export function invalidClient(method: ClientCredentials['method'] | undefined): OAuthError {
  return new OAuthError(
    'invalid_client',
    'Client authentication failed.',
    method === 'client_secret_basic' ? { headers: { 'www-authenticate': 'Basic realm="token", charset="UTF-8"' } } : {}
  )
}

function basicCredentials(encoded: string): BasicCredentials {
  if (encoded.length > MAX_BASIC_LENGTH || !/^[A-Za-z0-9+/]+={0,2}$/.test(encoded))
    throw invalidClient('client_secret_basic')
  const text = Buffer.from(encoded, 'base64').toString('utf8')
  const colon = text.indexOf(':')
  if (colon < 1) throw invalidClient('client_secret_basic')
  const asSent = { clientId: text.slice(0, colon), clientSecret: text.slice(colon + 1) }
  return { clientId: formDecode(asSent.clientId), clientSecret: formDecode(asSent.clientSecret), asSent }
}

/**
 * Id and secret are form-encoded inside the Basic credentials. A value that can't be decoded was not encoded.
 * @see RFC 6749 §2.3.1, appendix B
 */
function formDecode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return text
  }
}
