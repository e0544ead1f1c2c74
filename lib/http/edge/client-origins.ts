import type { FastifyRequest } from 'fastify'
import { originsOf } from '../../clients/rights.ts'
import type { Client, ClientStore } from '../../ports/client-store.ts'
import { clientCredentials } from '../../protocol/client-authentication.ts'

const found = new WeakMap<FastifyRequest, Map<string, Promise<Client | null>>>()

/** The clients as one request sees them: a store is asked for each of them once, whoever needs it. */
export function clientsOf (request: FastifyRequest, clients: ClientStore): ClientStore {
  const known = found.get(request) ?? new Map<string, Promise<Client | null>>()
  found.set(request, known)
  return {
    findById (clientId) {
      const client = known.get(clientId) ?? clients.findById(clientId)
      known.set(clientId, client)
      return client
    }
  }
}

/** Whether the origin is one of a registered client, so that a page of it may have sent the request. Rejects where a client store does. */
export type IsRegistered = (request: FastifyRequest, origin: string) => boolean | Promise<boolean>

/**
 * `clients` as in the options. Of an array, the set of origins is made once. A store can't be asked by origin: there the origin must be
 * one of the client that the request names, which may be in its body.
 */
export function registeredOrigins (clients: readonly Client[] | ClientStore): { isRegistered: IsRegistered, needsBody: boolean } {
  if (!('findById' in clients)) {
    const known = new Set(clients.flatMap(originsOf))
    return { isRegistered: (_request, origin) => known.has(origin), needsBody: false }
  }
  return {
    async isRegistered (request, origin) {
      const clientId = claimedClientId(request)
      const client = clientId === undefined ? null : await clientsOf(request, clients).findById(clientId)
      return client !== null && originsOf(client).includes(origin)
    },
    needsBody: true
  }
}

/** The client that the request says it is of. It has proved nothing yet: its page must still be of an origin of that client. */
export function claimedClientId ({ body, headers }: FastifyRequest): string | undefined {
  const { client_id: clientId } = typeof body === 'object' && body !== null ? body as { client_id?: unknown } : {}
  try {
    return clientCredentials(headers.authorization, typeof clientId === 'string' ? { client_id: clientId } : {})?.clientId
  } catch {
    return undefined
  }
}
