import { authMethodsOf } from '../clients/rights.ts'
import { OAuthError } from '../errors.ts'
import type { ClientFailure, Origin } from '../events.ts'
import type { Client, ClientStore } from '../ports/client-store.ts'
import {
  type AuthMethod,
  clientCredentials,
  type ClientParams,
  invalidClient,
  readClientAssertion,
  signatureProblem
} from '../protocol/client-authentication.ts'
import { equalSecrets } from '../protocol/digest.ts'
import type { GrantDeps } from './deps.ts'

interface Deps {
  clients: ClientStore
  grants: Pick<GrantDeps, 'accounts' | 'assertions' | 'clientKeys'>
}

interface Failure {
  reason: ClientFailure
  client: Client | null
  /** The text of the error for the client, if the client may learn more than the general text. */
  why?: string
  /** Details of the reason, for the log only. */
  detail?: string
}

/**
 * Authenticates the client of a request. Returns `null` if the request names no client.
 * A client with a secret or keys must prove that it has them. A public client must not send any proof.
 * A failed authentication emits `client_authentication_failed`.
 * @throws OAuthError `invalid_client`, `invalid_request`; `temporarily_unavailable` if the keys at the client's
 * `jwksUri` can't be read. Rejects with the error of a store that fails.
 * @see RFC 6749 §2.3, §3.2.1, RFC 7523 §3
 */
export async function authenticateClient(
  authorization: string | undefined,
  params: ClientParams,
  origin: Origin,
  { clients, grants }: Deps
): Promise<Client | null> {
  const fail = (method: AuthMethod, { reason, client, why, detail }: Failure): OAuthError => {
    const { events } = grants.accounts
    events.emit('client_authentication_failed', { reason, clientId: client?.clientId ?? null, method }, origin)
    return invalidClient(method, { why, detail: detail === undefined ? reason : `${reason}: ${detail}` })
  }
  let credentials: ReturnType<typeof clientCredentials>
  try {
    credentials = clientCredentials(authorization, params)
  } catch (error) {
    if (error instanceof OAuthError && error.error === 'invalid_client')
      throw fail('client_secret_basic', { reason: 'malformed_credentials', client: null })
    throw error
  }
  if (credentials === undefined) return null
  const { method } = credentials
  const proved =
    method === 'private_key_jwt'
      ? await provedByKey(credentials, clients, grants)
      : await provedBySecret(credentials, clients)
  if ('reason' in proved) throw fail(method, proved)
  return proved
}

async function provedBySecret(
  credentials: Exclude<NonNullable<ReturnType<typeof clientCredentials>>, { method: 'private_key_jwt' }>,
  clients: ClientStore
): Promise<Client | Failure> {
  const { method } = credentials
  const asSent = method === 'client_secret_basic' ? credentials.asSent : undefined
  let client = await clients.findById(credentials.clientId)
  if (client === null && asSent !== undefined && asSent.clientId !== credentials.clientId)
    client = await clients.findById(asSent.clientId)
  const presented = method === 'none' ? '' : credentials.clientSecret
  // Compares both spellings (form-decoded and as sent) for unknown clients too, so that the time does not reveal which
  // clients exist.
  const secret = client?.clientSecret ?? ''
  const spellings = [presented, asSent?.clientSecret ?? presented].map((spelling) => equalSecrets(spelling, secret))
  if (client === null) return { reason: 'unknown_client', client }
  const methods = authMethodsOf(client)
  if (methods.includes('private_key_jwt') && presented !== '') return { reason: 'wrong_method', client }
  // An empty secret in a host's own client store is a mistake, and must not make a confidential client open to all.
  if (client.clientSecret === '' || !spellings.includes(true))
    return { reason: presented === '' ? 'no_secret' : 'wrong_secret', client }
  return methods.includes(method) ? client : { reason: presented === '' ? 'no_secret' : 'wrong_method', client }
}

/**
 * Accepts only the keys of the client's registration. Marks the assertion as used last, so that a refusal does not use
 * it up.
 */
async function provedByKey(
  { assertion: text, clientId }: { assertion: string; clientId: string | undefined },
  clients: ClientStore,
  { accounts, assertions, clientKeys }: Deps['grants']
): Promise<Client | Failure> {
  const assertion = readClientAssertion(text, accounts.issuer, accounts.clock.now())
  if (typeof assertion === 'string') return { reason: 'malformed_credentials', client: null, why: assertion }
  if (clientId !== undefined && clientId !== assertion.clientId)
    throw new OAuthError('invalid_request', 'client_id differs from the one in client_assertion.')
  const client = await clients.findById(assertion.clientId)
  if (client === null) return { reason: 'unknown_client', client }
  if (!authMethodsOf(client).includes('private_key_jwt')) return { reason: 'wrong_method', client }
  const problem = signatureProblem(assertion, await clientKeys(client, assertion.kid))
  if (problem !== null) return { reason: 'wrong_signature', client, detail: problem }
  if ((await assertions?.claim(assertion.replayKey, assertion.rememberedUntil)) !== 'fresh')
    return { reason: 'replayed', client, why: 'client_assertion was used before: each needs a jti of its own.' }
  return client
}
