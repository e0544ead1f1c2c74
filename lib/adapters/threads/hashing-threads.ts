import { parentPort, Worker } from 'node:worker_threads'
import { existsSync } from 'node:fs'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { availableParallelism, setPriority } from 'node:os'

type Answer = { value: unknown } | { error: unknown }

interface Job<Call> {
  call: Call
  resolve(value: unknown): void
  reject(reason: unknown): void
}

interface Thread<Call> {
  worker: Worker
  job: Job<Call> | undefined
  cause: unknown
  rest: NodeJS.Timeout | undefined
}

/** The thread ended before it answered. The next call has a new one. */
export class HashingThreadError extends Error {
  readonly code = 'FST_AUTHORITY_HASHING_THREAD'
  override readonly name = 'HashingThreadError'
}

interface HashingThreads<Call> {
  /**
   * Runs one call in a thread that has nothing else to do; where all are busy, in the order of the calls.
   *
   * @throws HashingThreadError where the thread ended; otherwise what the engine threw
   */
  run(call: Call): Promise<unknown>
}

/**
 * At most `size` worker threads that answer calls, each begun by `start` when a call finds none idle, and ended after
 * `restMs` without work: a machine of many cores does not keep what a flood has begun. They keep a process alive while
 * they work, and not when they rest.
 */
export function hashingThreads<Call>({
  start,
  size,
  restMs
}: {
  start: () => Worker
  size: number
  restMs: number
}): HashingThreads<Call> {
  /** Uses the thread that worked last, so that surplus threads become idle and end. */
  const idle: Array<Thread<Call>> = []
  const waiting: Array<Job<Call>> = []
  /** Includes threads that are ending, because their memory is not free yet. */
  let count = 0

  function another(): Thread<Call> {
    const thread: Thread<Call> = { worker: start(), job: undefined, cause: undefined, rest: undefined }
    count++
    thread.worker
      .on('message', (answer: Answer) => {
        finish(thread, answer)
      })
      .on('error', (cause: unknown) => {
        thread.cause = cause
      })
      .on('exit', (code: number) => {
        ended(thread, code)
      })
    return thread
  }

  function give(thread: Thread<Call>, job: Job<Call>): void {
    clearTimeout(thread.rest)
    thread.job = job
    thread.worker.ref()
    thread.worker.postMessage(job.call, [])
  }

  function finish(thread: Thread<Call>, answer: Answer): void {
    const { job } = thread
    thread.job = undefined
    const next = waiting.shift()
    if (next === undefined) rest(thread)
    else give(thread, next)
    if ('value' in answer) job?.resolve(answer.value)
    else job?.reject(answer.error)
  }

  function rest(thread: Thread<Call>): void {
    thread.worker.unref()
    idle.push(thread)
    thread.rest = setTimeout(() => {
      forget(thread)
      void thread.worker.terminate()
    }, restMs)
    thread.rest.unref()
  }

  function forget(thread: Thread<Call>): void {
    clearTimeout(thread.rest)
    const index = idle.indexOf(thread)
    if (index >= 0) idle.splice(index, 1)
  }

  function ended(thread: Thread<Call>, code: number): void {
    count--
    forget(thread)
    const { cause } = thread
    thread.job?.reject(
      new HashingThreadError(`The thread that hashed ended with code ${code}.`, cause === undefined ? {} : { cause })
    )
    const next = waiting.shift()
    if (next !== undefined) begin(next)
  }

  function begin(job: Job<Call>): void {
    try {
      give(another(), job)
    } catch (error) {
      job.reject(error)
    }
  }

  return {
    async run(call) {
      return await new Promise((resolve, reject) => {
        const job: Job<Call> = { call, resolve, reject }
        const thread = idle.pop()
        if (thread !== undefined) give(thread, job)
        else if (count < size) begin(job)
        else waiting.push(job)
      })
    }
  }
}

/** How long a thread without work stays. */
const REST_MS = 30_000

/**
 * The threads of this process that run the file `path` next to the module at `url`: at most one for each core, because
 * more gain nothing. `path` has no file extension. Starts nothing before the first call. `null` inside a host's bundle,
 * where the file is missing.
 */
export function threadsOf<Call>(path: string, url: string): () => HashingThreads<Call> | null {
  let shared: HashingThreads<Call> | null | undefined
  return () => {
    if (shared === undefined) {
      const file = threadFile(path, url)
      shared =
        file === null
          ? null
          : hashingThreads({ start: () => new Worker(file), size: availableParallelism(), restMs: REST_MS })
    }
    return shared
  }
}

function threadFile(path: string, url: string): URL | null {
  try {
    const file = new URL(`${path}${extname(url)}`, url)
    return existsSync(fileURLToPath(file)) ? file : null
  } catch {
    return null
  }
}

const LOWEST_PRIORITY = 19

/**
 * The work of a worker thread of `hashingThreads`: one call at a time, each an answer to one message. On Linux the
 * thread has the lowest priority. Elsewhere a priority would be that of the whole process, and stays as it is.
 */
export function answerCalls(answer: (call: never) => unknown): void {
  const port = parentPort
  if (port === null) return
  try {
    if (process.platform === 'linux') setPriority(LOWEST_PRIORITY)
  } catch {
    // A sandbox may forbid the priority; the work goes on without it.
  }
  port.on('message', (call: unknown) => {
    Promise.resolve(call as never)
      .then(answer)
      .then(
        (value) => {
          port.postMessage({ value })
        },
        (error: unknown) => {
          port.postMessage({ error })
        }
      )
  })
}
