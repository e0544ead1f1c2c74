import {
  type CodeGuess,
  MAX_CODE_FAILURES,
  type OneTimeToken,
  type OneTimeTokenPurpose
} from '../../../lib/ports/state.ts'
import { type Expectation, is } from './histories.ts'

/** A model of one-time tokens, by the prose of their port. */
export interface TokenWorld {
  entries: Array<{ token: OneTimeToken; failures: number; failuresUntil: number }>
}

const find = ({ entries }: TokenWorld, purpose: OneTimeTokenPurpose, userId: string) =>
  entries.find(({ token }) => token.purpose === purpose && token.userId === userId)
const byDigest = (
  { entries }: TokenWorld,
  purpose: OneTimeTokenPurpose,
  digest: string,
  now: number
): OneTimeToken | null =>
  entries.find(({ token }) => token.purpose === purpose && token.digest === digest && now < token.expiresAt)?.token ??
  null
const remove = (world: TokenWorld, purpose: OneTimeTokenPurpose, userId: string): void => {
  world.entries = world.entries.filter(({ token }) => token.purpose !== purpose || token.userId !== userId)
}

export const ONE_TIME_TOKENS = {
  put(world: TokenWorld, _now: number, token: OneTimeToken): Expectation {
    const { failures = 0, failuresUntil = 0 } = find(world, token.purpose, token.userId) ?? {}
    remove(world, token.purpose, token.userId)
    world.entries.push({ token, failures, failuresUntil })
    return is(undefined)
  },

  find: (world: TokenWorld, _now: number, purpose: OneTimeTokenPurpose, digest: string, now: number): Expectation =>
    is(byDigest(world, purpose, digest, now)),

  consume(world: TokenWorld, _now: number, purpose: OneTimeTokenPurpose, digest: string, now: number): Expectation {
    const token = byDigest(world, purpose, digest, now)
    if (token !== null) remove(world, purpose, token.userId)
    return is(token)
  },

  discard(world: TokenWorld, _now: number, purpose: OneTimeTokenPurpose, userId: string): Expectation {
    remove(world, purpose, userId)
    return is(undefined)
  },

  redeemCode(world: TokenWorld, _now: number, { purpose, owner, codeDigest, now }: CodeGuess): Expectation {
    const entry = find(world, purpose, owner)
    if (entry === undefined || now >= entry.token.expiresAt) return is('unknown')
    const counts = now < entry.failuresUntil
    if (counts && entry.failures >= MAX_CODE_FAILURES) return is('spent')
    if (entry.token.digest === codeDigest) {
      remove(world, purpose, owner)
      return is('redeemed')
    }
    entry.failures = counts ? entry.failures + 1 : 1
    entry.failuresUntil = counts ? entry.failuresUntil : entry.token.expiresAt
    return is('wrong')
  }
}
