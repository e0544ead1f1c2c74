// Runs test files as they are, programs that print TAP, without tap's runner, which takes longer to start than most files take.
import { spawn } from 'node:child_process'
import { laneOf } from './test-lanes.mjs'

const LOADER = new URL('typescript-loader.mjs', import.meta.url).href
/** Of one file, in seconds: long enough for a machine that does much beside it. */
const TIMEOUT = 240
const AT_ONCE = 2

/** Two at once, and then one by one those that need it. Resolves to the whole TAP and the runner's exit code. */
export async function runFiles (root, files) {
  const texts = []
  let status = 0

  async function work (left) {
    for (let file = left.shift(); file !== undefined; file = left.shift()) {
      const { code, text, seconds } = await runFile(root, file)
      const line = `${code === 0 ? 'ok' : 'not ok'} ${texts.length + 1} - ${file}`
      if (code !== 0) status = 1
      console.log(`${line} (${seconds} s)`)
      texts.push(`# Subtest: ${file}\n${text.replaceAll(/^(?!# \{ total).+/gm, '    $&')}\n${line}`)
    }
  }

  const alone = files.filter((file) => laneOf(file) === 'faults-alone')
  const others = files.filter((file) => !alone.includes(file))
  await Promise.all(Array.from({ length: AT_ONCE }, async () => { await work(others) }))
  await work(alone)
  return { status, text: texts.join('\n') }
}

async function runFile (root, file) {
  const beganAt = performance.now()
  const timeout = TIMEOUT + 3 * Number(process.env.FAULTS_SECONDS ?? 0)
  const child = spawn(process.execPath, ['--enable-source-maps', `--import=${LOADER}`, file], { cwd: root, env: { TAP_TIMEOUT: String(timeout), ...process.env }, stdio: ['ignore', 'pipe', 'inherit'] })
  let text = ''
  child.stdout.setEncoding('utf8').on('data', (chunk) => { text += chunk })
  // One that has not ended by itself then is held by what it has opened; at SIGTERM it ends the servers that it has started.
  const timers = ['SIGTERM', 'SIGKILL'].map((signal, index) => setTimeout(() => { child.kill(signal) }, (timeout + 10 * (index + 1)) * 1000))
  const code = await new Promise((resolve) => { child.once('close', (exitCode) => { resolve(exitCode ?? 1) }) })
  for (const timer of timers) clearTimeout(timer)
  return { code, text, seconds: ((performance.now() - beganAt) / 1000).toFixed(1) }
}
