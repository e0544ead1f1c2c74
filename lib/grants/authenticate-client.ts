import type { Client, ClientStore } from '../ports/client-store.ts'
import { clientCredentials, invalidClient } from '../protocol/client-authentication.ts'
import { equalSecrets } from '../protocol/digest.ts'

/**
 * The client that a request proves to be; `null` where it names none.
 * A confidential client must prove its secret, a public one must not send any.
 * @throws OAuthError `invalid_client`, `invalid_request`
 * @see RFC 6749 §2.3, §3.2.1
 */
export async function authenticateClient (authorization: string | undefined, params: { client_id?: string, client_secret?: string }, clients: ClientStore): Promise<Client | null> {
  const credentials = clientCredentials(authorization, params)
  if (credentials === undefined) return null
  const client = await clients.findById(credentials.clientId)
  const presented = credentials.method === 'none' ? undefined : credentials.clientSecret
  // An unknown client costs the same comparison as a known one.
  const matches = equalSecrets(presented ?? '', client?.clientSecret ?? '')
  // An empty secret in a host's own client store is a mistake, and must not make a confidential client open to all.
  if (client === null || client.clientSecret === '' || !matches) throw invalidClient(credentials.method)
  return client
}
