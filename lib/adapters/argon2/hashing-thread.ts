/**
 * Runs in a worker thread of `nodeRsHasher`. Nothing imports this file. The calls block on purpose, because the
 * operating system can give a thread the lowest priority.
 */
import { answerCalls } from '../threads/hashing-threads.ts'
import { type HashingCall, loadEngine } from './argon2-hasher.ts'

answerCalls(async (call: HashingCall) => {
  const { hashSync, verifySync } = await loadEngine('@node-rs/argon2', () => import('@node-rs/argon2'))
  return call.what === 'hash'
    ? hashSync(call.password, call.options)
    : verifySync(call.encoded, call.password, call.options)
})
