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

/** The error of a call whose thread ended before it answered. A later call runs in another thread. */
export class HashingThreadError extends Error {
  readonly code = 'FST_AUTHORITY_HASHING_THREAD'
  override readonly name = 'HashingThreadError'
}

interface HashingThreads<Call> {
  /**
   * Runs one call in an idle thread. If all threads are busy, the calls wait in their order.
   *
   * @throws HashingThreadError if the thread ended, otherwise the error of the engine or of starting a thread
   */
  run(call: Call): Promise<unknown>
}

/**
 * A pool of at most `size` worker threads. A call that finds no idle thread starts one with `start`, or waits if all
 * `size` threads exist. A thread ends after `restMs` milliseconds without work, so that a machine with many cores does
 * not keep the threads of a flood. A working thread keeps the process alive, an idle thread does not.
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
  /** Idle threads. The next call takes the last one, so that surplus threads stay idle and end. */
  const idle: Array<Thread<Call>> = []
  const waiting: Array<Job<Call>> = []
  /** The number of threads. It includes threads that are ending, because their memory is not free yet. */
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
    // Repeats this if no thread starts, because no other event may reach the waiting calls.
    while (count < size) {
      const next = waiting.shift()
      if (next === undefined) return
      begin(next)
    }
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

/** The time after which an idle thread ends. */
const REST_MS = 30_000

/**
 * Returns a function that returns the threads of this process for the file `path` next to the module at `url`: at most
 * one for each core. `path` has no file extension. Starts no thread before the first call. The function returns `null`
 * in a host's bundle, because the file is missing there.
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
 * Makes this worker thread answer the calls of `hashingThreads`. On Linux the thread gets the lowest priority. On other
 * systems `setPriority` would change the whole process, so the priority stays as it is.
 */
export function answerCalls(answer: (call: never) => unknown): void {
  const port = parentPort
  if (port === null) return
  try {
    if (process.platform === 'linux') setPriority(LOWEST_PRIORITY)
  } catch {
    // Ignores the error, because a sandbox may forbid a change of the priority.
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
