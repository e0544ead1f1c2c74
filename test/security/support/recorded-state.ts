import { memoryState } from '../../../lib/index.ts'

export interface RecordedState {
  state: ReturnType<typeof memoryState>
  /** Names of the operations so far that could have changed something. */
  writes: string[]
}

const READS = /^(?:find|peek|list|sweep|sids|names|keys)/

/** A memory state that records writes. Leaves out signing keys, because no request causes them. */
export function recordedState(): RecordedState {
  const state = memoryState()
  const writes: string[] = []
  const recording = <Store extends object>(store: Store): Store =>
    new Proxy(store, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name)
        if (typeof value !== 'function') return value
        return (...args: unknown[]): unknown => {
          if (!READS.test(String(name))) writes.push(String(name))
          return Reflect.apply(value, target, args)
        }
      }
    })
  const { tokens, oneTimeTokens, browserSessions, consents } = state
  return {
    state: {
      ...state,
      tokens: recording(tokens),
      oneTimeTokens: recording(oneTimeTokens),
      browserSessions: recording(browserSessions),
      consents: recording(consents)
    },
    writes
  }
}
