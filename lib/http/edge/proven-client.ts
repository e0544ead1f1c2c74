import type { FastifyReply, FastifyRequest } from 'fastify'
import { OAuthError } from '../../errors.ts'
import { authenticateClient } from '../../oauth/authenticate-client.ts'
import type { Client } from '../../ports/client-store.ts'
import { type ClientParams, invalidClient } from '../../protocol/client-authentication.ts'
import type { HttpDeps } from './endpoint.ts'
import { rememberClient } from './cors.ts'
import { readProof, tellNonce } from './possession.ts'
import { originOf } from './request-origin.ts'

interface ProvenClient {
  /** `null`: the request names no client. */
  client: Client | null
  /** The thumbprint of the key of the request's DPoP proof. `null`: the request has no proof. */
  jkt: string | null
}

/**
 * Authenticates the client of a request that begins a grant, and checks its DPoP proof. A failure counts as an attempt,
 * but a refusal that only asks for a nonce does not. Uses the proof up last.
 * @param accept may throw to refuse the client, before the proof is used up
 * @throws OAuthError
 * @see RFC 9449 §5, §8, §10.1
 */
export async function provenClient<Accepted extends ProvenClient>(
  request: FastifyRequest,
  reply: FastifyReply,
  params: ClientParams,
  { clientsOf, grants, limiter }: Pick<HttpDeps, 'clientsOf' | 'grants' | 'limiter'>,
  accept: (found: ProvenClient) => Accepted
): Promise<Accepted> {
  const { possession } = grants
  const found = await limiter.countFailure(request, reply, async () => {
    const proof = readProof(request, possession)
    if (proof instanceof OAuthError) return proof
    const client = await authenticateClient(request.headers.authorization, params, originOf(request), {
      clients: clientsOf(request),
      grants
    })
    const accepted = accept({ client, jkt: proof?.jkt ?? null })
    if (proof !== null) {
      await possession?.spend(proof)
      tellNonce(proof, reply)
    }
    return accepted
  })
  if (found instanceof OAuthError) throw found
  if (found.client !== null) rememberClient(request, found.client.clientId)
  return found
}

/** Refuses a request that names no client. @throws OAuthError `invalid_client` */
export function clientAlone({ client, jkt }: ProvenClient): ProvenClient & { client: Client } {
  if (client === null) throw invalidClient(undefined)
  return { client, jkt }
}
