import { OAuthError } from '../errors.ts'
import type { JsonWebKeyObject, LoadedKey, VerifyingKey } from '../ports/jwt.ts'

/**
 * The keys that sign and verify now: one that signs for each algorithm, and those whose tokens still live or that sign
 * next.
 */
export interface KeyRing {
  /**
   * Resolves when there is a key to sign with, of this algorithm alone (default: the first); rejects where the store
   * can't be reached. @throws OAuthError `server_error` for an algorithm that is not one of `algs`
   */
  ready(alg?: string): Promise<void>
  /**
   * The key that signs now, by default with the first algorithm.
   * @throws OAuthError `temporarily_unavailable` before the first is there, `server_error` for an algorithm that is not
   * one of `algs`
   */
  signingKey(alg?: string): LoadedKey
  /** What it can sign with, whether the first key is there yet or not. The first signs access tokens. */
  algs(): string[]
  /** A key that is published, by its `kid`. */
  find(kid: string): LoadedKey | undefined
  /**
   * The key of an `id_token_hint`: one that is published, or the public half of one that signed before. Relying parties
   * keep ID tokens for longer than a key is published.
   */
  findForHint(kid: string): Promise<VerifyingKey | undefined>
  /**
   * Looks in the store for a key made elsewhere since; at most once in 5 s, whatever `kid`s strangers invent.
   * @throws OAuthError `temporarily_unavailable` where the store can't be reached: then an unknown `kid` says nothing
   * of a token
   */
  refresh(): Promise<void>
  /** The public halves, for the JWKS. */
  publicJwks(): JsonWebKeyObject[]
  /** For how many seconds the key that signs now has, by algorithm. Empty for keys that the host gave. */
  ages(): Record<string, number>
  close(): void
}

/** Keys that the host gave: all verify and are published, the first of its algorithm signs. */
export function fixedKeyRing(keys: readonly LoadedKey[]): KeyRing {
  const [first] = keys
  if (first === undefined) throw new Error('A key ring needs a key.')
  const signingKey = (alg = first.alg): LoadedKey => {
    const key = keys.find((candidate) => candidate.alg === alg)
    if (key === undefined) throw noSuchAlgorithm(alg)
    return key
  }
  return {
    async ready(alg) {
      signingKey(alg)
    },
    signingKey,
    algs: () => [...new Set(keys.map(({ alg }) => alg))],
    find: (kid) => keys.find((key) => key.kid === kid),
    findForHint: async (kid) => keys.find((key) => key.kid === kid),
    async refresh() {},
    publicJwks: () => publicHalves(keys),
    ages: () => ({}),
    close() {}
  }
}

export function publicHalves(keys: readonly LoadedKey[]): JsonWebKeyObject[] {
  return keys.flatMap(({ publicJwk }) => (publicJwk === null ? [] : [publicJwk]))
}

/** A registered client asks for an algorithm that this server has no key for: nothing that the caller could mend. */
export function noSuchAlgorithm(alg: string): OAuthError {
  return new OAuthError('server_error', 'There is no signing key for this algorithm.', { detail: `no key for ${alg}` })
}
