/** What `npm test` says at its end, which is all that is left of it where a log is cut. */
import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import t from 'tap'

const SCRIPT = fileURLToPath(new URL('../../scripts/run-tests.mjs', import.meta.url))
const FAILING = `import t from 'tap'
t.test('outer', async (t) => {
  t.ok(true)
  await t.test('inner', async (t) => { t.same({ a: 1, b: [1, 2] }, { a: 1, b: [1, 3] }, 'the lists') })
  await t.test('throws', async () => { throw new Error('gone') })
})
`

/** Without what tap's runner tells its children, which the script's own are not. */
const ENV = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/TAP|^NODE_OPTIONS$/.test(name)))

async function run (...args: string[]): Promise<{ code: number, lines: string[], errors: string }> {
  const child = spawn(process.execPath, [SCRIPT, ...args], { stdio: ['ignore', 'pipe', 'pipe'], env: ENV })
  const exited = new Promise<number>((resolve) => { child.once('close', (code) => { resolve(code ?? -1) }) })
  const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr)])
  return { code: await exited, lines: output.trimEnd().split('\n'), errors }
}

t.test('a failure is told at the end: the way to it, its place, the difference, and the numbers', async (t) => {
  const directory = t.testdir({ 'failing.test.ts': FAILING, 'fine.test.ts': "import t from 'tap'\nt.ok(true)\n" })
  const { code, lines } = await run(`${directory}/failing.test.ts`, `${directory}/fine.test.ts`)
  const told = lines.slice(lines.indexOf('what failed:')).join('\n')
  t.equal(code, 1)
  t.equal(lines.at(-1), '2 passed, 2 failed')
  t.match(told, /failing\.test\.ts > outer > inner > the lists\n {4}at .*failing\.test\.ts:4\n/)
  t.match(told, /-    3,\n.*\+    2,/)
  t.match(told, /failing\.test\.ts > outer > throws > gone\n {4}at .*failing\.test\.ts:5\n/)
  t.notMatch(told, /outer\n|fine\.test/, 'and nothing that only failed for their sake')
})

t.test('of many failures a hundred lines, and how many more there are', async (t) => {
  const directory = t.testdir({ 'failing.test.ts': "import t from 'tap'\nfor (let i = 0; i < 40; i++) t.equal(i, -1)\n" })
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

t.test('a word is a file of that name, or all that have it in their path; what no file is called is told', async (t) => {
  const { lines } = await run('protocol/bearer')
  t.match(lines, [/^ok 1 - test\/unit\/protocol\/bearer\.test\.ts /, /^\d+ passed, 0 failed$/])
  t.match(await run('no-file-is-called-so'), { code: 1, errors: 'no test file is called so' })
})
