import { boundedQueue } from '../delivery/bounded-queue.ts'
import type { Client, ClientStore } from '../ports/client-store.ts'
import type { Clock } from '../ports/clock.ts'
import type { FormPost } from '../ports/outbound.ts'
import type { BrowserSession } from '../ports/session-store.ts'
import type { IdTokens } from '../tokens/id-tokens.ts'

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

/** A client that has to hear of a session's end. */
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
