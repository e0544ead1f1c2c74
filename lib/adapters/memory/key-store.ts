import type { KeyStore, StoredKey } from '../../ports/key-store.ts'

/** Signing keys in memory: they, and with them every access token, end with the process. */
export function memoryKeyStore(): KeyStore {
  const keys = new Map<string, StoredKey>()
  return {
    async list() {
      return [...keys.values()].map((key) => structuredClone(key))
    },
    async addIfAbsent(key) {
      if (keys.has(key.kid)) return false
      for (const { alg, sequence } of keys.values()) {
        if (alg === key.alg && sequence === key.sequence) return false
      }
      keys.set(key.kid, structuredClone(key))
      return true
    },
    async remove(kid) {
      keys.delete(kid)
    }
  }
}
