import { OutageError } from '../../ports/outage.ts'
import { createHash } from 'node:crypto'

export const notConnected = (): OutageError => new OutageError('Redis is not connected.')
export const noAnswer = (): OutageError => new OutageError('Redis does not answer.')
export const tooLate = (timeoutMs: number): OutageError =>
  new OutageError(`Redis did not answer within ${timeoutMs} ms.`)
export const brokenConnection = (): OutageError => new OutageError('The connection to Redis broke before it answered.')

/** The error of a command that the server refused. */
export class RedisRefusal extends Error {
  /** The code of the error reply, such as `NOPERM`. */
  readonly code: string
  /** True for a temporary condition of the server, such as a failover, a restart or a full memory. */
  readonly isOutage: boolean
  readonly refusesWrites: boolean

  constructor(code: string, line?: number) {
    super(`Redis refused: ${code}${line === undefined ? '' : `, line ${line} of the script`}.`)
    this.code = code
    this.isOutage = PASSING.includes(code)
    this.refusesWrites = OF_WRITES.includes(code)
  }
}

/** Errors of a server that refuses writes but still serves reads. */
const OF_WRITES: readonly string[] = ['READONLY', 'NOREPLICAS', 'OOM', 'MISCONF']
const PASSING: readonly string[] = [
  ...OF_WRITES,
  'LOADING',
  'MASTERDOWN',
  'CLUSTERDOWN',
  'TRYAGAIN',
  'ASK',
  'MOVED',
  'BUSY',
  'UNKILLABLE',
  'UNBLOCKED'
]

/**
 * The code of an error reply, such as `NOSCRIPT`; `null` for other errors. Redis 6.2 wraps the error of a command
 * inside a script into an error of the script. Then the result is the inner code if that is in `PASSING`.
 */
export function codeOf(error: unknown): string | null {
  if (!(error instanceof Error && error.name === 'ReplyError')) return null
  const [, code = 'ERR', inside = ''] =
    /^([A-Z]+)(?: Error running script \(call to \w+\): (?:@?user_script: ?\d+: )+-?([A-Z]+))?/.exec(error.message) ??
    []
  return PASSING.includes(inside) ? inside : code
}

/** Replaces an error, because errors of ioredis contain the command's arguments, and error replies may quote them. */
export function withoutArguments(error: unknown): Error {
  const code = codeOf(error)
  if (code === null)
    return new OutageError(`Redis could not be asked: ${error instanceof Error ? error.name : 'unknown error'}.`)
  return new RedisRefusal(code, lineOf(error))
}

/** The number of the failing line of a script, as Redis 7 and 6.2 report it. Omits the rest of the message. */
function lineOf(error: unknown): number | undefined {
  const line = /^ERR (?:Error running script \(call to \w+\): @)?user_script:\s?(\d+)/.exec(
    error instanceof Error ? error.message : ''
  )?.[1]
  return line === undefined ? undefined : Number(line)
}

/** The scripts and digests of one pipeline, in buffers that can be overwritten after ioredis got them. */
export interface WipeableTexts {
  /** @throws Error once the texts are wiped */
  bufferOf(text: string): Buffer
  /** Overwrites the texts, so that the server refuses any of them that is still sent. */
  wipe(): void
  areWiped(): boolean
}

/**
 * Makes texts that can be wiped after they were sent. ioredis sends a command again after a reconnection, a redirection
 * or a failover, even after the caller gave up, and has no way to cancel a command. But each time it sends a command,
 * it reads the buffers again. So `wipe` overwrites them with a text that is neither the digest of a script nor Lua,
 * which the server refuses.
 */
export function wipeableTexts(): WipeableTexts {
  const buffers: Buffer[] = []
  let wiped = false
  return {
    bufferOf(text) {
      if (wiped) throw brokenConnection()
      const buffer = Buffer.from(text)
      buffers.push(buffer)
      return buffer
    },
    wipe() {
      wiped = true
      for (const buffer of buffers) buffer.fill('x')
    },
    areWiped: () => wiped
  }
}

/** A Lua script that reads `KEYS` and `ARGV`. */
export interface Script {
  readonly lua: string
  readonly sha1: string
  /** True if the script uses keys that are not in `KEYS`. Their names begin with `KEYS[1]`, so they are in its slot. */
  readonly derivesKeys: boolean
}

/**
 * Lua code that sets the time for which a key outlives its content. The TTL only frees memory, and an instance with a
 * slower clock must still find content that it considers valid.
 */
export const SLACK = 'local SLACK_MS = 600000'

/** Computes digests on first use, because every start loads this file and only hosts with Redis need them. */
function scriptOf(lua: string, derivesKeys: boolean): Script {
  let sha1: string | undefined
  return {
    lua,
    derivesKeys,
    get sha1() {
      return (sha1 ??= createHash('sha1').update(lua).digest('hex'))
    }
  }
}

/** Defines a script that derives its keys from `KEYS[1]`, which itself is no key. */
export function defineScript(lua: string): Script {
  return scriptOf(lua, true)
}

/** Defines a script that touches only the keys in `KEYS`. */
export function defineKeyScript(lua: string): Script {
  return scriptOf(lua, false)
}

/** The error for a reply of an unexpected form. Such a reply never means that there is no record. */
const unreadable = (): TypeError => new TypeError('Redis holds a record of another form.')

export function list(reply: unknown): unknown[] {
  if (!Array.isArray(reply)) throw unreadable()
  return reply
}

function text(reply: unknown): string {
  if (typeof reply !== 'string') throw unreadable()
  return reply
}

export const texts = (reply: unknown): string[] => list(reply).map(text)

export const textOrNull = (value: unknown): string | null => (value === null ? null : text(value))
