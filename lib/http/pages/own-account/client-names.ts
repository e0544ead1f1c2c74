import type { ClientStore } from '../../../ports/client-store.ts'

/** The names of clients, each read once. A removed or unnamed client has its id. */
export async function clientNames(
  clientIds: readonly string[],
  { clients }: { clients: ClientStore }
): Promise<(clientId: string) => string> {
  const names = new Map(
    await Promise.all(
      [...new Set(clientIds)].map(
        async (clientId) => [clientId, (await clients.findById(clientId))?.name ?? clientId] as const
      )
    )
  )
  return (clientId) => names.get(clientId) ?? clientId
}
