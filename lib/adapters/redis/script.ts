import { createHash } from 'node:crypto'

/** Lua that has `KEYS` and `ARGV`. */
export interface Script {
  readonly lua: string
  readonly sha1: string
  /** True if the script uses keys that are not in `KEYS`: all of the slot of `KEYS[1]`, whose name they begin with. */
  readonly derivesKeys: boolean
}

/**
 * Lua: how much longer a key stays than what is in it is good for. The TTL only frees memory, and no instance with a
 * slower clock may miss what it still takes for good.
 */
export const SLACK = 'local SLACK_MS = 600000'

/** Only who uses Redis needs the digests, and all need this file at their start. */
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
