import type { Clock } from '../ports/clock.ts'

export interface BoundedQueue<Task> {
  /**
   * Takes the task and returns at once. Never throws. Returns `false` if the queue is full or closed, and drops the
   * task.
   */
  add(task: Task): boolean
  /** Resolves when no task waits or runs. */
  idle(): Promise<void>
  /**
   * Accepts no more tasks, tries each remaining task once, and resolves when that is done. After 5 seconds, gives up
   * the tasks that still wait, and resolves too.
   */
  close(): Promise<void>
}

export interface BoundedQueueOptions<Task> {
  /** The name of the tasks in reports, in the plural. */
  tasks: string
  /** How many tasks may wait, run or wait for a retry, all together. */
  capacity: number
  /** How many tasks run at once. */
  maxInFlight: number
  /** The delay before each retry. Its length is the number of retries. Default: no retries. */
  retryDelaysMs?: readonly number[]
  /** Time limit of an attempt. A longer attempt counts as failed, and the next task starts. Default: no limit. */
  timeoutMs?: number
  /** True to retry after a timeout too, although the attempt may still do its work. Default: `false`. */
  retriesTimeouts?: boolean
  clock: Clock
  /** One attempt at a task. It fails by throwing or rejecting. */
  attempt(task: Task): void | Promise<void>
  /** Called after a success, with the number of the attempt. Never throws. */
  onDone?(task: Task, attempts: number): void
  /** Called after a failed attempt that is repeated after `delayMs`. Never throws. */
  onRetry?(task: Task, error: unknown, attempts: number, delayMs: number): void
  /**
   * Called for a task that is given up. Of the tasks that a full queue drops in one overload, only the first is
   * reported, with 0 attempts. Never throws.
   */
  onGivenUp(task: Task, error: unknown, attempts: number): void
  /** Called at the end of an overload. Never throws. */
  onError(error: unknown, what: string): void
}

interface Held<Task> {
  task: Task
  attempts: number
}

const CLOSE_TIMEOUT_MS = 5_000

/**
 * Runs tasks that no reply waits for. Their number is bounded. A failed task is retried (`retryDelaysMs`). When the
 * server closes, each remaining task is tried once. The queue is in memory and ends with the process.
 *
 * An overload is reported when the first task is dropped, and at its end with the number of dropped tasks. An overload
 * ends only when the queue is half empty. Otherwise a queue at its limit would report a new overload with each task.
 */
export function boundedQueue<Task>(options: BoundedQueueOptions<Task>): BoundedQueue<Task> {
  const {
    tasks,
    capacity,
    maxInFlight,
    retryDelaysMs = [],
    timeoutMs,
    retriesTimeouts = false,
    clock,
    attempt,
    onDone,
    onRetry,
    onGivenUp,
    onError
  } = options
  const queue: Array<Held<Task>> = []
  /** Tasks that wait for a retry, each with a function that cancels its timer. */
  const retries = new Map<Held<Task>, () => void>()
  let inFlight = 0
  let dropped = 0
  let closing = false
  const onIdle: Array<() => void> = []
  const count = (): number => queue.length + retries.size + inFlight

  function pump(): void {
    while (inFlight < maxInFlight) {
      const next = queue.shift()
      if (next === undefined) break
      inFlight++
      // Runs each task in its own turn of the event loop. With a synchronous store (SQLite) the work would otherwise be
      // done before the reply is sent, and the time of the reply would reveal the result of the task.
      setImmediate(start, next)
    }
    if (dropped > 0 && count() <= capacity / 2) {
      onError(new Error(`${dropped} ${tasks} were dropped in all.`), `the overload of ${tasks} is over`)
      dropped = 0
    }
    if (count() === 0) for (const resolve of onIdle.splice(0)) resolve()
  }

  function start(held: Held<Task>): void {
    held.attempts++
    let settled = false
    const settle = (act: () => void): void => {
      if (settled) return
      settled = true
      cancelTimeout()
      inFlight--
      act()
      pump()
    }
    const cancelTimeout =
      timeoutMs === undefined
        ? () => {}
        : clock.after(timeoutMs, () => {
            settle(() => {
              failed(held, new Error(`It took more than ${timeoutMs / 1000} seconds.`), retriesTimeouts)
            })
          })
    // An async function turns a synchronous throw into a rejection.
    const attempted = async (): Promise<void> => {
      await attempt(held.task)
    }
    attempted().then(
      () => {
        settle(() => {
          onDone?.(held.task, held.attempts)
        })
      },
      (error: unknown) => {
        settle(() => {
          failed(held, error, true)
        })
      }
    )
  }

  function failed(held: Held<Task>, error: unknown, mayRetry: boolean): void {
    const delayMs = retryDelaysMs[held.attempts - 1]
    if (delayMs === undefined || !mayRetry || closing) onGivenUp(held.task, error, held.attempts)
    else {
      onRetry?.(held.task, error, held.attempts, delayMs)
      retries.set(
        held,
        clock.after(delayMs, () => {
          retry(held)
        })
      )
    }
  }

  function retry(held: Held<Task>): void {
    retries.delete(held)
    queue.push(held)
    pump()
  }

  return {
    add(task) {
      if (closing) {
        onGivenUp(task, new Error('The server stops.'), 0)
        return false
      }
      if (count() >= capacity) {
        dropped++
        if (dropped === 1)
          onGivenUp(
            task,
            new Error(`More than ${capacity} ${tasks} wait; new ones are dropped until some are done.`),
            0
          )
        return false
      }
      queue.push({ task, attempts: 0 })
      pump()
      return true
    },

    async idle() {
      if (count() > 0)
        await new Promise<void>((resolve) => {
          onIdle.push(resolve)
        })
    },

    async close() {
      closing = true
      for (const [held, cancel] of retries) {
        cancel()
        retry(held)
      }
      if (count() === 0) return
      await new Promise<void>((resolve) => {
        const cancel = clock.after(CLOSE_TIMEOUT_MS, () => {
          for (const { task, attempts } of queue.splice(0)) onGivenUp(task, new Error('The server stops.'), attempts)
          resolve()
        })
        onIdle.push(() => {
          cancel()
          resolve()
        })
      })
    }
  }
}
