// Makes a process slow by chance, for tests that must not depend on when things happen: with HOLD_UP_MS it stands still
// again and again, for up to that many milliseconds. The loader of the tests imports this; child processes of a test
// inherit it with their environment.
import { isMainThread } from 'node:worker_threads'

const most = Number(process.env.HOLD_UP_MS)
const nothing = new Int32Array(new SharedArrayBuffer(4))
// Tests replace the global.
const { setTimeout } = globalThis

function holdUp() {
  Atomics.wait(nothing, 0, 0, Math.random() * most)
  setTimeout(holdUp, Math.random() * most).unref()
}

if (isMainThread && most > 0) holdUp()
