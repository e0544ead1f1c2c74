// Runs test files in processes, several at once, and resolves to the result of each file.
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { laneOf, processesOf } from './test-lanes.mjs'

const LOADER = new URL('typescript-loader.mjs', import.meta.url).href
const TOGETHER = fileURLToPath(new URL('run-together.mjs', import.meta.url))
/** The time limit of a file. The longest takes a minute, and was seen to take four on a busy machine. */
const SECONDS = Number(process.env.TEST_TIMEOUT ?? 600) + 3 * Number(process.env.FAULTS_SECONDS ?? 0)
/** V8 has no threads of its own: they save no time where the tests use all processors, and cost a tenth of it. */
const FLAGS = ['--enable-source-maps', '--single-threaded']
// It optimizes a function much later, because little of what a test runs comes often: that is another tenth. The
// versions after 20 have another flag for it.
if (process.versions.node.startsWith('20.')) FLAGS.push('--interrupt-budget=1400000')
/** More than processors: files that drive a browser wait for it most of the time. */
const [BROWSERS, OTHERS] = [4, 3]

/**
 * Runs scenarios of faults, then the other tests: together with the others a scenario would judge the machine. `bail`:
 * the first failure ends all.
 */
export async function runFiles(root, files, { bail = false } = {}) {
  const results = []
  const ending = new AbortController()
  process.once('SIGTERM', () => {
    ending.abort()
  })
  const processes = processesOf(files)
  const isBrowser = ([file]) => file.startsWith('test/browser/')
  const isFault = ([file]) => laneOf(file) === 'faults'
  // Those of one file come last, so that at the end no processor waits long for the other. Files of the command line
  // come first, because each is a long row of processes.
  const placeOf = ([file, ...more]) => (more.length > 0 ? 1 : file.startsWith('test/cli/') ? 0 : 2)
  const others = processes
    .filter((together) => !isFault(together) && !isBrowser(together))
    .sort((a, b) => placeOf(a) - placeOf(b))

  async function work(queue) {
    for (let together = queue.shift(); together !== undefined && !ending.signal.aborted; together = queue.shift()) {
      const ran = await runProcess(root, together, ending.signal, (result) => {
        if (ending.signal.aborted) return
        results.push(result)
        const { file, failures, seconds, processor } = result
        const time = `${seconds.toFixed(1)} s, ${processor.toFixed(1)} s of a processor`
        console.log(`${failures.length > 0 ? 'not ok' : 'ok'} ${results.length} - ${file} (${time})`)
        if (bail && failures.length > 0) ending.abort()
      })
      // A file that ended the process, or was ended, keeps those after it from running.
      if (ran < together.length && !ending.signal.aborted) queue.unshift(together.slice(ran))
    }
  }
  const atOnce = async (count, ...queues) => {
    const worker = async () => {
      for (const queue of queues) await work(queue)
    }
    await Promise.all(Array.from({ length: count }, worker))
  }

  await atOnce(2, processes.filter(isFault))
  await Promise.all([atOnce(BROWSERS, processes.filter(isBrowser), others), atOnce(OTHERS, others)])
  return results
}

/** Resolves to how many of the files ran. */
async function runProcess(root, files, signal, tell) {
  const child = spawn(process.execPath, [...FLAGS, `--import=${LOADER}`, TOGETHER, String(SECONDS), ...files], {
    cwd: root,
    signal,
    stdio: ['ignore', 'pipe', 'inherit', 'pipe']
  })
  const printed = []
  let [ran, began, timers] = [0, performance.now(), []]

  // Only a file that keeps the process busy lives past its time. At SIGTERM it ends the servers that it has started.
  function startTimers(seconds) {
    for (const timer of timers) clearTimeout(timer)
    timers = ['SIGTERM', 'SIGKILL'].map((signal, index) =>
      setTimeout(() => child.kill(signal), (seconds + Math.min(10, SECONDS) * (index + 1)) * 1000)
    )
  }
  const fail = (file, reason) => {
    const failures = [{ name: `${file}: ${reason}`, lines: printed.slice(-20) }]
    tell({ file, passed: 0, failures, seconds: (performance.now() - began) / 1000, processor: 0 })
  }

  // An abort ends it like SIGTERM.
  child.once('error', () => {})
  startTimers(60)
  createInterface({ input: child.stdout }).on('line', (line) => printed.push(line))
  createInterface({ input: child.stdio[3] }).on('line', (line) => {
    const result = JSON.parse(line)
    if (result.file === undefined) return startTimers(SECONDS)
    tell(result)
    began = performance.now()
    startTimers(++ran < files.length ? SECONDS : 60)
  })
  const [code, endedBy] = await new Promise((resolve) => {
    child.once('close', (...ended) => resolve(ended))
  })
  for (const timer of timers) clearTimeout(timer)
  if (ran < files.length) fail(files[ran++], `the process ended with ${endedBy ?? code} before the file did`)
  else if (endedBy !== null)
    fail(files.at(-1), 'the process did not end: it or a file before it has left something open')
  return ran
}
