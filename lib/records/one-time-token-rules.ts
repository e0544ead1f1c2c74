import {
  type CodeGuess,
  type CodeOutcome,
  MAX_CODE_FAILURES,
  type OneTimeToken,
  type OneTimeTokenPurpose
} from '../ports/state.ts'
import { oneTimeTokenKey, rowOf, type View } from './view.ts'

/** The token of a user for one purpose, with the number of wrong guesses at this token and its predecessors. */
interface Held extends OneTimeToken {
  failures: number
  /** The time from which the failures no longer count. */
  failuresUntil: number
}

type PackedToken = [userId: string, digest: string, expiresAt: number, failures: number, failuresUntil: number]

function stored(view: View, purpose: OneTimeTokenPurpose): Held | null {
  const packed = rowOf<PackedToken>(view.get(oneTimeTokenKey(purpose)), 5)
  if (packed === null) return null
  const [userId, digest, expiresAt, failures, failuresUntil] = packed
  return { purpose, digest, userId, expiresAt, failures, failuresUntil }
}

function save(view: View, { purpose, digest, userId, expiresAt, failures, failuresUntil }: Held): void {
  const value: PackedToken = [userId, digest, expiresAt, failures, failuresUntil]
  view.put(oneTimeTokenKey(purpose), {
    kind: 'one_time_token',
    userId,
    value,
    expiresAt: Math.max(expiresAt, failuresUntil)
  })
}

/** Replaces the token that the user had for the purpose. The failures stay. */
export function putToken(view: View, { purpose, digest, userId, expiresAt }: OneTimeToken): void {
  const { failures = 0, failuresUntil = 0 } = stored(view, purpose) ?? {}
  save(view, { purpose, digest, userId, expiresAt, failures, failuresUntil })
}

export function findToken(view: View, purpose: OneTimeTokenPurpose, digest: string, now: number): OneTimeToken | null {
  const held = stored(view, purpose)
  if (held === null || held.digest !== digest || now >= held.expiresAt) return null
  const { userId, expiresAt } = held
  return { purpose, digest, userId, expiresAt }
}

export function consumeToken(
  view: View,
  purpose: OneTimeTokenPurpose,
  digest: string,
  now: number
): OneTimeToken | null {
  const token = findToken(view, purpose, digest, now)
  if (token !== null) view.remove(oneTimeTokenKey(purpose))
  return token
}

export function discardToken(view: View, purpose: OneTimeTokenPurpose, userId: string): void {
  if (stored(view, purpose)?.userId === userId) view.remove(oneTimeTokenKey(purpose))
}

/**
 * Redeems the code, or counts a wrong guess. After `MAX_CODE_FAILURES` wrong guesses, every code is `spent` until
 * `failuresUntil`.
 */
export function redeemSignInCode(view: View, { purpose, owner, codeDigest, now }: CodeGuess): CodeOutcome {
  const held = stored(view, purpose)
  if (held === null || held.userId !== owner || now >= held.expiresAt) return 'unknown'
  const counts = now < held.failuresUntil
  if (counts && held.failures >= MAX_CODE_FAILURES) return 'spent'
  if (held.digest === codeDigest) {
    view.remove(oneTimeTokenKey(purpose))
    return 'redeemed'
  }
  save(view, {
    ...held,
    failures: counts ? held.failures + 1 : 1,
    failuresUntil: counts ? held.failuresUntil : held.expiresAt
  })
  return 'wrong'
}
