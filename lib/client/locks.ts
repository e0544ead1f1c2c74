export const sleep = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, ms)
  })

/**
 * Waits until no other tab has the lock, and resolves to a function that releases it. A closed tab releases it too.
 * Waits `waitMs` at most and then continues without it, because a frozen tab may hold it for ever. Without Web Locks
 * there is no lock: every supported browser has them in a secure context, and other places have no tabs.
 */
export const lock = (name: string, waitMs = 15_000): Promise<() => void> =>
  new Promise((resolve) => {
    const free = resolve.bind(0, () => {})
    const locks = (globalThis.navigator as Partial<Navigator> | undefined)?.locks
    if (!locks?.request(name, { signal: AbortSignal.timeout(waitMs) }, () => new Promise<void>(resolve)).catch(free))
      free()
  })
