import type { Kernel, Parts } from '../../feature.ts'
import type { ClientSource } from '../../ports/client-store.ts'
import { digest, partitionOf } from '../../protocol/digest.ts'
import { clientDocuments } from './documents.ts'
import { registrationEndpoint } from './endpoints.ts'
import type { UnknownClientSettings } from './options.ts'
import { registrations } from './registrations.ts'

/** The duration of a block in milliseconds: a hundred years. */
const FOR_GOOD_MS = 36_525 * 86_400_000

export function create({ documents, registration, takenNames }: UnknownClientSettings, kernel: Kernel): Parts {
  const { accounts, settings } = kernel
  const { clock, issuer, advise, oneTimeTokens, onError } = accounts
  const { accessToken, apis } = settings
  // Not a list, because the app may add APIs later.
  const isAudience = (id: string): boolean =>
    [accessToken.audience].flat().includes(id) || apis.resources.some(({ resource }) => resource === id)
  const registered =
    registration === null ? null : registrations(kernel.keysFor('client registration'), { ...registration, takenNames })
  const sources: ClientSource[] = [
    ...(documents === null
      ? []
      : [
          clientDocuments(
            { ...documents, issuer, takenNames, isAudience },
            { outbound: kernel.outbound, clock, advise, onError }
          )
        ]),
    ...(registered === null ? [] : [registered])
  ]

  /** Returns the owner of the block of a client. The state stores a block as a one-time token that nobody redeems. */
  const ownerOf = (clientId: string): string => `client ${clientId}`
  const blockOf = (clientId: string): string => `${partitionOf(ownerOf(clientId))}${digest(clientId)}`
  const isBlocked = async (clientId: string): Promise<boolean> =>
    (await oneTimeTokens.find('blocked_client', blockOf(clientId), clock.now())) !== null

  async function requireUnknown(method: string, clientId: unknown): Promise<string> {
    if (typeof clientId !== 'string' || !sources.some(({ takes }) => takes(clientId)))
      throw new TypeError(`app.authority.${method} takes the id of a client that nobody registered.`)
    return clientId
  }

  return {
    clients: sources.map(({ takes, find }) => ({
      takes,
      find: async (clientId, asking) => ((await isBlocked(clientId)) ? null : await find(clientId, asking))
    })),
    metadata: {
      ...(documents === null ? {} : { client_id_metadata_document_supported: true }),
      ...(registered === null ? {} : { registration_endpoint: kernel.url('clients') })
    },
    endpoints: registered === null ? [] : registrationEndpoint(registered, clock),
    authority: () => ({
      async blockClient(clientId) {
        const userId = ownerOf(await requireUnknown('blockClient', clientId))
        const expiresAt = clock.now() + FOR_GOOD_MS
        await oneTimeTokens.put({ purpose: 'blocked_client', digest: blockOf(clientId), userId, expiresAt })
      },
      async unblockClient(clientId) {
        await oneTimeTokens.discard('blocked_client', ownerOf(await requireUnknown('unblockClient', clientId)))
      }
    })
  }
}
