import { mayBeAnsweredAt } from '../clients/rights.ts'
import { OAuthError } from '../errors.ts'
import type { Asking, Client } from '../ports/client-store.ts'
import type { AuthorizationParams } from '../protocol/authorization-params.ts'
import type { Advised, AuthorizeDeps } from './deps.ts'
import { addressIn, unknownClient, unregisteredUri } from './misfit.ts'

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
  asking: Asking = {}
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
  // Required also of a client with one redirect URI: OpenID Connect Core 1.0 §3.1.2.1.
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
