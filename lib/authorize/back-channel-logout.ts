import type { Client, ClientStore } from '../ports/client-store.ts'
import type { Clock } from '../ports/clock.ts'
import type { FormPost } from '../ports/form-post.ts'
import type { BrowserSession } from '../ports/session-store.ts'
import type { IdTokens } from '../tokens/id-tokens.ts'

export interface BackChannelLogout {
  /** Takes the sessions that have ended and returns at once; never throws. */
  sessionsEnded(ended: readonly BrowserSession[]): void
  /** Takes no more, tries once what it has, and resolves when that is done or after 5 seconds. */
  close(): Promise<void>
}

export interface BackChannelLogoutDeps {
  clients: ClientStore
  idTokens: Pick<IdTokens, 'ready' | 'mintLogoutToken'>
  formPost: FormPost
  clock: Clock
  /** Hears of each client that could not be told. What it gets holds no token. Never throws. */
  onError(error: unknown, what: string): void
  /** How many may wait to be told, all together. */
  capacity?: number
}

/** A client that has to hear of a session's end. */
interface Notice {
  clientId: string
  userId: string
  sid: string
  attempts: number
}

const MAX_IN_FLIGHT = 4
const TIMEOUT_MS = 5_000
const ATTEMPTS = 2
const RETRY_DELAY_MS = 1_000
const CLOSE_TIMEOUT_MS = 5_000

/**
 * Tells the clients that took part in a session that it has ended, off the path of every reply: one that hangs, fails or redirects
 * delays nobody. Tried twice, then reported. At most 4 are told at once. In memory: what a process had not said when it died is lost,
 * and the client's own session ends when it does.
 * @see OpenID Connect Back-Channel Logout 1.0 §2.5, §2.7, §2.8
 */
export function createBackChannelLogout ({ clients, idTokens, formPost, clock, onError, capacity = 1000 }: BackChannelLogoutDeps): BackChannelLogout {
  const queue: Notice[] = []
  /** Those that wait to be tried again, each with the undo of its timer. */
  const retries = new Map<Notice, () => void>()
  let inFlight = 0
  let closing = false
  let full = false
  let starting = false
  let onDrained = (): void => {}

  function report (reason: string, { clientId, userId, sid }: Notice): void {
    onError(new Error(reason), `the client ${clientId} was not told that session ${sid} of the user ${userId} has ended`)
  }

  /** Resolves to `null`, or to why the client has not heard it. */
  async function tell ({ clientId, userId, sid }: Notice): Promise<string | null> {
    const client: Client | null = await clients.findById(clientId)
    if (client?.backchannelLogoutUri === undefined) return null
    await idTokens.ready(client)
    // A new one each time: to the client, one it has seen is a replay.
    const token = await idTokens.mintLogoutToken({ client, userId, sid })
    const status = await formPost(client.backchannelLogoutUri, { logout_token: token }, { timeoutMs: TIMEOUT_MS })
    // 204 is what some frameworks make of an empty 200. §2.8
    return status === 200 || status === 204 ? null : `It answered ${status}.`
  }

  function failed (notice: Notice, reason: string): void {
    if (notice.attempts >= ATTEMPTS || closing) {
      report(reason, notice)
      return
    }
    retries.set(notice, clock.after(RETRY_DELAY_MS, () => {
      retries.delete(notice)
      queue.push(notice)
      pump()
    }))
  }

  function start (notice: Notice): void {
    notice.attempts++
    inFlight++
    let settled = false
    const settle = (reason: string | null): void => {
      if (settled) return
      settled = true
      cancelTimeout()
      inFlight--
      if (reason !== null) failed(notice, reason)
      pump()
    }
    // Of the whole attempt: a client store that hangs would else hold its place for good.
    const cancelTimeout = clock.after(2 * TIMEOUT_MS, () => { settle(`It took more than ${2 * TIMEOUT_MS / 1000} seconds.`) })
    // The message alone, and no token gets into it: of an engine's error nobody knows what else it quotes.
    tell(notice).then(settle, (error: unknown) => { settle(reasonOf(error)) })
  }

  function pump (): void {
    while (inFlight < MAX_IN_FLIGHT) {
      const next = queue.shift()
      if (next === undefined) break
      start(next)
    }
    const held = queue.length + retries.size + inFlight
    if (held < capacity) full = false
    if (held === 0) onDrained()
  }

  /** In a later turn of the event loop: signing for many clients must not come before the reply. */
  function pumpLater (): void {
    if (starting) return
    starting = true
    setImmediate(() => {
      starting = false
      pump()
    })
  }

  return {
    sessionsEnded (ended) {
      for (const { userId, sid, clientIds } of ended) {
        for (const clientId of new Set(clientIds)) {
          const notice = { clientId, userId, sid, attempts: 0 }
          if (!closing && queue.length + retries.size + inFlight < capacity) {
            queue.push(notice)
            continue
          }
          // Once an overload, not once a client.
          if (!full) report(closing ? 'The server stops.' : `More than ${capacity} wait to be told.`, notice)
          full = true
        }
      }
      pumpLater()
    },

    async close () {
      closing = true
      for (const [notice, cancel] of retries) {
        cancel()
        queue.push(notice)
      }
      retries.clear()
      await new Promise<void>((resolve) => {
        const cancel = clock.after(CLOSE_TIMEOUT_MS, () => {
          for (const notice of queue.splice(0)) report('The server stopped.', notice)
          resolve()
        })
        onDrained = () => {
          cancel()
          resolve()
        }
        pump()
      })
    }
  }
}

function reasonOf (error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
  const code: unknown = cause instanceof Error ? (cause as { code?: unknown }).code : undefined
  return typeof code === 'string' ? `It could not be reached: ${code}.` : `It could not be reached: ${cause instanceof Error ? cause.name : 'no Error'}.`
}
