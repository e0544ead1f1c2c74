import { createHash } from 'node:crypto'

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
