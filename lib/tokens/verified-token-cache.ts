import { invalidToken } from '../protocol/bearer.ts'
import type { VerifyingKey } from '../ports/cryptography.ts'
import type { AccessTokenClaims } from '../protocol/access-token.ts'

/**
 * Caches `Authorization` values whose token signature was verified. The key is the end of the value, a part of the
 * signature. A hit requires the whole text to be equal, so that a look-alike misses, and two values with the same end
 * only evict each other. Two generations bound the cache: at `capacity` the older one is dropped, so that a flood costs
 * misses and never memory. The caller checks expiry, revocation and key on every hit.
 */
export interface VerifiedTokenCache {
  get(credential: string): VerifiedToken | undefined
  set(credential: string, verified: VerifiedToken): void
  /** For a token that was just issued. Only the latest few thousand are kept until they are presented. */
  setIssued(credential: string, verified: VerifiedToken): void
  clear(): void
}

/** Every hit is checked by `key`, `resource`, `exp` and `sid`, so these are fields. Only the host reads `claims`. */
export interface VerifiedToken {
  readonly key: VerifyingKey
  /** The API that the token was verified for. `null`: the service's own audience. */
  readonly resource: string | null
  /** Seconds since the epoch. */
  readonly exp: number
  readonly sid: string | undefined
  /**
   * Deeply frozen. `null` until the token comes a second time, so that a token used once costs only the memory of its
   * text.
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

/** A client presents a new token at once, or keeps it for later, when verifying it once costs little. */
const ISSUED_TOKENS = 4000

export function verifiedTokenCache(capacity: number): VerifiedTokenCache {
  const presented = generations(capacity)
  const issued = generations(Math.min(capacity, ISSUED_TOKENS))

  return {
    get(credential) {
      const key = credential.slice(-KEY_LENGTH)
      const entry = presented.find(key, credential)
      if (entry !== undefined) return entry
      const fresh = issued.find(key, credential)
      if (fresh !== undefined) presented.put(key, fresh)
      return fresh
    },
    set(credential, verified) {
      presented.put(credential.slice(-KEY_LENGTH), entryOf(credential, verified))
    },
    setIssued(credential, verified) {
      issued.put(credential.slice(-KEY_LENGTH), entryOf(credential, verified))
    },
    clear() {
      presented.clear()
      issued.clear()
    }
  }
}

interface Generations {
  find(key: string, credential: string): Entry | undefined
  put(key: string, entry: Entry): void
  clear(): void
}

function generations(capacity: number): Generations {
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
    find(key, credential) {
      let entry = young.get(key)
      if (entry === undefined) {
        entry = old.get(key)
        if (entry === undefined || entry.credential !== credential) return undefined
        put(key, entry)
      }
      return entry.credential === credential ? entry : undefined
    },
    put,
    clear() {
      young = new Map()
      old = new Map()
    }
  }
}

function entryOf(credential: string, { key, resource, exp, sid, claims }: VerifiedToken): Entry {
  return { credential: flat(credential), key, resource, exp, sid, claims }
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
