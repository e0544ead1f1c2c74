/** The last lines of `npm test`, which remain in a truncated log. */
import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import t, { type Test } from '../support/tap.ts'

const SCRIPT = fileURLToPath(new URL('../../scripts/run-tests.mjs', import.meta.url))
const RUNNER = new URL('../../scripts/run-files.mjs', import.meta.url).href
const { allTests, processesOf } = (await import(new URL('../../scripts/test-lanes.mjs', import.meta.url).href)) as {
  allTests: (root: string) => string[]
  processesOf: (files: string[]) => string[][]
}
const T = new URL('../support/tap.ts', import.meta.url).href
const FAILING = `import t from '${T}'
t.test('outer', async (t) => {
  t.ok(true)
  await t.test('inner', async (t) => { t.same({ a: 1, b: [1, 2] }, { a: 1, b: [1, 3] }, 'the lists') })
  await t.test('throws', async () => { throw new Error('gone') })
})
`

/** Without what tap's runner tells its children, which the script's own are not. */
const env = (): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(process.env).filter(([name]) => !/TAP|^NODE_OPTIONS$/.test(name)))

async function run(...args: string[]): Promise<{ code: number; lines: string[]; errors: string }> {
  const child = spawn(process.execPath, [SCRIPT, ...args], { stdio: ['ignore', 'pipe', 'pipe'], env: env() })
  const exited = new Promise<number>((resolve) => {
    child.once('close', (code) => {
      resolve(code ?? -1)
    })
  })
  const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr)])
  return { code: await exited, lines: output.trimEnd().split('\n'), errors }
}

t.test('prints each failure at the end: its test path, its place, the difference, and the totals', async (t) => {
  const directory = t.testdir({ 'failing.test.ts': FAILING, 'fine.test.ts': `import t from '${T}'\nt.ok(true)\n` })
  const { code, lines } = await run(`${directory}/failing.test.ts`, `${directory}/fine.test.ts`)
  const told = lines.slice(lines.indexOf('what failed:')).join('\n')
  t.equal(code, 1)
  t.equal(lines.at(-1), '2 passed, 2 failed')
  t.match(told, /failing\.test\.ts > outer > inner > the lists\n {4}at .*failing\.test\.ts:4\n/)
  t.match(lines.join('\n'), /\nfailed files:\n {2}.*failing\.test\.ts\n/)
  t.match(told, /-    3,\n.*\+    2,/)
  t.match(told, /failing\.test\.ts > outer > throws > gone\n {4}at .*failing\.test\.ts:5\n/)
  t.notMatch(told, /outer\n|fine\.test/, 'and nothing that only failed for their sake')
})

t.test('prints about a hundred lines of many failures, and how many more there are', async (t) => {
  const directory = t.testdir({
    'failing.test.ts': `import t from '${T}'\nfor (let i = 0; i < 40; i++) t.equal(i, -1)\n`
  })
  const { lines } = await run(`${directory}/failing.test.ts`)
  const told = lines.slice(lines.indexOf('what failed:'))
  t.ok(told.length > 50 && told.length < 110, `${told.length} lines`)
  t.match(told.join('\n'), /\nand \d+ more\n/)
})

t.test('a file that ends before it has tested anything is a failure', async (t) => {
  const directory = t.testdir({ 'broken.test.ts': "import './nowhere.ts'\n" })
  const { code, lines } = await run(`${directory}/broken.test.ts`)
  t.equal(code, 1)
  t.equal(lines.at(-1), '0 passed, 1 failed')
})

t.test('selects files by a word of their path, and reports a word that matches no file', async (t) => {
  const { lines } = await run('protocol/bearer')
  t.match(lines, [/^ok 1 - test\/unit\/protocol\/bearer\.test\.ts /, /^\d+ passed, 0 failed$/])
  t.match(await run('no-file-is-called-so'), { code: 1, errors: 'no test file is called so' })
})

/** Files that share a process: what each does to it, and whether it is good. */
const TOGETHER: Record<string, readonly [text: string, isGood: boolean]> = {
  'a-fine': ["t.test('fine', async (t) => { t.ok(true) })", true],
  'b-fails': ["t.test('outer', async (t) => { t.equal(1, 2, 'one is two') })", false],
  'c-late': [
    "t.test('late', async () => { setTimeout(() => { void Promise.reject(new Error('too " +
      "late')) }, 1); await new Promise((resolve) => { setTimeout(resolve, 50) }) })",
    false
  ],
  'd-broken': ["import './nowhere.ts'", false],
  'e-teardown': ["t.teardown(() => { throw new Error('torn') })\nt.ok(true)", false],
  'f-ends-the-process': ["t.test('ends', async () => { process.reallyExit(0) })", false],
  'g-fine': ["t.test('fine', async (t) => { t.ok(true) })", true],
  'h-fine': ["t.test('fine', async (t) => { t.ok(true) })", true]
}

interface Result {
  file: string
  failures: Array<{ name: string; lines?: string[] }>
}

async function runTogether(t: Test, texts: Record<string, string>): Promise<{ results: Result[]; lines: string[] }> {
  const entries = Object.entries(texts).map(([name, text]) => [`${name}.test.ts`, `import t from '${T}'\n${text}\n`])
  const directory = t.testdir({ test: { unit: Object.fromEntries(entries) } })
  const program = `import { runFiles } from ${JSON.stringify(RUNNER)}
    const files = ${JSON.stringify(entries.map(([name]) => `test/unit/${name}`))}
    console.log(JSON.stringify(await runFiles(${JSON.stringify(directory)}, files)))`
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: env()
  })
  const lines = (await text(child.stdout)).trimEnd().split('\n')
  return { results: JSON.parse(lines.pop() ?? '') as Result[], lines }
}

/** The failures as the runner tells them, one text for each file. */
const toldOf = (results: Result[]): string[] =>
  results.map(({ failures }) => failures.map(({ name, lines = [] }) => [name, ...lines].join('\n')).join('\n'))

t.test('gives each file of a process its own result, and fails only the file that ends the process', async (t) => {
  const { results, lines } = await runTogether(
    t,
    Object.fromEntries(Object.entries(TOGETHER).map(([name, [text]]) => [name, text]))
  )
  t.strictSame(
    lines.map((line) => line.replace(/ \(.*/, '')),
    Object.entries(TOGETHER).map(
      ([name, [, isGood]], index) => `${isGood ? 'ok' : 'not ok'} ${index + 1} - test/unit/${name}.test.ts`
    )
  )
  t.match(toldOf(results), [
    /^$/,
    /^test\/unit\/b-fails\.test\.ts > outer > one is two\nat test\/unit\/b-fails\.test\.ts:2\n/,
    /^test\/unit\/c-late\.test\.ts > late > too late\n/,
    /^test\/unit\/d-broken\.test\.ts > Cannot find module/,
    /torn/,
    /^test\/unit\/f-ends-the-process\.test\.ts: the process ended with 0 before the file did/,
    /^$/,
    /^$/
  ])
})

t.test('rejects a file that leaves the process changed, tests nothing, or bypasses the runner', async (t) => {
  const { results } = await runTogether(t, {
    environment: "process.env['LEFT'] = 'behind'\nt.ok(true)",
    listener: "process.on('unhandledRejection', () => {})\nt.ok(true)",
    nothing: '',
    root: "import tap from 'tap'\ntap.ok(true)",
    fine: 't.ok(true)'
  })
  t.match(toldOf(results), [
    /environment\.test\.ts has changed the process for the files after it: environment$/,
    /listener\.test\.ts has changed .*: listeners of unhandledRejection$/,
    /nothing\.test\.ts has tested nothing$/,
    /root\.test\.ts has tested nothing$/,
    /^$/
  ])
})

t.test('ends a file that keeps its process busy, and runs the files after it', async (t) => {
  process.env['TEST_TIMEOUT'] = '3'
  t.teardown(() => delete process.env['TEST_TIMEOUT'])
  const { results } = await runTogether(t, { busy: 'for (;;);', fine: 't.ok(true)' })
  t.match(toldOf(results), [/busy\.test\.ts: the process ended with SIGKILL before the file did/, /^$/])
})

t.test('always groups the same files of one folder in a process, and runs some files alone', async (t) => {
  const files = allTests(fileURLToPath(new URL('../../', import.meta.url)))
  const processes = processesOf(files)
  t.strictSame(processes, processesOf(files))
  t.strictSame(processes.flat().toSorted(), files, 'each runs once')
  for (const together of processes)
    t.ok(
      together.length <= 80 && new Set(together.map((file) => file.split('/')[1])).size === 1,
      `${together.length} with ${together[0] ?? ''}`
    )
  t.ok(processes.some(([file, ...others]) => file === 'test/http/warnings.test.ts' && others.length === 0))
})
