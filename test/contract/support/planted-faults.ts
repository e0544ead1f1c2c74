import t from '../../support/tap.ts'
import { memoryState } from '../../../lib/adapters/memory/record-store.ts'
import type { ConsentStore, State } from '../../../lib/ports/state.ts'
import type { SessionStore } from '../../../lib/ports/session-store.ts'
import type { TokenStore } from '../../../lib/ports/token-store.ts'
import { stateContract } from '../suites/state-contract.ts'

export interface Fault {
  name: string
  of: (state: State) => {
    tokens?: Partial<TokenStore>
    browserSessions?: Partial<SessionStore>
    consents?: Partial<ConsentStore>
    sweep?: State['sweep']
  }
  /** Cases that must fail, by the beginning of their name. */
  found: string[]
  /** True for a narrow fault: no other case may fail. */
  only?: boolean
}

/** Makes a test for each fault: `stateContract` finds it. */
export function mustBeFound(faults: readonly Fault[]): void {
  for (const { name, of, found, only = false } of faults) {
    t.test(`stateContract finds ${name}`, async (t) => {
      const make = async (): Promise<{ state: State }> => {
        const state = memoryState()
        const fault = of(state)
        return {
          state: {
            ...state,
            ...(fault.sweep === undefined ? {} : { sweep: fault.sweep }),
            tokens: { ...state.tokens, ...fault.tokens },
            browserSessions: { ...state.browserSessions, ...fault.browserSessions },
            consents: { ...state.consents, ...fault.consents }
          }
        }
      }
      const failed: string[] = []
      for (const { name, run } of stateContract(make))
        await run().catch(() => {
          failed.push(name)
        })
      for (const beginning of found)
        t.ok(
          failed.some((name) => name.startsWith(beginning)),
          beginning,
          { failed }
        )
      if (only)
        t.same(
          failed.filter((name) => !found.some((beginning) => name.startsWith(beginning))),
          []
        )
    })
  }
}
