import type { FastifyRequest } from 'fastify'
import { originsOf } from '../../clients/rights.ts'
import type { Client, ClientStore } from '../../ports/client-store.ts'
import { clientCredentials } from '../../protocol/client-authentication.ts'

/** The clients as one request sees them. */
export type ClientsOf = (request: FastifyRequest) => ClientStore

/**
 * Asks a host's client store for a client once a request, for all callers. Of two plugins in one host, each has its
 * own; a listed client needs none of this.
 */
export function oncePerRequest(clients: ClientStore): ClientsOf {
  const views = new WeakMap<FastifyRequest, ClientStore>()
  return (request) => {
    const view = views.get(request) ?? remembering(clients)
    views.set(request, view)
    return view
  }
}

function remembering(clients: ClientStore): ClientStore {
  const known = new Map<string, Promise<Client | null>>()
  return {
    findById(clientId) {
      const client = known.get(clientId) ?? clients.findById(clientId)
      known.set(clientId, client)
      return client
    }
  }
}

/**
 * True if the origin is one of a registered client, so that a page of it may have sent the request. Rejects if a client
 * store does.
 */
export type IsRegistered = (request: FastifyRequest, origin: string) => boolean | Promise<boolean>

/**
 * Of listed clients, the set of origins is made once. A store can't be asked by origin: there the origin must be one of
 * the client that the request names, which may be in its body.
 */
export function registeredOrigins(clients: readonly Client[] | ClientsOf): {
  isRegistered: IsRegistered
  needsBody: boolean
} {
  if (typeof clients !== 'function') {
    const known = new Set(clients.flatMap(originsOf))
    return { isRegistered: (_request, origin) => known.has(origin), needsBody: false }
  }
  return {
    async isRegistered(request, origin) {
      const clientId = claimedClientId(request)
      const client = clientId === undefined ? null : await clients(request).findById(clientId)
      return client !== null && originsOf(client).includes(origin)
    },
    needsBody: true
  }
}

/**
 * The client that the request says it is of. It has proved nothing yet: its page must still be of an origin of that
 * client.
 */
export function claimedClientId({ body, headers }: FastifyRequest): string | undefined {
  const { client_id: clientId } = typeof body === 'object' && body !== null ? (body as { client_id?: unknown }) : {}
  try {
    return clientCredentials(headers.authorization, typeof clientId === 'string' ? { client_id: clientId } : {})
      ?.clientId
  } catch {
    return undefined
  }
}
