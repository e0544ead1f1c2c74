import { isFirstParty } from '../clients/rights.ts'
import type { ClientStore } from '../ports/client-store.ts'
import type { AccessTokenClaims } from '../protocol/access-token.ts'
import { firstPartyOnly } from '../protocol/bearer.ts'

/**
 * Lets in tokens of no client, and of clients that are the host's own by the client list of now. A token of a client
 * that is gone is refused.
 * @throws OAuthError `insufficient_scope`
 */
export async function requireFirstParty(
  { client_id: clientId }: AccessTokenClaims,
  clients: ClientStore
): Promise<void> {
  if (clientId === undefined) return
  const client = await clients.findById(clientId)
  if (client === null || !isFirstParty(client)) throw firstPartyOnly()
}
