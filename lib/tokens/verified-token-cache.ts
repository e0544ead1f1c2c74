import { invalidToken } from '../protocol/bearer.ts'
import { digest } from '../protocol/digest.ts'
import type { VerifyingKey } from '../ports/cryptography.ts'
import type { AccessTokenClaims } from '../protocol/access-token.ts'

/**
 * Caches `Authorization` values whose token signature was verified. The key is the end of the value, a part of the
 * signature. A hit requires the whole text to be equal, so that a look-alike misses, and two values with the same end
 * only evict each other. Two generations bound the cache: when the younger generation holds half of `capacity`, the
 * older generation is dropped, so that a flood costs misses and never memory. The caller checks expiry, revocation and
 * key on every hit.
 */
export interface VerifiedTokenCache {
  get(credential: string): VerifiedToken | undefined
  set(credential: string, verified: VerifiedToken): void
  clear(): void
}

/** A hit is checked by `key`, `resource`, `exp` and `sid` first, so the claims of a refused token are not decoded. */
export interface VerifiedToken {
  readonly key: VerifyingKey
  /** The API that the token was verified for. `null`: the service's own audience. */
  readonly resource: string | null
  /** Seconds since the epoch. */
  readonly exp: number
  readonly sid: string | undefined
  /**
   * Deeply frozen. If `set` got `null`, stays `null` until the token comes a second time, so that a token used once
   * costs only the memory of its text.
   */
  claims: AccessTokenClaims | null
}

interface Entry extends VerifiedToken {
  readonly credential: string
}

/**
 * The last 12 characters contain 68 bits of an ES256 signature. V8 copies a slice of up to 12 characters. A longer
 * slice would keep the whole string alive and be slower to find.
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
    set(credential, { key, resource, exp, sid, claims }) {
      put(credential.slice(-KEY_LENGTH), { credential: flat(credential), key, resource, exp, sid, claims })
    },
    clear() {
      young = new Map()
      old = new Map()
    }
  }
}

/** Copies the string, because a concatenated or sliced string compares more slowly and keeps its source alive. */
function flat(credential: string): string {
  return Buffer.from(credential, 'latin1').toString('latin1')
}

/**
 * The payload of a token signed by this key with the algorithm `alg` of its header.
 * @throws OAuthError `invalid_token`
 * @see RFC 8725 §3.1
 */
export function signedPayload(key: VerifyingKey, alg: string, token: string): unknown {
  if (key.alg !== alg) throw invalidToken('The token is signed with another algorithm.', 'alg')
  try {
    return key.verify(token)
  } catch {
    throw invalidToken('The signature is not valid.')
  }
}

/**
 * Recognizes tokens that this process signed lately, so that their first use needs no signature check. Each key has a
 * table of digests of a fixed size, so that a token that never comes back costs no memory. A later token may replace an
 * earlier one in the table. The earlier one is then verified like any other token.
 */
interface IssuedTokens {
  add(key: VerifyingKey, token: string): void
  /** True: the key signed exactly this text. `false` proves nothing. */
  has(key: VerifyingKey, token: string): boolean
}

const SLOTS = 16_384
const DIGEST_LENGTH = 43

export function issuedTokens(): IssuedTokens {
  const tables = new WeakMap<VerifyingKey, Buffer>()
  return {
    add(key, token) {
      let table = tables.get(key)
      if (table === undefined) {
        table = Buffer.alloc(SLOTS * DIGEST_LENGTH)
        tables.set(key, table)
      }
      const text = digest(token)
      table.write(text, placeOf(text), 'latin1')
    },
    has(key, token) {
      const table = tables.get(key)
      if (table === undefined) return false
      const text = digest(token)
      const place = placeOf(text)
      return table.toString('latin1', place, place + DIGEST_LENGTH) === text
    }
  }
}

function placeOf(text: string): number {
  const [first, second, third] = [text.charCodeAt(0), text.charCodeAt(1), text.charCodeAt(2)]
  return (((first * 61 + second) * 61 + third) % SLOTS) * DIGEST_LENGTH
}
