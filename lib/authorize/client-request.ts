import { mayBeAnsweredAt } from '../clients/rights.ts'
import { OAuthError } from '../errors.ts'
import type { ClientLookup, Client } from '../ports/client-store.ts'
import type { AuthorizationParams } from '../protocol/authorization-params.ts'
import type { Advised, AuthorizeDeps } from './deps.ts'
import type { Advice } from '../ports/log.ts'

const CODE = 'FST_AUTHORITY_CLIENT_MISFIT'
/** The maximum length of a value in the log before it is escaped, in characters. */
const MOST_SHOWN = 300
const MOST_LISTED = 10

/**
 * Returns the URI if it can be parsed and contains neither user name nor password. Any other text may be a misplaced
 * secret, so nobody may show it.
 */
export function addressIn(uri: string): string | undefined {
  if (!URL.canParse(uri)) return undefined
  const { username, password } = new URL(uri)
  return username === '' && password === '' ? uri : undefined
}

/**
 * Formats a value for the log. Drops the query and the fragment, which may contain secrets. Escapes control and
 * non-ASCII characters, which could act on a terminal or break the line.
 */
const shown = (value: string): string =>
  JSON.stringify(value.split(/[?#]/, 1)[0]?.slice(0, MOST_SHOWN) ?? '').replaceAll(/[^\x20-\x7e]/g, escaped)

const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`

/**
 * Describes a refused address for the log. Shows the origin, and the path segments that a registered address has too.
 * Any other segment may be a secret, so only its length is shown.
 */
function shapeOf(uri: string, registered: readonly string[]): string {
  const known = new Set(['', ...registered.flatMap((one) => one.split('/'))])
  const [address = ''] = uri.split(/[?#]/, 1)
  const [origin = ''] = /^[^/:]*:(?:\/\/[^/\\]*)?/.exec(address) ?? []
  const parts = address.slice(origin.length).split('/')
  return origin + parts.map((part) => (known.has(part) ? part : `<${part.length} characters>`)).join('/')
}

/**
 * The log advice for a request whose client is not registered. All unknown ids share one `cause`, because strangers can
 * invent ids.
 */
export function unknownClient(clientId: string): Advice {
  return {
    code: CODE,
    cause: 'unknown client',
    text:
      `a request names the client ${shown(clientId)}, which is not registered: look at its client_id, or add it to ` +
      'the option clients.'
  }
}

/** The log advice for a registered client that sent an address which is not registered for it. */
export function unregisteredUri(
  { clientId, ...client }: Client,
  list: 'redirectUris' | 'postLogoutRedirectUris',
  uri: string
): Advice {
  const registered = client[list] ?? []
  const address = addressIn(uri)
  const sent = address === undefined ? 'no address' : shown(shapeOf(address, registered))
  const listed = registered.slice(0, MOST_LISTED).map(shown).join(', ')
  const rest = registered.length > MOST_LISTED ? ` and ${registered.length - MOST_LISTED} more` : ''
  return {
    code: CODE,
    cause: `${list} ${clientId}`,
    text:
      `the client ${shown(clientId)} sent ${sent}, which is not in its ` +
      `${list} (${listed === '' ? 'it has none' : `${listed}${rest}`}). Addresses are compared character ` +
      'by character, with the port, the path, the query and the slash at the end.'
  }
}

/** An authorization request of a known client, with a redirect URI at which it may be answered. */
export interface ClientRequest {
  params: AuthorizationParams
  client: Client
  redirectUri: string
}

/**
 * Looks up the client of a request and checks its redirect URI. An error here is shown to the person and never sent to
 * the redirect URI, which may belong to anybody.
 * @throws OAuthError `invalid_client`, `invalid_request`
 * @see RFC 6749 §3.1.2.4, §4.1.2.1, RFC 9700 §2.1
 */
export async function clientRequest(
  params: AuthorizationParams,
  { clients, accounts }: Pick<AuthorizeDeps, 'clients'> & Advised,
  asking: ClientLookup = {}
): Promise<ClientRequest> {
  const { client_id: clientId, redirect_uri: redirectUri } = params
  if (clientId === undefined)
    throw new OAuthError('invalid_request', 'client_id is missing.', { detail: 'client_id is missing' })
  const client = await clients.findById(clientId, asking)
  if (client === null) {
    accounts.advise(unknownClient(clientId))
    throw new OAuthError('invalid_client', 'There is no such client.', {
      statusCode: 400,
      reason: 'unknown_client',
      detail: 'client_id is not registered'
    })
  }
  // `redirect_uri` is required even if the client registered only one: OpenID Connect Core 1.0 §3.1.2.1.
  if (redirectUri === undefined)
    throw new OAuthError('invalid_request', 'redirect_uri is missing.', {
      detail: `redirect_uri of the client ${clientId} is missing`
    })
  if (!mayBeAnsweredAt(client, redirectUri)) {
    accounts.advise(unregisteredUri(client, 'redirectUris', redirectUri))
    throw new OAuthError('invalid_request', 'redirect_uri is not registered for this client.', {
      reason: 'redirect_uri_mismatch',
      detail: `redirect_uri is not registered for the client ${clientId}`,
      sent: addressIn(redirectUri)
    })
  }
  return { params, client, redirectUri }
}
