// The inner loop: format, lint and types of a change, and the tests that it can reach. Nothing is built.
//   npm run check                       what differs from the branch main, with what is not committed
//   npm run check -- --base HEAD~1      what differs from another commit
//   npm run check -- lib/oauth/scope.ts only the tests of these files, as if they had changed
import { execFileSync, spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { testsOf } from './reach.mjs'
import { runTests } from './run-tests.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    base: { type: 'string' },
    // The first failure ends all.
    bail: { type: 'boolean', default: false },
    // Processor time for the tests. Tests that changed themselves are run in any case.
    seconds: { type: 'string', default: '40' },
    skip: { type: 'string', multiple: true, default: [] }
  }
})
const git = (...args) =>
  execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()

const changed = positionals.length > 0 ? positionals : changedFiles()
console.log(`${changed.length} changed files`)
const still = positionals.length > 0 ? [] : [formatOf(), lintOf(), ...typesOf()].map(run)
const tests = testsOf(changed, Number(values.seconds)).filter((file) => !values.skip.includes(file))
const isGood = tests.length === 0 || (await runTests(tests, { bail: values.bail }))
const failed = (await Promise.all(still)).filter(({ status }) => status !== 0)
for (const { name, output } of failed) console.log(`\n${name} failed:\n${output}`)
if (tests.length === 0) console.log('no test reaches the change')
process.exitCode = isGood && failed.length === 0 ? 0 : 1

function changedFiles() {
  const base = values.base ?? mergeBase()
  const names = [git('diff', '--name-only', '--diff-filter=d', base), git('ls-files', '--others', '--exclude-standard')]
  return names.flatMap((list) => list.split('\n')).filter((name) => name !== '')
}

/** The commit at which this branch left main. In a clone of another branch alone, main has the name of the remote. */
function mergeBase() {
  for (const main of ['main', 'origin/main'])
    try {
      return git('merge-base', 'HEAD', main)
    } catch {}
  return 'HEAD'
}

function formatOf() {
  return ['format', 'oxfmt', ['--check', '--no-error-on-unmatched-pattern', ...changed]]
}

function lintOf() {
  const code = changed.filter((file) => /\.(?:[cm]?[jt]s|tsx)$/.test(file))
  return ['lint', 'oxlint', code.length === 0 ? ['--version'] : ['--type-aware', '--deny-warnings', ...code]]
}

/** Code for browsers has the types of browsers. */
function typesOf() {
  const isClient = changed.some((file) => file.startsWith('lib/client/'))
  return ['tsconfig.json', ...(isClient ? ['lib/client'] : [])].map((project) => [
    'types',
    'tsc',
    ['--noEmit', '-p', project]
  ])
}

async function run([name, program, args]) {
  const child = spawn('npx', ['--no-install', program, ...args], { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] })
  const ended = new Promise((resolve) => {
    child.once('close', resolve)
  })
  const [out, errors] = await Promise.all([text(child.stdout), text(child.stderr)])
  return { name, status: await ended, output: out + errors }
}
