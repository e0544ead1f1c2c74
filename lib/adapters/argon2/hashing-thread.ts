/**
 * What runs in a worker thread of `hashingThreads`: one hash at a time, each an answer to one message. Nothing imports it.
 *
 * The calls block, which is the point: a thread of its own is what the operating system can be told to run last.
 */
import { setPriority } from 'node:os'
import { parentPort } from 'node:worker_threads'
import type { HashingCall } from './hashing-threads.ts'
import { loadEngine } from './load-engine.ts'

const LOWEST_PRIORITY = 19

async function answer (call: HashingCall): Promise<string | boolean> {
  const { hashSync, verifySync } = await loadEngine('@node-rs/argon2', () => import('@node-rs/argon2'))
  return call.what === 'hash' ? hashSync(call.password, call.options) : verifySync(call.encoded, call.password, call.options)
}

if (parentPort !== null) {
  const port = parentPort
  try {
    // On Linux a priority is that of the thread; elsewhere it would be the whole process, and this file does not run there.
    setPriority(LOWEST_PRIORITY)
  } catch {
    // Where a sandbox forbids it, the work is done all the same.
  }
  port.on('message', (call: HashingCall) => {
    answer(call).then((value) => { port.postMessage({ value }) }, (error: unknown) => { port.postMessage({ error }) })
  })
}
