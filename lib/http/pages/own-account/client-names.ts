import type { FastifyRequest } from 'fastify'
import type { ClientStore } from '../../../ports/client-store.ts'
import { clientsOf } from '../../edge/client-origins.ts'

/** What people know clients by, each looked up once. One that is gone, or has no name, has its id. */
export async function clientNames (request: FastifyRequest, clientIds: readonly string[], { clients }: { clients: ClientStore }): Promise<(clientId: string) => string> {
  const asked = clientsOf(request, clients)
  const names = new Map(await Promise.all([...new Set(clientIds)].map(async (clientId) => [clientId, (await asked.findById(clientId))?.name ?? clientId] as const)))
  return (clientId) => names.get(clientId) ?? clientId
}
