import type { AccessTokenClaims } from '../protocol/access-token.ts'

/**
 * Tokens whose signature was checked. Keyed by the signature part, which is the shortest that tells tokens apart; a hit counts
 * only if the whole token is the same string, so a look-alike misses. Two generations bound it: at `capacity` the older one is
 * dropped, so a flood can cost misses, never memory. Expiry and revocation are the caller's, on every hit.
 */
export interface VerifiedTokenCache {
  get(token: string): AccessTokenClaims | undefined
  set(token: string, claims: AccessTokenClaims): void
  clear(): void
}

interface Entry { token: string, claims: AccessTokenClaims }

export function verifiedTokenCache (capacity: number): VerifiedTokenCache {
  let young = new Map<string, Entry>()
  let old = new Map<string, Entry>()

  function put (signature: string, entry: Entry): void {
    if (young.size >= capacity / 2) {
      old = young
      young = new Map()
    }
    young.set(signature, entry)
  }

  return {
    get (token) {
      const signature = token.slice(token.lastIndexOf('.') + 1)
      let entry = young.get(signature)
      if (entry === undefined) {
        entry = old.get(signature)
        if (entry === undefined || entry.token !== token) return undefined
        put(signature, entry)
      }
      return entry.token === token ? entry.claims : undefined
    },
    set (token, claims) { put(token.slice(token.lastIndexOf('.') + 1), { token, claims }) },
    clear () {
      young = new Map()
      old = new Map()
    }
  }
}
