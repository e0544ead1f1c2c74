import type { RecordStore, RecordWrite } from '../../lib/ports/record-store.ts'
import type { State } from '../../lib/ports/state.ts'
import { type RecordStateOptions, recordState } from '../../lib/records/state.ts'
import { delayed } from '../../lib/testing/doubles.ts'

/**
 * Wraps the store in an unreliable connection: the answer of every third commit is lost, and every fifth commit before
 * it is done. A commit that is sent again gets through.
 */
export function losingAnswers(store: RecordStore): RecordStore {
  let commits = 0
  const wasLost = new WeakSet<readonly RecordWrite[]>()
  return {
    ...store,
    async commit(partition, writes, now) {
      commits += 1
      const [isAnswerLost, isCommitLost] = [commits % 3 === 0, commits % 5 === 0]
      if ((!isAnswerLost && !isCommitLost) || wasLost.has(writes)) return await store.commit(partition, writes, now)
      wasLost.add(writes)
      if (!isCommitLost) await store.commit(partition, writes, now)
      throw Object.assign(new Error('The line is dead.'), { isOutage: true })
    }
  }
}

/** The state of several instances over one store, each behind a bad line of its own: each call goes to the next one. */
export function spreadState(store: RecordStore, instances: number, options: RecordStateOptions): State {
  const states = Array.from({ length: instances }, () => recordState(losingAnswers(delayed(store)), options))
  let turn = 0
  const spread = <
    Name extends 'tokens' | 'browserSessions' | 'oneTimeTokens' | 'consents' | 'keys' | 'assertions' | 'devices'
  >(
    name: Name
  ): NonNullable<State[Name]> => {
    const [first] = states
    return Object.fromEntries(
      Object.keys(first?.[name] ?? {}).map((method) => [
        method,
        (...args: unknown[]) => {
          const state = states[turn++ % instances]?.[name] as unknown as Record<string, (...args: unknown[]) => unknown>
          return state[method]?.(...args)
        }
      ])
    ) as unknown as NonNullable<State[Name]>
  }
  return {
    ...(states[0] as State),
    tokens: spread('tokens'),
    browserSessions: spread('browserSessions'),
    oneTimeTokens: spread('oneTimeTokens'),
    consents: spread('consents'),
    keys: spread('keys'),
    assertions: spread('assertions'),
    devices: spread('devices'),
    claimFor: async (issuer) => (await states[turn++ % instances]?.claimFor?.(issuer)) ?? ''
  }
}
