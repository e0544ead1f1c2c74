import type { Programme, Script } from './script.ts'

/** A script to run, and who waits for its reply. */
export interface Call {
  readonly script: Script
  readonly keys: string | readonly string[]
  readonly args: ReadonlyArray<string | number>
  resolve(reply: unknown): void
  reject(error: Error): void
}

/** Calls that go as one command. All have the same programme. */
export interface Batch {
  readonly programme: Programme
  /** Whether their keys may be in different slots. */
  readonly spansSlots: boolean
  readonly calls: readonly Call[]
  /** The programme or its digest, as ioredis is to send it. Throws when the batch is over. */
  mayBeSent(text: string): Buffer
  /** From now on nothing that does anything is sent. */
  end(): void
  isOver(): boolean
}

export const notConnected = (): Error => new Error('Redis is not connected.')
export const noAnswer = (): Error => new Error('Redis does not answer.')
export const brokenConnection = (): Error => new Error('The connection to Redis broke before it answered.')
const refusal = (code: string, line?: number): Error => new Error(`Redis refused: ${code}${line === undefined ? '' : `, line ${line} of the script`}.`)

/** The code of an error that the server answered with, such as `NOSCRIPT`; `null` for all others. */
export function codeOf (error: unknown): string | null {
  return error instanceof Error && error.name === 'ReplyError' ? /^[A-Z]+/.exec(error.message)?.[0] ?? 'ERR' : null
}

/** The errors of ioredis hold the command with its arguments, and those of the server may quote them. */
export function withoutArguments (error: unknown): Error {
  const code = codeOf(error)
  if (code === null) return new Error(`Redis could not be asked: ${error instanceof Error ? error.name : 'unknown error'}.`)
  return refusal(code)
}

/**
 * ioredis keeps a command and sends it again after a reconnection, a redirection or a failover, also when nobody waits for it any
 * more, and has no way to take one back. But it reads a buffer anew whenever it sends it: so what is over is overwritten with what
 * is neither the digest of a script nor Lua, which the server refuses.
 */
export function newBatch ({ programme, spansSlots }: Pick<Batch, 'programme' | 'spansSlots'>, calls: readonly Call[]): Batch {
  const buffers: Buffer[] = []
  let over = false
  return {
    programme,
    spansSlots,
    calls,
    mayBeSent (text) {
      if (over) throw brokenConnection()
      const buffer = Buffer.from(text)
      buffers.push(buffer)
      return buffer
    },
    end () {
      over = true
      for (const buffer of buffers) buffer.fill('x')
    },
    isOver: () => over
  }
}

/** What follows the script in the command: the number of keys, the keys, the calls. */
export function argumentsOf ({ programme, calls }: Batch): [numberOfKeys: number, ...string[]] {
  const places = new Map<string, number>()
  const placeOf = (key: string): number => {
    const known = places.get(key)
    if (known !== undefined) return known
    places.set(key, places.size + 1)
    return places.size
  }
  const listed = calls.map(({ script, keys, args }) => [programme.numbers.get(script), typeof keys === 'string' ? [placeOf(keys)] : keys.map(placeOf), args.map(String)])
  return [places.size, ...places.keys(), jsonOf(listed)]
}

/** Half a surrogate pair is escaped in JSON, which Redis does not read; in UTF-8 it is U+FFFD. */
function jsonOf (value: unknown): string {
  const text = JSON.stringify(value)
  if (!text.includes('\\ud')) return text
  return JSON.stringify(value, (_name, part: unknown) => typeof part === 'string' ? Buffer.from(part).toString() : part)
}

/** Gives every call what became of it. */
export function settle ({ programme, calls }: Batch, reply: unknown): void {
  const outcomes: unknown[] = Array.isArray(reply) ? reply : []
  for (let index = 0; index < calls.length; index++) {
    const call = calls[index] as Call
    const outcome = outcomes[index]
    if (Array.isArray(outcome)) {
      call.resolve(outcome[0])
    } else if (typeof outcome === 'string') {
      const [code = 'ERR', line = ''] = outcome.split(' ')
      call.reject(refusal(code, line === '' ? undefined : programme.lineOf(call.script, Number(line))))
    } else {
      call.reject(new TypeError('Redis answered with what is no reply of a script.'))
    }
  }
}

export function rejectAll ({ calls }: Pick<Batch, 'calls'>, error: () => Error): void {
  for (const call of calls) call.reject(error())
}
