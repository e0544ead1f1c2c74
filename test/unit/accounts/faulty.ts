import type { AccountsDeps } from '../../../lib/accounts/deps.ts'
import { createEvents } from '../../../lib/events/emitter.ts'
import { revocations, sessions as createSessions } from '../../../lib/sessions/sessions.ts'
import { delayed } from '../../../lib/testing/doubles.ts'
import type { World } from './world.ts'

/** How a store call fails. `lost`: the store does the work, but the answer never arrives. */
type Fault = 'not done' | 'lost' | 'from there on'

interface Faulty {
  deps: AccountsDeps
  /** The names of the calls so far. */
  calls: () => string[]
  heal: () => void
}

/** The stores of the world with a fault in call number `failing`, counted from 1. With 0, no call fails. */
export function faulty(w: World, failing: number, fault: Fault): Faulty {
  const calls: string[] = []
  let healed = false
  const faultyStore = <Store extends object>(name: string, store: Store): Store =>
    new Proxy(store, {
      get(target, method, receiver) {
        const found: unknown = Reflect.get(target, method, receiver)
        if (typeof found !== 'function') return found
        return async (...args: unknown[]): Promise<unknown> => {
          const call = calls.push(`${name}.${String(method)}`)
          const fails = !healed && (fault === 'from there on' ? failing > 0 && call >= failing : call === failing)
          if (fails && fault !== 'lost') throw new Error('down')
          const result: unknown = await Reflect.apply(found, target, args)
          if (fails) throw new Error('down')
          return result
        }
      }
    })
  const oneTimeTokens = faultyStore('oneTimeTokens', delayed(w.state.oneTimeTokens))
  const deps: AccountsDeps = {
    ...w.deps,
    users: faultyStore('users', delayed(w.store)),
    oneTimeTokens,
    consents: faultyStore('consents', delayed(w.state.consents)),
    sessions: createSessions({
      tokens: faultyStore('tokens', delayed(w.state.tokens)),
      browserSessions: faultyStore('browserSessions', delayed(w.state.browserSessions)),
      oneTimeTokens,
      revocations: revocations(900_000, w.clock),
      events: createEvents(
        () => 0,
        () => {}
      ),
      clock: w.clock,
      onSessionsEnded() {}
    })
  }
  return {
    deps,
    calls: () => calls,
    heal: () => {
      healed = true
    }
  }
}
