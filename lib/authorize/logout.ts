import { OAuthError, type OAuthErrorOptions } from '../errors.ts'
import type { Client, ClientStore } from '../ports/client-store.ts'
import type { BrowserSession } from '../ports/session-store.ts'
import { authorizationResponse } from '../protocol/authorization-request.ts'
import type { LogoutParams } from '../protocol/request-params.ts'
import { checkRegistrableRedirectUri } from '../protocol/redirect-uri.ts'
import type { IdTokenHint, IdTokens } from '../tokens/id-tokens.ts'
import type { Advised, AuthorizeDeps, BrowserContext } from './deps.ts'
import { addressIn, unknownClient, unregisteredUri } from './client-request.ts'
import { boundedQueue } from '../delivery/bounded-queue.ts'
import type { Clock } from '../ports/clock.ts'
import type { FormPost } from '../ports/outbound.ts'

export type LogoutOutcome =
  /** The person has to say that they want to sign out. Nothing has happened yet. */
  | { outcome: 'confirm'; session: BrowserSession; client: Client | null; redirectUri: string | null }
  /** No user is signed in (any more), and there is no address to lead to. `ended`: a user was, until now. */
  | { outcome: 'signed_out'; ended: boolean; client: Client | null }
  /** Nobody is signed in (any more). */
  | { outcome: 'redirect'; ended: boolean; location: string }

interface LogoutContext extends BrowserContext {
  /** The person pressed the button of our own page. */
  confirmed: boolean
}

type LogoutDeps = Pick<AuthorizeDeps, 'clients' | 'idTokens' | 'sessions'> & Advised

/**
 * RP-Initiated Logout. Signs out at once if the hint is of this very session, otherwise only after the person confirmed
 * it. Without a session here, the session that the hint names ends, because a gateway may call from its server, which
 * has no cookie. The holder of such a hint is a client of that session, and could end it by leading the browser here as
 * well. The answer leads back only to a registered URI of the client that the hint is for, or, after the person
 * confirmed, of the client that `client_id` names. A refused request leaves the session as it is. A hint that can't be
 * verified (its key may be gone) counts as none. Other clients keep their tokens with `offline_access`.
 * @throws OAuthError `invalid_request`: a hint of another client, an unknown client, a URI that is not registered
 * @see OpenID Connect RP-Initiated Logout 1.0 §2, §3, OpenID Connect Back-Channel Logout 1.0 §2.7
 */
export async function logout(
  params: LogoutParams,
  { session, origin, confirmed }: LogoutContext,
  deps: LogoutDeps
): Promise<LogoutOutcome> {
  const hint = await readHint(params, deps)
  const client = await clientOf(params, hint, deps)
  // If the hint proves nothing, the person is asked, and not led back.
  const redirectUri = hint === null && params.id_token_hint !== undefined ? null : registeredUri(params, client, deps)
  if (session !== null && !confirmed && !isOf(session, hint))
    return { outcome: 'confirm', session, client, redirectUri }
  const ending = session ?? sessionOf(hint, client)
  const ended =
    ending !== null &&
    (await deps.sessions.revokeBrowserSession(ending.userId, ending.sid, 'user', {
      clientId: client?.clientId,
      origin
    }))
  // A client_id alone proves nothing, so it does not redirect anybody. A hint proves that the client was given tokens
  // for this user. §3
  if (redirectUri === null || (hint === null && !confirmed)) return { outcome: 'signed_out', ended, client }
  const answer = authorizationResponse(redirectUri, 'query', { state: params.state })
  return { outcome: 'redirect', ended, location: answer.kind === 'redirect' ? answer.location : redirectUri }
}

async function readHint(
  { id_token_hint: token, client_id: clientId }: LogoutParams,
  { idTokens }: LogoutDeps
): Promise<IdTokenHint | null> {
  if (token === undefined) return null
  const hint = await idTokens.readHint(token)
  if (hint !== null && clientId !== undefined && clientId !== hint.aud)
    throw refused('client_id is not the client that id_token_hint was issued to.', {
      detail: 'client_id is not the aud of id_token_hint'
    })
  return hint
}

async function clientOf(
  { client_id: clientId }: LogoutParams,
  hint: IdTokenHint | null,
  { accounts, clients }: LogoutDeps
): Promise<Client | null> {
  const client = hint === null && clientId === undefined ? null : await clients.findById(hint?.aud ?? clientId ?? '')
  // A hint of a client that is no longer registered still says whose session it is.
  if (client === null && hint === null && clientId !== undefined) {
    accounts.advise(unknownClient(clientId))
    throw refused('There is no such client.', { reason: 'unknown_client', detail: 'client_id is not registered' })
  }
  return client
}

/**
 * Compared character by character. Unlike with redirect URIs, the port of a loopback address counts too. A URI that
 * could not be registered today matches nothing.
 */
function registeredUri(
  { post_logout_redirect_uri: uri }: LogoutParams,
  client: Client | null,
  { accounts }: LogoutDeps
): string | null {
  if (uri === undefined) return null
  if (client?.postLogoutRedirectUris?.includes(uri) === true && checkRegistrableRedirectUri(uri) === null) return uri
  if (client !== null) accounts.advise(unregisteredUri(client, 'postLogoutRedirectUris', uri))
  throw refused('post_logout_redirect_uri is not registered for this client.', {
    reason: 'redirect_uri_mismatch',
    detail: 'post_logout_redirect_uri is not registered',
    sent: addressIn(uri)
  })
}

function isOf(session: BrowserSession, hint: IdTokenHint | null): boolean {
  return hint !== null && hint.sub === session.userId && (hint.sid === undefined || hint.sid === session.sid)
}

/** The session that a hint names by itself, if its client is still registered. */
function sessionOf(hint: IdTokenHint | null, client: Client | null): Pick<BrowserSession, 'userId' | 'sid'> | null {
  return hint?.sid === undefined || client === null ? null : { userId: hint.sub, sid: hint.sid }
}

function refused(description: string, options?: OAuthErrorOptions): OAuthError {
  return new OAuthError('invalid_request', description, options)
}

export interface BackChannelLogout {
  /** Queues the notices for sessions that have ended. Returns at once and never throws. */
  sessionsEnded(ended: readonly BrowserSession[]): void
  /** Takes no more notices, tries each that waits once, and resolves when that is done, or after 5 seconds. */
  close(): Promise<void>
}

export interface BackChannelLogoutDeps {
  clients: ClientStore
  idTokens: Pick<IdTokens, 'ready' | 'mintLogoutToken'>
  formPost: FormPost
  clock: Clock
  /** Called for each client that could not be told, with an error that holds no token. Must not throw. */
  onError(error: unknown, what: string): void
  /** How many notices may wait. */
  capacity?: number
}

/** A client to tell of a session's end. */
interface Notice {
  clientId: string
  userId: string
  sid: string
}

const MAX_IN_FLIGHT = 4
const TIMEOUT_MS = 5_000
const RETRY_DELAY_MS = 1_000

/**
 * Tells the clients that took part in a session that it has ended. No reply waits for it, so a client that hangs, fails
 * or redirects delays nobody. Each notice is tried twice, then reported; at most 4 are sent at a time. They are kept in
 * memory: what a process has not sent when it dies is lost, and the client's own session then lives until it expires.
 * @see OpenID Connect Back-Channel Logout 1.0 §2.5, §2.7, §2.8
 */
export function createBackChannelLogout({
  clients,
  idTokens,
  formPost,
  clock,
  onError,
  capacity = 1000
}: BackChannelLogoutDeps): BackChannelLogout {
  /** Resolves to `null`, or to the reason why the client was not told. */
  async function tell({ clientId, userId, sid }: Notice): Promise<string | null> {
    const client: Client | null = await clients.findById(clientId)
    if (client?.backchannelLogoutUri === undefined) return null
    await idTokens.ready(client)
    // A new token for each try: a client refuses one that it has seen before.
    const token = await idTokens.mintLogoutToken({ client, userId, sid })
    const { status, error } = await formPost(
      client.backchannelLogoutUri,
      { logout_token: token },
      { timeoutMs: TIMEOUT_MS, thirdParty: client.firstParty === false }
    )
    // Some frameworks answer an empty 200 as 204. §2.8
    if (status === 200 || status === 204) return null
    return error === undefined ? `It answered ${status}.` : `It answered ${status}: ${JSON.stringify(error)}.`
  }

  const { add, close } = boundedQueue<Notice>({
    tasks: 'sign-out notices',
    capacity,
    maxInFlight: MAX_IN_FLIGHT,
    retryDelaysMs: [RETRY_DELAY_MS],
    // The limit of the whole try, because a client store that hangs would otherwise block its place for good.
    timeoutMs: 2 * TIMEOUT_MS,
    retriesTimeouts: true,
    clock,
    async attempt(notice) {
      // Only the reason is logged. An engine's error might quote the token.
      const reason = await tell(notice).catch(reasonOf)
      if (reason !== null) throw new Error(reason)
    },
    onGivenUp: ({ clientId, userId, sid }, error) => {
      onError(error, `the client ${clientId} was not told that session ${sid} of the user ${userId} has ended`)
    },
    onError
  })

  return {
    sessionsEnded(ended) {
      for (const { userId, sid, clientIds } of ended) {
        for (const clientId of new Set(clientIds)) add({ clientId, userId, sid })
      }
    },
    close
  }
}

function reasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
  const code: unknown = cause instanceof Error ? (cause as { code?: unknown }).code : undefined
  return typeof code === 'string'
    ? `It could not be reached: ${code}.`
    : `It could not be reached: ${cause instanceof Error ? cause.name : 'no Error'}.`
}
