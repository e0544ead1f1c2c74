export const sleep = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, ms)
  })

/**
 * Waits until no other tab has the lock, and resolves to a function that releases it. A closed tab releases it too.
 * Waits `waitMs` at most and then goes on without, because a frozen tab may hold it for ever. A place without Web Locks
 * has no tabs: each browser that has `AbortSignal.timeout` has them in a secure context, and the client works in no
 * other.
 */
export const lock = (name: string, waitMs = 15_000): Promise<() => void> =>
  new Promise((resolve) => {
    const free = resolve.bind(0, () => {})
    const locks = (globalThis.navigator as Partial<Navigator> | undefined)?.locks
    if (!locks?.request(name, { signal: AbortSignal.timeout(waitMs) }, () => new Promise<void>(resolve)).catch(free))
      free()
  })
