/**
 * Runs the work of a key once while it is under way. A call with the same key gets the result of the first call. The
 * next call after the end runs the work again.
 */
export function onceUnderWay<Result>(): (key: string, work: () => Promise<Result>) => Promise<Result> {
  const underWay = new Map<string, Promise<Result>>()
  return async (key, work) => {
    const first = underWay.get(key)
    if (first !== undefined) return await first
    const own = work()
    underWay.set(key, own)
    try {
      return await own
    } finally {
      underWay.delete(key)
    }
  }
}
