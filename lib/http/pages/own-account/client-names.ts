import type { ClientStore } from '../../../ports/client-store.ts'

/** What people know clients by, each looked up once. One that is gone, or has no name, has its id. */
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
