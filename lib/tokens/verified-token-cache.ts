import type { LoadedKey } from '../ports/jwt.ts'
import type { AccessTokenClaims } from '../protocol/access-token.ts'

/**
 * Caches `Authorization` values whose token's signature was checked. The key is the end of the value, which is part of
 * the signature; a hit counts only if the whole text is the same, so a look-alike misses, and two that end alike only
 * drive each other out. Two generations bound it: at `capacity` the older one is dropped, so a flood can cost misses,
 * never memory. Expiry, revocation and whether the key still counts are the caller's, on every hit.
 */
export interface VerifiedTokenCache {
  get(credential: string): VerifiedToken | undefined
  set(credential: string, verified: VerifiedToken): void
  clear(): void
}

/** Every hit is checked by `key`, `exp` and `sid`, so they are fields of their own; only the host reads `claims`. */
export interface VerifiedToken {
  readonly key: LoadedKey
  /** Seconds since the epoch. */
  readonly exp: number
  readonly sid: string | undefined
  /**
   * Frozen, with all they hold. `null` until the token comes again: one that comes once costs the memory of its text
   * alone.
   */
  claims: AccessTokenClaims | null
}

interface Entry extends VerifiedToken {
  readonly credential: string
}

/**
 * The last 12 characters hold 68 bits of an ES256 signature. V8 copies a slice of up to 12; a longer one would keep the
 * whole string alive and be slower to look up.
 */
const KEY_LENGTH = 12

export function verifiedTokenCache(capacity: number): VerifiedTokenCache {
  let young = new Map<string, Entry>()
  let old = new Map<string, Entry>()

  function put(key: string, entry: Entry): void {
    if (young.size >= capacity / 2) {
      old = young
      young = new Map()
    }
    young.set(key, entry)
  }

  return {
    get(credential) {
      const key = credential.slice(-KEY_LENGTH)
      let entry = young.get(key)
      if (entry === undefined) {
        entry = old.get(key)
        if (entry === undefined || entry.credential !== credential) return undefined
        put(key, entry)
      }
      return entry.credential === credential ? entry : undefined
    },
    set(credential, { key, exp, sid, claims }) {
      put(credential.slice(-KEY_LENGTH), { credential: flat(credential), key, exp, sid, claims })
    },
    clear() {
      young = new Map()
      old = new Map()
    }
  }
}

/**
 * In one piece and of its own: what was put together or cut out of another string is compared more slowly, and keeps
 * that one alive.
 */
function flat(credential: string): string {
  return Buffer.from(credential, 'latin1').toString('latin1')
}
