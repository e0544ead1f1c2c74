// A thread that does what the password says, in the place of hashing-thread.ts.
import { parentPort } from 'node:worker_threads'

parentPort.on('message', ({ password }) => {
  if (password === 'exit') process.exit(7)
  if (password === 'throw') throw new Error('out of memory')
  parentPort.postMessage(password === 'fail' ? { error: new TypeError('unreadable') } : { value: password }, [])
})
