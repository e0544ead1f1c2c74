// Runs all tests and closes with one line, `N passed, N failed`, that a person and a CI system can read.
// The exit code is the test runner's own; arguments go to it (`npm test -- test/unit/x.test.ts`).
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ensureServers } from './ensure-servers.mjs'

if (!ensureServers(process.argv.slice(2))) process.exit(1)

const directory = mkdtempSync(join(tmpdir(), 'fastify-authority-test-'))
const output = join(directory, 'out.tap')
const tap = fileURLToPath(new URL('../node_modules/tap/dist/esm/run.mjs', import.meta.url))
// The runner's own choice for a log file is all of TAP, twice where it is written to a file too: failures and a line a file do.
const reporter = process.stdout.isTTY ? [] : ['--reporter=min', '--no-color']

const run = spawnSync(process.execPath, [tap, 'run', '--coverage-report=text', `--output-file=${output}`, ...reporter, ...process.argv.slice(2)], { stdio: 'inherit' })
const text = existsSync(output) ? readFileSync(output, 'utf8') : ''
rmSync(directory, { recursive: true, force: true })

const files = text.match(/^(not )?ok \d+ - .*$/gm) ?? []
if (!process.stdout.isTTY) console.log(`\n${files.join('\n')}`)

const passed = total('pass')
const failed = total('fail')
// A runner that died, or ran nothing, is a failure whatever it printed.
const exitCode = run.status === 0 && (failed > 0 || passed === 0) ? 1 : run.status ?? 1
console.log(`${passed} passed, ${exitCode !== 0 && failed === 0 ? 1 : failed} failed`)
process.exitCode = exitCode

/** One number of the summary `# { total: 3, pass: 2, fail: 1 }` with which the runner ends. */
function total (name) {
  const summary = text.match(/^# \{ total: .*\}$/gm)?.at(-1) ?? ''
  return Number(new RegExp(`\\b${name}: (\\d+)`).exec(summary)?.[1] ?? 0)
}
