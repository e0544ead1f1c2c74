// Runs test files as they are, programs that print TAP, without tap's runner, which takes longer to start than most files take. Files
// that may share a process do (test-lanes.mjs).
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { isCounted, laneOf, processesOf } from './test-lanes.mjs'

const LOADER = new URL('typescript-loader.mjs', import.meta.url).href
const TOGETHER = fileURLToPath(new URL('run-together.mjs', import.meta.url))
/** Of one file, in seconds: long enough for a machine that does much beside it. */
const TIMEOUT = 240
const AT_ONCE = { faults: 2, 'faults-alone': 1, main: 3 }

/** Some at once, and then one by one those that need it. Resolves to the whole TAP and the runner's exit code. */
export async function runFiles (root, files, env = {}) {
  const texts = []
  let status = 0
  let count = 0

  async function work (left) {
    for (let together = left.shift(); together !== undefined; together = left.shift()) {
      const { results, text } = await runProcess(root, together, env)
      texts.push(text)
      for (const { file, isGood, seconds } of results) {
        if (!isGood) status = 1
        console.log(`${isGood ? 'ok' : 'not ok'} ${++count} - ${file} (${seconds} s)`)
      }
      // One of them has ended the process, or has kept it: those after it have not run.
      const missing = together.slice(results.length)
      if (missing.length > 0) left.unshift(missing)
    }
  }

  for (const lane of ['main', 'faults', 'faults-alone']) {
    const processes = processesOf(files.filter((file) => laneOf(file) === lane))
    await Promise.all(Array.from({ length: AT_ONCE[lane] }, async () => { await work(processes) }))
  }
  return { status, text: texts.join('\n') }
}

/** Resolves to the TAP and the result of each file that ran. */
async function runProcess (root, files, env) {
  const isAlone = files.length === 1
  const uncounted = files.every((file) => !isCounted(file)) ? { NODE_V8_COVERAGE: undefined } : {}
  const timeout = TIMEOUT + 3 * Number(process.env.FAULTS_SECONDS ?? 0)
  const child = spawn(process.execPath, ['--enable-source-maps', `--import=${LOADER}`, ...isAlone ? files : [TOGETHER, ...files]], { cwd: root, env: { TAP_TIMEOUT: String(timeout), ...process.env, ...env, ...uncounted }, stdio: ['ignore', 'pipe', 'inherit'] })
  const results = []
  let text = ''
  let beganAt = performance.now()
  let timers = []

  // A file that has not ended by then is held by what it has opened; at SIGTERM it ends the servers that it has started.
  function startTimers () {
    for (const timer of timers) clearTimeout(timer)
    timers = ['SIGTERM', 'SIGKILL'].map((signal, index) => setTimeout(() => { child.kill(signal) }, (timeout + 10 * (index + 1)) * 1000))
  }

  function ended (file, isGood) {
    results.push({ file, isGood, seconds: ((performance.now() - beganAt) / 1000).toFixed(1) })
    beganAt = performance.now()
    startTimers()
  }

  startTimers()
  let from = 0
  child.stdout.setEncoding('utf8').on('data', (chunk) => {
    text += chunk
    if (isAlone) return
    const end = text.lastIndexOf('\n') + 1
    for (const [, not, name] of text.slice(from, end).matchAll(/^(not )?ok \d+ - (\S+\.test\.ts)(?: # time=.*)?$/gm)) {
      if (name === files[results.length]) ended(name, not === undefined)
    }
    from = end
  })
  const code = await new Promise((resolve) => { child.once('close', (exitCode) => { resolve(exitCode ?? 1) }) })
  for (const timer of timers) clearTimeout(timer)
  if (isAlone) {
    ended(files[0], code === 0)
    text = `# Subtest: ${files[0]}\n${text.replaceAll(/^(?!# \{ total).+/gm, '    $&')}\n${code === 0 ? 'ok' : 'not ok'} 1 - ${files[0]}`
  } else if (results.length < files.length) {
    text += `\nnot ok 1 - ${files[results.length]}\n  ---\n  reason: the process ended with ${code} before the file did\n  ...\n# { total: 1, pass: 0, fail: 1 }\n`
    ended(files[results.length], false)
  } else if (code !== 0 && results.every(({ isGood }) => isGood)) {
    text += `\nnot ok 1 - what ${files.join(', ')} left\n  ---\n  reason: the process ended with ${code} after the last of them\n  ...\n# { total: 1, pass: 0, fail: 1 }\n`
    results.push({ file: `what ${files.join(', ')} left`, isGood: false, seconds: '0' })
  }
  for (const timer of timers) clearTimeout(timer)
  return { results, text }
}
