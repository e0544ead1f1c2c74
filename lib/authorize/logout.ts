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
  /** The user must confirm the sign-out first. Nothing has changed yet. */
  | { outcome: 'confirm'; session: BrowserSession; client: Client | null; redirectUri: string | null }
  /**
   * Nobody is signed in now, and the browser does not return to a client: the request has no usable return address, or
   * has neither an `id_token_hint` nor a confirmation. `ended`: true if this request ended a session.
   */
  | { outcome: 'signed_out'; ended: boolean; client: Client | null }
  /** Nobody is signed in now, and the browser returns to the client. */
  | { outcome: 'redirect'; ended: boolean; location: string }

interface LogoutContext extends BrowserContext {
  /** True if the user pressed the button of our own page. */
  confirmed: boolean
}

type LogoutDeps = Pick<AuthorizeDeps, 'clients' | 'idTokens' | 'sessions'> & Advised

/**
 * RP-Initiated Logout. Signs out at once if the `id_token_hint` names the session of this browser, or has no `sid` and
 * names its user. Otherwise the user must confirm. Without a session cookie, ends the session that the `id_token_hint`
 * names, because a gateway may call from its server. A holder of the `id_token_hint` could end that session through the
 * browser too. Redirects only to a registered URI of the client that the `id_token_hint` is for, or, after a
 * confirmation, of the client that `client_id` names. A refused request leaves the session as it is. If the signature
 * of the `id_token_hint` cannot be verified (its key may be gone), a signed-in user must confirm, and the browser does
 * not return to the client. Tokens of other clients with `offline_access` stay valid.
 * @throws OAuthError `invalid_request` for an `id_token_hint` of another client, an unknown client, or an unregistered
 * URI
 * @see OpenID Connect RP-Initiated Logout 1.0 §2, §3, OpenID Connect Back-Channel Logout 1.0 §2.7
 */
export async function logout(
  params: LogoutParams,
  { session, origin, confirmed }: LogoutContext,
  deps: LogoutDeps
): Promise<LogoutOutcome> {
  const hint = await readHint(params, deps)
  const client = await clientOf(params, hint, deps)
  // An `id_token_hint` that cannot be verified proves nothing, so the browser does not return to the client.
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
  // A `client_id` alone proves nothing, so it causes no redirect. An `id_token_hint` proves that the client was given
  // tokens for this user. §3
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
  // An `id_token_hint` of a client that is no longer registered still names the user and the session.
  if (client === null && hint === null && clientId !== undefined) {
    accounts.advise(unknownClient(clientId))
    throw refused('There is no such client.', { reason: 'unknown_client', detail: 'client_id is not registered' })
  }
  return client
}

/**
 * Returns the `post_logout_redirect_uri` if the client has registered it, and `null` if none was sent. Compares
 * character by character. Unlike for redirect URIs, the port of a loopback address must match too. A URI that could not
 * be registered today matches nothing.
 * @throws OAuthError `invalid_request`
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

/** The session that the `sid` of an `id_token_hint` names. `null`: no `sid`, or the client is no longer registered. */
function sessionOf(hint: IdTokenHint | null, client: Client | null): Pick<BrowserSession, 'userId' | 'sid'> | null {
  return hint?.sid === undefined || client === null ? null : { userId: hint.sub, sid: hint.sid }
}

function refused(description: string, options?: OAuthErrorOptions): OAuthError {
  return new OAuthError('invalid_request', description, options)
}

export interface BackChannelLogout {
  /** Queues the notices for sessions that have ended. Returns at once and never throws. */
  sessionsEnded(ended: readonly BrowserSession[]): void
  /** Accepts no more notices, tries each waiting notice once, and resolves when all are tried, or after 5 seconds. */
  close(): Promise<void>
}

export interface BackChannelLogoutDeps {
  clients: ClientStore
  idTokens: Pick<IdTokens, 'ready' | 'mintLogoutToken'>
  formPost: FormPost
  clock: Clock
  /**
   * Called for each client that could not be told, with an error that contains no token. Of the notices that a full
   * queue drops in one overload, called for the first, and at the end with the number of all. Must not throw.
   */
  onError(error: unknown, what: string): void
  /** The maximum number of notices that wait, are in flight or wait for a retry, all together. Default: 1000. */
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
 * Tells the clients that took part in a session that the session has ended. No reply waits for this, so a client that
 * hangs, fails or redirects delays nobody. Tries each notice twice, then reports the failure. Sends at most 4 notices
 * at a time. Keeps notices in memory: a process that dies loses its unsent notices, and the client's own session then
 * lives until it expires.
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
  /** Resolves to `null` if the client was told or needs no notice, otherwise to the reason of the failure. */
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
    // Limits a whole try, because a client store that hangs would otherwise block one of the parallel tries for good.
    timeoutMs: 2 * TIMEOUT_MS,
    retriesTimeouts: true,
    clock,
    async attempt(notice) {
      // Logs only the reason, because an error of the engine that signs might quote the token.
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
