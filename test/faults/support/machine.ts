/** Watches the machine of a scenario: late answers during a standstill say nothing about the service. */
import { Worker } from 'node:worker_threads'
import type { Interval } from './terms.ts'

export interface Machine {
  stop(): Promise<void>
}

interface MachineDeps {
  /** Milliseconds on the clock of the log. */
  now: () => number
  onStill: (interval: Interval) => void
}

/**
 * A separate thread wakes every 20 ms and writes to the disk every 100 ms. `onStill` is called each time that one of
 * the two took 100 ms longer than it should, because a processor was taken away or the disk did not answer.
 */
export function watchMachine({ now, onStill }: MachineDeps): Machine {
  const worker = new Worker(THREAD, { eval: true })
  worker.on('message', (startedAt: number) => {
    const end = now()
    onStill({ start: end - (performance.timeOrigin + performance.now() - startedAt), end })
  })
  worker.unref()
  return {
    stop: async () => {
      await worker.terminate()
    }
  }
}

const THREAD = `
const { parentPort } = require('node:worker_threads')
const { closeSync, fsyncSync, mkdtempSync, openSync, rmSync, writeSync } = require('node:fs')
const { join } = require('node:path')
const directory = mkdtempSync(join(require('node:os').tmpdir(), 'authority-machine-'))
const file = openSync(join(directory, 'probe'), 'w')
rmSync(directory, { recursive: true })
const rest = new Int32Array(new SharedArrayBuffer(4))
for (let turn = 0; ; turn++) {
  const start = performance.now()
  Atomics.wait(rest, 0, 0, 20)
  if (turn % 5 === 0) { writeSync(file, 'x', 0); fsyncSync(file) }
  if (performance.now() - start > 120) parentPort.postMessage(performance.timeOrigin + start)
}
`
