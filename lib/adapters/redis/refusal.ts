import { OutageError } from '../../ports/outage.ts'
import { createHash } from 'node:crypto'

export const notConnected = (): OutageError => new OutageError('Redis is not connected.')
export const noAnswer = (): OutageError => new OutageError('Redis does not answer.')
export const tooLate = (timeoutMs: number): OutageError =>
  new OutageError(`Redis did not answer within ${timeoutMs} ms.`)
export const brokenConnection = (): OutageError => new OutageError('The connection to Redis broke before it answered.')

/** The server refused the command. */
export class RedisRefusal extends Error {
  /** Such as `NOPERM`. */
  readonly code: string
  /** True if the server will accept the call later: a failover, a restart, a slot that moves, or a full memory. */
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
 * inside a script into an error of the script. The inner code counts if it is a passing one.
 */
export function codeOf(error: unknown): string | null {
  if (!(error instanceof Error && error.name === 'ReplyError')) return null
  const [, code = 'ERR', inside = ''] =
    /^([A-Z]+)(?: Error running script \(call to \w+\): (?:@?user_script: ?\d+: )+-?([A-Z]+))?/.exec(error.message) ??
    []
  return PASSING.includes(inside) ? inside : code
}

/** The errors of ioredis hold the command with its arguments, and those of the server may quote them. */
export function withoutArguments(error: unknown): Error {
  const code = codeOf(error)
  if (code === null)
    return new OutageError(`Redis could not be asked: ${error instanceof Error ? error.name : 'unknown error'}.`)
  return new RedisRefusal(code, lineOf(error))
}

/** The failing line of a script, as Redis 7 and 6.2 report it. The script's own message follows it. */
function lineOf(error: unknown): number | undefined {
  const line = /^ERR (?:Error running script \(call to \w+\): @)?user_script:\s?(\d+)/.exec(
    error instanceof Error ? error.message : ''
  )?.[1]
  return line === undefined ? undefined : Number(line)
}

/** The scripts and digests of one pipeline, in buffers that can be taken back after ioredis has them. */
export interface WipeableTexts {
  /** @throws Error once they are wiped */
  bufferOf(text: string): Buffer
  /** Overwrites the texts, so that the server refuses any of them that is still sent. */
  wipe(): void
  areWiped(): boolean
}

/**
 * Texts that can be wiped after they were sent. ioredis keeps a command and sends it again after a reconnection, a
 * redirection or a failover, even after its caller gave up, and can't take one back. But it reads a buffer each time it
 * sends it. So the buffers of abandoned commands are overwritten with a text that is neither the digest of a script nor
 * Lua, which the server refuses.
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

/** Lua that has `KEYS` and `ARGV`. */
export interface Script {
  readonly lua: string
  readonly sha1: string
  /** True if the script uses keys that are not in `KEYS`: all of the slot of `KEYS[1]`, whose name they begin with. */
  readonly derivesKeys: boolean
}

/**
 * Lua: the time that a key outlives its content. The TTL only frees memory, and an instance with a slower clock must
 * still find content that it considers valid.
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

/** A script that makes its keys of `KEYS[1]`, which is no key itself. */
export function defineScript(lua: string): Script {
  return scriptOf(lua, true)
}

/** A script that touches nothing but `KEYS`. */
export function defineKeyScript(lua: string): Script {
  return scriptOf(lua, false)
}

/** Replies of scripts, read without trust: a reply of another form is an error, never "there is none". */
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
