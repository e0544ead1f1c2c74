import type { StoredKey } from '../ports/state.ts'
import { NEVER } from '../ports/record-store.ts'
import { DAMAGED } from './encoding.ts'
import { assertionKey, KEYS, OWNER, SEAL, TRIAL, type View } from './view.ts'

/**
 * Rules for records without a user: signing keys, the owner of a state, the seal of a factor store, trial writes, and
 * used assertions.
 */

/** Throws if the keys can't be read, because only an operator may replace signing keys. */
function storedKeys(view: View): readonly StoredKey[] {
  const keys = view.get(KEYS)
  if (keys === DAMAGED) throw new TypeError('The signing keys in the state are damaged.')
  return (keys as readonly StoredKey[] | null) ?? []
}

export const listKeys = (view: View): StoredKey[] => structuredClone([...storedKeys(view)])

export function addKeyIfAbsent(view: View, key: StoredKey): boolean {
  const keys = storedKeys(view)
  if (keys.some(({ kid, alg, sequence }) => kid === key.kid || (alg === key.alg && sequence === key.sequence)))
    return false
  saveKeys(view, [...keys, structuredClone(key)])
  return true
}

export function retireKey(view: View, kid: string): void {
  const keys = storedKeys(view)
  if (keys.some((key) => key.kid === kid && key.sealed !== null))
    saveKeys(
      view,
      keys.map((key) => (key.kid === kid ? { ...key, sealed: null } : key))
    )
}

export function removeKey(view: View, kid: string): void {
  const keys = storedKeys(view)
  const left = keys.filter((key) => key.kid !== kid)
  if (left.length < keys.length) saveKeys(view, left)
}

function saveKeys(view: View, keys: StoredKey[]): void {
  view.put(KEYS, { kind: 'keys', userId: null, value: keys, expiresAt: NEVER })
}

/**
 * Returns the digest of the service that owns the state. The first service that calls this owns the state for good.
 * `issuer`: the digest of the caller.
 */
export function claimState(view: View, issuer: string): string {
  const owner = view.get(OWNER) as string | null | typeof DAMAGED
  if (typeof owner === 'object' && owner !== null) throw new TypeError('The owner of the state is damaged.')
  if (owner === null) view.put(OWNER, { kind: 'owner', userId: null, value: issuer, expiresAt: NEVER })
  return owner ?? issuer
}

/**
 * Stores `next` if the stored seal is `former` (`null`: none). Returns the stored seal, or `next` if there is none.
 * Every start of an instance seals again, and replaces only the seal that it opened.
 */
export function keepSeal(view: View, next: string, former: string | null): string {
  const kept = view.get(SEAL)
  if (kept !== null && typeof kept !== 'string') throw new TypeError('The seal of the second factors is damaged.')
  if (kept !== former) return kept ?? next
  view.put(SEAL, { kind: 'seal', userId: null, value: next, expiresAt: NEVER })
  return next
}

/** Always changes the value, so that the store must write. */
export function writeTrial(view: View): void {
  view.put(TRIAL, { kind: 'trial', userId: null, value: view.unique(), expiresAt: NEVER })
}

export function claimAssertion(view: View, digest: string, expiresAt: number): 'fresh' | 'replayed' {
  if (view.get(assertionKey(digest)) !== null) return 'replayed'
  view.put(assertionKey(digest), { kind: 'assertion', userId: null, value: 1, expiresAt })
  return 'fresh'
}
