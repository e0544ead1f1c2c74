/** The needs of this process. */
export interface Footprint {
  /** In MiB, now and at its most since it was asked last. */
  rss: number
  rssPeak: number
  /** Processor time since it was asked last. */
  cpuMs: number
}

/** Samples memory from now on; the function tells. It loads nothing, for what it loads would be measured too. */
export function watchFootprint(everyMs: number): () => Footprint {
  let rssPeak = 0
  let cpu = process.cpuUsage()
  setInterval(() => {
    rssPeak = Math.max(rssPeak, process.memoryUsage.rss())
  }, everyMs)
  return () => {
    const rss = process.memoryUsage.rss()
    const { user, system } = process.cpuUsage(cpu)
    const footprint = { rss: rss / 2 ** 20, rssPeak: Math.max(rssPeak, rss) / 2 ** 20, cpuMs: (user + system) / 1000 }
    rssPeak = 0
    cpu = process.cpuUsage()
    return footprint
  }
}
