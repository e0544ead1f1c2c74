// Runs tests and closes with what failed, as few lines as tell why, and one line that a person and a CI system can
// read: `N passed, N failed`.
//   npm test                          all of them, with coverage, lane after lane (test-lanes.mjs)
//   npm test -- --lane=main           one lane
//   npm test -- token http/limits/    the files of that name, or those below such a path, at once and without coverage
//   npm test -- --bail test/http/*    with a flag, what tap's own runner makes of it
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildRunner } from './build-runner.mjs'
import { countCoverage } from './coverage.mjs'
import { ensureServers } from './ensure-servers.mjs'
import { runFiles } from './run-files.mjs'
import { failuresIn } from './tap-failures.mjs'
import { allTests, laneOf } from './test-lanes.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const tap = join(root, 'node_modules/tap/dist/esm/run.mjs')
const words = process.argv.slice(2)
const all = allTests(root)
const lanes = words.filter((word) => word.startsWith('--lane=')).map((word) => word.slice('--lane='.length))
const isForTap = lanes.length === 0 && words.some((word) => word.startsWith('-'))
const isLanes = words.length === lanes.length

const files = isForTap
  ? words
  : isLanes
    ? all.filter((file) => lanes.length === 0 || lanes.includes(laneOf(file)))
    : words.flatMap(filesOf)
if (files.length === 0) {
  console.error(`no test file is called so: ${words.join(' ')}`)
  process.exit(1)
}
if (!ensureServers(files)) process.exit(1)
if (isForTap && !(await buildRunner())) process.exit(1)
// Programs that several files start are built once in it.
const programs = mkdtempSync(join(tmpdir(), 'fastify-authority-programs-'))
process.env.TEST_PROGRAMS = programs
process.once('exit', () => {
  rmSync(programs, { recursive: true, force: true })
})
const { status, text } = isForTap ? await runTap(words) : isLanes ? await runLanes() : await runFiles(root, files)

const failures = failuresIn(text)
if (failures.length > 0) console.log(`\nwhat failed:\n${failures.join('\n')}\n`)
const passed = total('pass')
const failed = total('fail')
if (status !== 0 && passed > 0 && failed === 0)
  console.log('no test failed: the runner ended early, or the coverage above is less than .taprc asks for\n')
// A runner that died, or ran nothing, is a failure whatever it printed.
const exitCode = status === 0 && (failed > 0 || passed === 0) ? 1 : status
console.log(`${passed} passed, ${exitCode !== 0 && failed === 0 ? 1 : failed} failed`)
process.exitCode = exitCode

/** A path; the files that are called so (`token`, `http/token`); or else all that have it in their path. */
function filesOf(word) {
  if (existsSync(word) && statSync(word).isFile()) return [word]
  const called = all.filter((file) => `/${file}`.endsWith(`/${word}.test.ts`))
  return called.length > 0 ? called : all.filter((file) => file.includes(word))
}

/** The lane `main` counts what of the library it executes, and is good where that is enough. */
async function runLanes() {
  if (!files.some((file) => laneOf(file) === 'main')) return await runFiles(root, files)
  const coverage = countCoverage(root)
  try {
    const run = await runFiles(root, files, coverage.env)
    return coverage.report() ? run : { ...run, status: run.status || 1 }
  } finally {
    coverage.remove()
  }
}

/** What tap's own runner makes of the arguments. */
async function runTap(args) {
  const directory = mkdtempSync(join(tmpdir(), 'fastify-authority-test-'))
  const output = join(directory, 'out.tap')
  // The runner's own choice for a log file is all of TAP, twice where it is written to a file too: failures and a line
  // a file do.
  const reporter = process.stdout.isTTY ? [] : ['--reporter=min', '--no-color']
  try {
    const child = spawn(
      process.execPath,
      [tap, 'run', '--coverage-report=text', `--output-file=${output}`, ...reporter, ...args],
      { stdio: 'inherit' }
    )
    const status = await new Promise((resolve) => {
      child.once('exit', (code) => {
        resolve(code ?? 1)
      })
    })
    const text = existsSync(output) ? readFileSync(output, 'utf8') : ''
    if (!process.stdout.isTTY) console.log(`\n${(text.match(/^(not )?ok \d+ - .*$/gm) ?? []).join('\n')}`)
    return { status, text }
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

/** One number of the summaries `# { total: 3, pass: 2, fail: 1 }` with which runs end. */
function total(name) {
  const summaries = text.match(/^# \{ total: .*\}$/gm) ?? []
  return summaries.reduce((sum, summary) => sum + Number(new RegExp(`\\b${name}: (\\d+)`).exec(summary)?.[1] ?? 0), 0)
}
