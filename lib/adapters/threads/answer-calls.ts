import { setPriority } from 'node:os'
import { parentPort } from 'node:worker_threads'

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
