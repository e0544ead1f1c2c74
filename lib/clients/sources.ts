import type { Asking, ClientSource, Clients, ClientStore } from '../ports/client-store.ts'

/** For the holder of a good token. Their fetches have no limit, because no stranger has a token. */
export const BY_TOKEN: Asking = { fetching: async (work) => await work() }

/** The registered clients, then those of features. `sources` may get its entries later, at the start. */
export function withSources(registered: ClientStore, sources: readonly ClientSource[]): Clients {
  return {
    async findById(clientId, asking = {}) {
      const client = await registered.findById(clientId)
      if (client !== null || sources.length === 0) return client
      return (await sources.find((source) => source.takes(clientId))?.find(clientId, asking)) ?? null
    }
  }
}
