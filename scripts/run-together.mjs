// Test files one after another in one process, each a subtest with its own end, teardowns and time.
//   node --import ./scripts/typescript-loader.mjs scripts/run-together.mjs SECONDS FILE…
// On file descriptor 3 it writes a line of JSON at the start of each file, and one with its result at its end, because
// tests may print to the other descriptors.
import { existsSync, readFileSync, writeSync } from 'node:fs'
import { pathToFileURL } from 'node:url'

// Taken from the arguments before tap is loaded, which names its directories for them.
const [seconds, ...files] = process.argv.splice(2)
const GLOBALS = ['fetch', 'setTimeout', 'setInterval', 'setImmediate', 'queueMicrotask']
const { default: root } = await import('tap')
const { drawFrom } = await import('../test/support/small-rsa.ts')
const { useTest } = await import('../test/support/tap.ts')

root.setTimeout(0)
const coverage = process.env.TEST_COVERAGE ? await import('./take-coverage.mjs') : undefined

for (const file of files) {
  writeSync(3, '{}\n')
  const [before, began, spent] = [stateOf(), performance.now(), processorSeconds()]
  const [failures, known] = [[], root.lists.fail.length]
  let test
  if (/^import t\b.* from 'tap'$/m.test(readFileSync(file, 'utf8')))
    failures.push({ name: `${file} imports t from 'tap': import it from test/support/tap.ts instead` })
  else
    await root.test(file, { timeout: Number(seconds) * 1000 }, async (t) => {
      test = t
      useTest(t)
      drawFrom(0)
      await import(pathToFileURL(file).href)
    })
  // An error of a teardown fails the root.
  failures.push(...told(root.lists.fail.slice(known)))
  if (failures.length === 0 && test.counts.pass === 0) failures.push({ name: `${file} has tested nothing` })
  const after = files.length === 1 ? before : stateOf()
  for (const name of Object.keys(before).filter((name) => before[name] !== after[name]))
    failures.push({ name: `${file} has changed the process for the files after it: ${name}` })
  const took = { seconds: (performance.now() - began) / 1000, processor: processorSeconds() - spent }
  coverage?.takeCoverage(file, took.processor)
  writeSync(3, `${JSON.stringify({ file, passed: test?.counts.pass ?? 0, failures, ...took })}\n`)
}

/** The failed assertions. A subtest that failed because of one below it says nothing new. */
function told(failed) {
  return failed
    .filter(({ fullname }) => !failed.some((other) => other.fullname.startsWith(`${fullname} > `)))
    .map(({ fullname, diag: { at, ...rest } = {} }) => {
      const place = at?.fileName === undefined ? [] : [`at ${at.fileName}:${at.lineNumber}`]
      // The stack of an assertion says no more than its place.
      const told = Object.entries(rest)
        .filter(([key]) => key !== 'source' && (key !== 'stack' || rest.tapCaught !== undefined))
        .map(([key, value]) => `${key}: ${typeof value === 'string' ? value : JSON.stringify(value)}`)
      return { name: fullname.replace(/^TAP > /, ''), lines: [...place, ...told].join('\n').split('\n').slice(0, 30) }
    })
}

/** The state that a test may change for its time and has to put back. */
function stateOf() {
  const listeners = ['warning', 'unhandledRejection', 'uncaughtException'].map((name) => [
    `listeners of ${name}`,
    process.listenerCount(name)
  ])
  return {
    ...Object.fromEntries(listeners),
    environment: JSON.stringify(process.env),
    directory: process.cwd(),
    exitCode: process.exitCode,
    emitWarning: process.emitWarning,
    stdout: process.stdout.write,
    now: Date.now,
    random: Math.random,
    log: console.log,
    error: console.error,
    ...Object.fromEntries(GLOBALS.map((name) => [name, globalThis[name]]))
  }
}

/** The processor time of this process and, on Linux, of its descendants. A parent's figures have those that ended. */
function processorSeconds() {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1e6 + (existsSync('/proc/self/stat') ? secondsBelow(process.pid) : 0)
}

function secondsBelow(pid) {
  const list = `/proc/${pid}/task/${pid}/children`
  try {
    const children = existsSync(list) ? readFileSync(list, 'utf8').split(' ').filter(Boolean) : []
    const alive = children.map((child) => secondsIn(child, 11) + secondsBelow(child))
    return alive.reduce((sum, seconds) => sum + seconds, secondsIn(pid, 13))
  } catch {
    // A child has ended meanwhile.
    return 0
  }
}

/** Two neighbouring fields of its `stat`, after the name: from 11 its own time, from 13 that of its ended children. */
function secondsIn(pid, field) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ')
  return (Number(fields[field]) + Number(fields[field + 1])) / 100
}
