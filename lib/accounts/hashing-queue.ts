import { OAuthError } from '../errors.ts'
import { type Events, NO_REQUEST } from '../events.ts'
import type { Clock } from '../ports/clock.ts'
import { isTraced, traced } from '../ports/tracing.ts'

/** Each refusal is held back this long, so that clients that retry at once don't flood the server with requests. */
const HOLD_MS = 750
/** Clients refused together would come back together: each refusal is held a little longer than the one before. */
const APART_MS = 2
const SPREAD_MS = 500
/** Most refusals that are held at once, at some kilobytes each. */
const MAX_HELD = 1000

export interface HashingQueue {
  /**
   * Runs `work` in its turn, and resolves to what it does.
   *
   * @throws OAuthError `temporarily_unavailable` where too many wait already, after about a second; at once where a
   *   thousand refusals are held back already, and after `close`
   */
  run<T>(work: () => Promise<T>): Promise<T>
  /** How many works run and wait now. */
  load(): { running: number; waiting: number }
  /** Answers the refusals that are held back at once, and holds no more. Running and waiting work goes on. */
  close(): void
}

/**
 * At most `concurrency` works run and at most `maxQueue` wait, first come, first served. A permit comes back when the
 * work has ended, whether or not its client still waits: memory is bounded by what runs, not by who listens.
 */
export function hashingQueue(
  { concurrency, maxQueue }: { concurrency: number; maxQueue: number },
  { events, clock }: { events: Pick<Events, 'emit'>; clock: Pick<Clock, 'after'> }
): HashingQueue {
  const waiting: Array<() => void> = []
  /** How each refusal that is held back is let go before its time. */
  const held = new Set<() => void>()
  let running = 0
  let full = false
  let apart = 0
  let closed = false

  function release(): void {
    const next = waiting.shift()
    // The permit goes from hand to hand: were it freed first, a newcomer could take it before the one that waits.
    if (next === undefined) running--
    else next()
    // The event is sent once for each overload. The overload ends only when nobody waits, so a queue that goes up and
    // down just below its limit does not send it again.
    if (waiting.length === 0) full = false
  }

  async function holdBack(): Promise<void> {
    if (closed || held.size >= MAX_HELD) return
    apart = (apart + APART_MS) % SPREAD_MS
    await new Promise<void>((resolve) => {
      const letGo = (): void => {
        held.delete(letGo)
        undo()
        resolve()
      }
      const undo = clock.after(HOLD_MS + apart, letGo)
      held.add(letGo)
    })
  }

  return {
    async run(work) {
      if (running < concurrency) {
        running++
        if (isTraced('hash_wait')) await traced('hash_wait', {}, () => {})
      } else if (waiting.length < maxQueue) {
        await traced('hash_wait', {}, async () => {
          await new Promise<void>((resolve) => {
            waiting.push(resolve)
          })
        })
      } else {
        if (!full) {
          full = true
          events.emit('hash_queue_full', { running, waiting: waiting.length, maxQueue }, NO_REQUEST)
        }
        await holdBack()
        throw new OAuthError('temporarily_unavailable', 'Too many sign-ins at once. Try again shortly.', {
          headers: { 'retry-after': '1' },
          detail: 'password hash queue full',
          withoutStack: true
        })
      }
      try {
        return await traced('hash', {}, work)
      } finally {
        release()
      }
    },
    load: () => ({ running, waiting: waiting.length }),
    close() {
      closed = true
      for (const letGo of held) letGo()
    }
  }
}
