/** The source of time. Everything that waits or expires uses this port, so that a test can step it. */
export interface Clock {
  /** Wall clock, milliseconds since the epoch: for stored times and times in tokens. */
  now(): number
  /** Milliseconds that never go backwards: for windows and caches inside one process. */
  monotonic(): number
  /** Runs `task` once after `delayMs`. Never keeps the process alive. Returns a function that cancels it. */
  after(delayMs: number, task: () => void): () => void
}
