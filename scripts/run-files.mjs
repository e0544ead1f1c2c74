// Runs test files without tap's runner, which takes longer to start than most files take. Files that may share a
// process do (test-lanes.mjs).
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { isCounted, laneOf, processesOf } from './test-lanes.mjs'

const LOADER = new URL('typescript-loader.mjs', import.meta.url).href
const TOGETHER = fileURLToPath(new URL('run-together.mjs', import.meta.url))
/**
 * Of one file, in seconds: the longest takes a minute, and was seen to take four on a machine that does much beside it.
 */
const TIMEOUT = 600
const AT_ONCE = 4
/**
 * Of those that drive a browser and wait for it most of the time: so others run beside them, and as many as usual
 * afterwards.
 */
const BROWSERS_AT_ONCE = 3
const BESIDE_BROWSERS = 2
/**
 * Of the scenarios of faults, each of which takes half a processor: their instances and servers are processes of their
 * own.
 */
const FAULTS_AT_ONCE = 2

/**
 * Scenarios of faults, then the other tests: beside all others a scenario was seen to judge the machine.
 * Resolves to the whole TAP and the runner's exit code.
 */
export async function runFiles(root, files, env = {}) {
  const texts = []
  let status = 0
  let count = 0

  async function work(left) {
    for (let together = left.shift(); together !== undefined; together = left.shift()) {
      const { results, text } = await runProcess(root, together, env)
      texts.push(text)
      for (const { file, isGood, seconds, processor } of results) {
        if (!isGood) status = 1
        console.log(`${isGood ? 'ok' : 'not ok'} ${++count} - ${file} (${seconds} s, ${processor} s of a processor)`)
      }
      // One of them has ended the process, or has kept it: those after it have not run.
      const missing = together.slice(results.length)
      if (missing.length > 0) left.unshift(missing)
    }
  }

  const lane = (...names) => processesOf(files.filter((file) => names.includes(laneOf(file))))
  const atOnce = async (count, each) => {
    await Promise.all(Array.from({ length: count }, (_, index) => each(index)))
  }
  const faults = lane('faults')
  await atOnce(FAULTS_AT_ONCE, async () => {
    await work(faults)
  })
  const [browsers, others] = [[], []]
  for (const together of lane('main', 'built'))
    (together[0].startsWith('test/browser/') ? browsers : others).push(together)
  await atOnce(BROWSERS_AT_ONCE + BESIDE_BROWSERS, async (index) => {
    if (index < BROWSERS_AT_ONCE) await work(browsers)
    if (index >= BROWSERS_AT_ONCE + BESIDE_BROWSERS - AT_ONCE) await work(others)
  })
  return { status, text: texts.join('\n') }
}

/** Resolves to the TAP and the result of each file that ran. */
async function runProcess(root, files, env) {
  const uncounted = files.every((file) => !isCounted(file)) ? { NODE_V8_COVERAGE: undefined } : {}
  const timeout = TIMEOUT + 3 * Number(process.env.FAULTS_SECONDS ?? 0)
  const child = spawn(process.execPath, ['--enable-source-maps', `--import=${LOADER}`, TOGETHER, ...files], {
    cwd: root,
    env: { TAP_TIMEOUT: String(timeout), ...process.env, ...env, ...uncounted },
    stdio: ['ignore', 'pipe', 'inherit']
  })
  const results = []
  const lines = []
  let beganAt = performance.now()
  let timers = []

  // A file that has not ended by then is held by what it has opened; at SIGTERM it ends the servers that it has
  // started.
  function startTimers() {
    for (const timer of timers) clearTimeout(timer)
    timers = ['SIGTERM', 'SIGKILL'].map((signal, index) =>
      setTimeout(
        () => {
          child.kill(signal)
        },
        (timeout + 10 * (index + 1)) * 1000
      )
    )
  }

  function ended(file, isGood) {
    results.push({ file, isGood, seconds: ((performance.now() - beganAt) / 1000).toFixed(1), processor: '?' })
    beganAt = performance.now()
    startTimers()
  }

  startTimers()
  createInterface({ input: child.stdout }).on('line', (line) => {
    lines.push(line)
    const [, not, name] = /^(not )?ok \d+ - (\S+\.test\.ts)(?: # time=.*)?$/.exec(line) ?? []
    if (name !== undefined && name === files[results.length]) ended(name, not === undefined)
    const [, seconds, of] = /^# processor (\S+) (.*)$/.exec(line) ?? []
    const result = results.find(({ file }) => file === of)
    if (result !== undefined) result.processor = seconds
  })
  const code = await new Promise((resolve) => {
    child.once('close', (exitCode) => {
      resolve(exitCode ?? 1)
    })
  })
  for (const timer of timers) clearTimeout(timer)
  if (results.length < files.length) {
    lines.push(
      `not ok 1 - ${files[results.length]}`,
      '  ---',
      `  reason: the process ended with ${code} before the file did`,
      '  ...',
      '# { total: 1, pass: 0, fail: 1 }'
    )
    ended(files[results.length], false)
  } else if (code !== 0 && results.every(({ isGood }) => isGood)) {
    lines.push(
      `not ok 1 - what ${files.join(', ')} left`,
      '  ---',
      `  reason: the process ended with ${code} after the last of them`,
      '  ...',
      '# { total: 1, pass: 0, fail: 1 }'
    )
    results.push({ file: `what ${files.join(', ')} left`, isGood: false, seconds: '0', processor: '?' })
  }
  for (const timer of timers) clearTimeout(timer)
  return { results, text: lines.join('\n') }
}
