/**
 * Runs in a worker thread of `nodeRsHasher`. Nothing imports it. The calls block on purpose: the operating system can
 * be told to run a thread of its own last.
 */
import { answerCalls } from '../threads/answer-calls.ts'
import type { HashingCall } from './hashing-call.ts'
import { loadEngine } from './load-engine.ts'

answerCalls(async (call: HashingCall) => {
  const { hashSync, verifySync } = await loadEngine('@node-rs/argon2', () => import('@node-rs/argon2'))
  return call.what === 'hash'
    ? hashSync(call.password, call.options)
    : verifySync(call.encoded, call.password, call.options)
})
