import { OAuthError } from '../errors.ts'
import type { ClientFailure, Events, Origin } from '../events.ts'
import type { Client, ClientStore } from '../ports/client-store.ts'
import { clientCredentials, invalidClient } from '../protocol/client-authentication.ts'
import { equalSecrets } from '../protocol/digest.ts'

interface Deps {
  clients: ClientStore
  events: Events
}

/**
 * The client that a request proves to be; `null` where it names none.
 * A confidential client must prove its secret, a public one must not send any.
 * A failure is the event `client_authentication_failed`.
 * @throws OAuthError `invalid_client`, `invalid_request`
 * @see RFC 6749 §2.3, §3.2.1
 */
export async function authenticateClient(
  authorization: string | undefined,
  params: { client_id?: string; client_secret?: string },
  origin: Origin,
  { clients, events }: Deps
): Promise<Client | null> {
  const credentials = readCredentials(authorization, params, origin, events)
  if (credentials === undefined) return null
  const asSent = credentials.method === 'client_secret_basic' ? credentials.asSent : undefined
  let client = await clients.findById(credentials.clientId)
  if (client === null && asSent !== undefined && asSent.clientId !== credentials.clientId)
    client = await clients.findById(asSent.clientId)
  const presented = credentials.method === 'none' ? '' : credentials.clientSecret
  // Both comparisons are made for unknown clients too, so that the time does not tell which clients there are.
  const secret = client?.clientSecret ?? ''
  const spellings = [presented, asSent?.clientSecret ?? presented].map((spelling) => equalSecrets(spelling, secret))
  const matches = spellings.includes(true)
  // An empty secret in a host's own client store is a mistake, and must not make a confidential client open to all.
  if (client === null || client.clientSecret === '' || !matches) {
    const reason: ClientFailure = client === null ? 'unknown_client' : presented === '' ? 'no_secret' : 'wrong_secret'
    events.emit(
      'client_authentication_failed',
      { reason, clientId: client?.clientId ?? null, method: credentials.method },
      origin
    )
    throw invalidClient(credentials.method)
  }
  return client
}

function readCredentials(
  authorization: string | undefined,
  params: { client_id?: string; client_secret?: string },
  origin: Origin,
  events: Events
): ReturnType<typeof clientCredentials> {
  try {
    return clientCredentials(authorization, params)
  } catch (error) {
    if (error instanceof OAuthError && error.error === 'invalid_client')
      events.emit(
        'client_authentication_failed',
        { reason: 'malformed_credentials', clientId: null, method: 'client_secret_basic' },
        origin
      )
    throw error
  }
}
