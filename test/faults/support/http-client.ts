/** Requests of virtual users. Each becomes an entry of the log, whatever its outcome. */
import { Agent, type IncomingHttpHeaders, request } from 'node:http'
import { HOST } from './connections.ts'
import type { Entry, Log, Outcome } from './log.ts'
import { CALLER, INSTANCE, ISSUER } from './settings.ts'

export interface Answer {
  outcome: Outcome
  headers: IncomingHttpHeaders
  body: Record<string, unknown>
}

export interface Call {
  method: 'GET' | 'POST' | 'DELETE'
  path: string
  headers?: Record<string, string>
  form?: Record<string, string>
  json?: Record<string, string>
  /** The client's knowledge before the request. */
  about: Omit<Entry, 'start' | 'end' | 'outcome' | 'gave' | 'instance'>
  /** Determines the outcome if the status does not: a redirect can mean anything. */
  means?: (answer: Answer) => Outcome
  /** Reads the credentials in a response of 2xx or 3xx. */
  gave?: (answer: Answer) => Entry['gave']
  /**
   * Gives up this many milliseconds after the request was sent. Ignores a later response, but keeps the connection
   * until it arrives, so that the log can tell how long the service may have worked on it.
   */
  abandonAfterMs?: number
}

export interface HttpClient {
  call(call: Call): Promise<Answer>
  close(): void
}

/**
 * Without a `port` the agent chooses the instance. `timeoutMs` must exceed the service's promise, so that a late answer
 * is recorded as late.
 */
export function httpClient({
  log,
  port,
  caller,
  agent,
  timeoutMs
}: {
  log: Log
  port?: number
  caller: string
  agent: Agent
  timeoutMs: number
}): HttpClient {
  return {
    async call(call) {
      const start = log.now()
      const { answer: sent, done } = await send(call, {
        ...(port === undefined ? {} : { port }),
        caller,
        agent,
        timeoutMs
      })
      const answer =
        call.means === undefined || sent.outcome.kind !== 'answer' ? sent : { ...sent, outcome: call.means(sent) }
      const instance = answer.headers[INSTANCE]
      const gave = isGood(answer.outcome) ? call.gave?.(answer) : undefined
      const entry: Entry = {
        ...call.about,
        start,
        end: log.now(),
        outcome: answer.outcome,
        ...(typeof instance === 'string' ? { instance } : {}),
        ...(gave === undefined ? {} : { gave })
      }
      log.add(entry)
      if (answer.outcome.kind === 'abandoned')
        void done.then((outcome) => {
          Object.assign(entry, { doneBy: log.now(), wasDone: isGood(outcome) })
        })
      return answer
    },
    close() {
      agent.destroy()
    }
  }
}

/** Sockets rotate, and so do the instances behind them. */
export const sharedAgent = (maxSockets: number): Agent =>
  new Agent({ keepAlive: true, scheduling: 'fifo', maxSockets, maxFreeSockets: maxSockets })

const ISSUER_HOST = new URL(ISSUER).host

const isGood = (outcome: Outcome): boolean => outcome.kind === 'answer' && outcome.status < 400

async function send(
  { method, path, headers = {}, form, json, abandonAfterMs }: Call,
  { port, caller, agent, timeoutMs }: { port?: number; caller: string; agent: Agent; timeoutMs: number }
): Promise<{ answer: Answer; done: Promise<Outcome> }> {
  const payload =
    form === undefined ? (json === undefined ? undefined : JSON.stringify(json)) : new URLSearchParams(form).toString()
  return await new Promise((resolve) => {
    const timers: NodeJS.Timeout[] = []
    let isDone = (_outcome: Outcome): void => {}
    const done = new Promise<Outcome>((resolve) => {
      isDone = resolve
    })
    const tell = (outcome: Outcome, answer: Partial<Answer> = {}): void => {
      resolve({ answer: { headers: {}, body: {}, ...answer, outcome }, done })
    }
    const settle = (outcome: Outcome, answer: Partial<Answer> = {}): void => {
      for (const timer of timers) clearTimeout(timer)
      tell(outcome, answer)
      isDone(outcome)
    }
    const outgoing = request(
      {
        host: HOST,
        ...(port === undefined ? {} : { port }),
        agent,
        method,
        path,
        headers: {
          host: ISSUER_HOST,
          [CALLER]: caller,
          ...(payload === undefined
            ? {}
            : {
                'content-type': form === undefined ? 'application/json' : 'application/x-www-form-urlencoded',
                'content-length': Buffer.byteLength(payload)
              }),
          ...headers
        }
      },
      (incoming) => {
        const chunks: Buffer[] = []
        incoming.on('data', (chunk: Buffer) => {
          chunks.push(chunk)
        })
        incoming.on('error', (error: NodeJS.ErrnoException) => {
          settle({ kind: 'network', code: error.code ?? 'ERROR' })
        })
        incoming.on('end', () => {
          const body = parsed(Buffer.concat(chunks).toString())
          const { error, active } = body
          const retryAfter = incoming.headers['retry-after']
          settle(
            {
              kind: 'answer',
              status: incoming.statusCode ?? 0,
              ...(typeof error === 'string' ? { error } : {}),
              ...(retryAfter === undefined ? {} : { retryAfter }),
              ...(typeof active === 'boolean' ? { active } : {})
            },
            { headers: incoming.headers, body }
          )
        })
      }
    )
    timers.push(
      setTimeout(() => {
        settle({ kind: 'timeout' })
        outgoing.destroy()
      }, timeoutMs)
    )
    if (abandonAfterMs !== undefined)
      outgoing.once('finish', () => {
        timers.push(
          setTimeout(() => {
            tell({ kind: 'abandoned' })
          }, abandonAfterMs)
        )
      })
    outgoing.on('error', (error: NodeJS.ErrnoException) => {
      settle({ kind: 'network', code: error.code ?? 'ERROR' })
    })
    outgoing.end(payload)
  })
}

/** Reads JSON only, because pages contain no credentials. */
function parsed(text: string): Record<string, unknown> {
  if (!text.startsWith('{')) return {}
  return JSON.parse(text) as Record<string, unknown>
}
