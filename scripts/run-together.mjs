// Test files one after another in one process: most spend more on loading what they test than on testing it. Each is a
// subtest with its own end, teardowns and time, and what one leaves in the process is its fault.
//   node --import ./scripts/typescript-loader.mjs scripts/run-together.mjs FILE…
import { existsSync, readFileSync } from 'node:fs'
import module from 'node:module'
import { pathToFileURL } from 'node:url'
import { useTest } from './together-tap.mjs'

// The runner names its directories for the arguments, which are too many for a name.
const files = process.argv.splice(2)
const timeout = Number(process.env.TAP_TIMEOUT ?? 600)
process.env.TAP_TIMEOUT = String(timeout * files.length)
module.register('./together-hooks.mjs', import.meta.url)
const { default: root } = await import('tap')
const { drawFrom } = await import('../test/support/small-rsa.ts')

for (const file of files) {
  const before = stateOf()
  const spent = processorSeconds()
  let ofFile
  await root.test(file, { timeout: timeout * 1000 }, async (t) => {
    ofFile = t
    useTest(t)
    drawFrom(0)
    await import(pathToFileURL(file).href)
  })
  if (ofFile.counts.total === 0) root.fail(`${file} has tested nothing`)
  process.stdout.write(`# processor ${(processorSeconds() - spent).toFixed(1)} ${file}\n`)
  const after = stateOf()
  const changed = files.length === 1 ? [] : Object.keys(before).filter((name) => before[name] !== after[name])
  if (changed.length > 0) root.fail(`${file} has changed the process for the files after it: ${changed.join(', ')}`)
}

/** What a test may change for its time and has to put back. */
function stateOf() {
  const { fetch, setTimeout, setInterval, setImmediate, queueMicrotask, console } = globalThis
  return {
    env: JSON.stringify(process.env),
    directory: process.cwd(),
    exitCode: process.exitCode,
    warnings: process.listenerCount('warning'),
    rejections: process.listenerCount('unhandledRejection'),
    exceptions: process.listenerCount('uncaughtException'),
    emitWarning: process.emitWarning,
    stdout: process.stdout.write,
    now: Date.now,
    random: Math.random,
    fetch,
    setTimeout,
    setInterval,
    setImmediate,
    queueMicrotask,
    log: console.log,
    error: console.error
  }
}

/** Of this process and, on Linux, of its children that have ended. */
function processorSeconds() {
  const { user, system } = process.cpuUsage()
  const [, , , , , , , , , , , , , childUser = 0, childSystem = 0] = existsSync('/proc/self/stat')
    ? readFileSync('/proc/self/stat', 'utf8')
        .replace(/^.*\) /s, '')
        .split(' ')
    : []
  return (user + system) / 1e6 + (Number(childUser) + Number(childSystem)) / 100
}
