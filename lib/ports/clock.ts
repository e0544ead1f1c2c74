/**
 * Time. Everything that waits or expires asks this port, so that a test can step it.
 */
export interface Clock {
  /** Wall clock, milliseconds since the epoch: for whatever is written down or leaves the process. */
  now(): number
  /** Milliseconds that never go backwards: for windows and caches inside one process. */
  monotonic(): number
  /** Runs `task` once after `delayMs`. Never keeps the process alive. Returns a function that cancels it. */
  after(delayMs: number, task: () => void): () => void
}
