/**
 * Runs in a worker thread of `nodeRsHasher`, which starts this file by its name. Nothing imports it. Uses the blocking
 * functions, because the others would run in libuv's pool and not at the low priority of this thread.
 */
import { answerCalls } from '../threads/hashing-threads.ts'
import { type HashingCall, loadEngine } from './argon2-hasher.ts'

answerCalls(async (call: HashingCall) => {
  const { hashSync, verifySync } = await loadEngine('@node-rs/argon2', () => import('@node-rs/argon2'))
  return call.what === 'hash'
    ? hashSync(call.password, call.options)
    : verifySync(call.encoded, call.password, call.options)
})
