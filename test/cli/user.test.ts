/** `npx fastify-authority`: processes of their own on a SQLite file. */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import Database from 'libsql'
import t from '../support/tap.ts'

const ROOT = new URL('../../', import.meta.url)
const at = (path: string): string => new URL(path, ROOT).href
const ANN = 'ann@example.com'

interface Ended {
  code: number
  stdout: string
  stderr: string
}

const directory = mkdtempSync(join(tmpdir(), 'cli-'))
t.teardown(() => rmSync(directory, { recursive: true }))
const file = (name: string, text: string): string => {
  const path = join(directory, name)
  writeFileSync(path, text)
  return path
}
const head =
  `import * as lib from '${at('lib/index.ts')}'\nimport Database from '${import.meta.resolve('libsql')}'\n` +
  `const db = new Database('${join(directory, 'db.sqlite')}')\n` +
  `const options = { issuer: 'https://auth.example.com', ` +
  `secret: '${'s3cr3t-of-a-test-'.repeat(3)}', clients: [{ clientId: 'web', firstParty: true }], `
const config = file(
  'sqlite.mjs',
  `${head} users: lib.sqliteUserStore(db), state: lib.sqliteState(db) }\n` +
    'export default { options, close: () => db.close() }'
)
const memory = file('memory.mjs', `${head} users: lib.memoryUserStore() }\nexport default () => ({ options })`)
const memoryUsers = file(
  'users.mjs',
  `${head} users: lib.memoryUserStore(), state: lib.sqliteState(db) }\nexport default { options }`
)

const cli = async (words: readonly string[], input = ''): Promise<Ended> =>
  await new Promise((done) => {
    const child = execFile(
      process.execPath,
      ['--import', at('scripts/typescript-loader.mjs'), fileURLToPath(at('lib/cli/index.ts')), ...words],
      { cwd: directory },
      (error, stdout, stderr) => done({ code: error === null ? 0 : Number(error.code), stdout, stderr })
    )
    child.stdin?.end(input)
  })
const users = async (...words: string[]): Promise<unknown> => {
  const { code, stdout, stderr } = await cli(['user', ...words, '--json', '--config', config])
  t.equal(code, 0, stderr)
  return JSON.parse(stdout)
}

t.test('prints another secret of 32 bytes each time', async (t) => {
  const [first, second] = await Promise.all([cli(['secret']), cli(['secret'])])
  t.match(first, { code: 0, stdout: /^[\w-]{43}\n$/ })
  t.not(first.stdout, second.stdout)
})

for (const [words, code, says] of [
  [['--help'], 0, /user create <username>/],
  [[], 2, /user create <username>/],
  [['user'], 2, /user list/],
  [['user', 'show'], 2, /Usage: .*user show <id or username>/],
  [['user', 'list', 'more'], 2, /Usage/],
  [['user', 'show', 'a', '--email', 'b'], 2, /Usage/],
  [['user', 'create', 'a', '--password', 'b'], 2, /--password/],
  [['user', 'list'], 2, /fastify-authority\.config\.js/],
  [['user', 'list', '--config', 'none.js'], 2, /none\.js/],
  [['user', 'list', '--config', memory], 1, /state is in memory/],
  [['user', 'list', '--config', memoryUsers], 1, /users are in memory/],
  [['user', 'show', 'nobody', '--config', config], 1, /no user.*nobody/]
] as Array<[string[], number, RegExp]>)
  t.test(`answers "${words.map((word) => word.replace(directory, '')).join(' ')}" with ${code}`, async (t) => {
    const ended = await cli(words)
    t.equal(ended.code, code)
    t.match(code === 0 ? ended.stdout : ended.stderr, says)
  })

t.test('manages a user by id and by username', async (t) => {
  const created = (await users('create', ANN, '--email', ANN)) as { id: string }
  t.match(created, { username: ANN, email: ANN, hasPassword: false })
  t.equal((await cli(['user', 'create', ANN, '--config', config])).code, 1, 'the name is taken')
  t.match(await users('show', ANN), { id: created.id })
  t.match(await users('show', created.id), { username: ANN })
  t.match(await users('list'), [{ id: created.id }])
  t.same(await users('sessions', ANN), [])
  const wrong = await cli(['user', 'disable', ANN, '--config', config], 'bob\n')
  t.match(wrong, { code: 1, stderr: /Nothing was changed/ })
  t.match(await cli(['user', 'disable', ANN, '--config', config]), { code: 1 }, 'no answer')
  t.match(await users('show', ANN), { disabled: false })
  t.equal((await cli(['user', 'disable', ANN, '--config', config], `${ANN}\n`)).code, 0)
  t.match(await users('show', ANN), { disabled: true })
  t.match(await users('enable', ANN), { disabled: false })
  t.equal(await users('remove', ANN, '--yes'), null)
  t.same(await users('list'), [])
})

t.test('writes characters that move the cursor or turn the text around by their numbers', async (t) => {
  const { code, stderr, stdout } = await cli(['user', 'show', '\u001b[2J\u202eevil', '--config', config])
  t.equal(code, 1)
  t.match(stderr, String.raw`\u{1b}[2J\u{202e}evil`)
  for (const character of ['\u001b', '\u202e']) t.notOk((stderr + stdout).includes(character))
})

t.test('verifies the audit log, and names the place of a change', async (t) => {
  const audit = file(
    'audit.mjs',
    `${head} users: lib.sqliteUserStore(db), state: lib.sqliteState(db), audit: lib.sqliteAudit(db) }\n` +
      'export default { options, close: () => db.close() }'
  )
  t.equal((await cli(['user', 'create', 'eve@example.com', '--config', audit])).code, 0)
  t.match(await cli(['audit', 'verify', '--config', audit]), { code: 0, stdout: /^entries: \d+\n$/ })
  const db = new Database(join(directory, 'db.sqlite'))
  db.exec("DROP TRIGGER authority_audit_stays; UPDATE authority_audit SET at = at - 1 WHERE action = 'user_created'")
  db.close()
  t.match(await cli(['audit', 'verify', '--config', audit]), { code: 1, stdout: '', stderr: /^changed: entry \d+ of / })
  t.match(await cli(['audit', 'verify', '--config', config]), { code: 1, stderr: /without the option audit/ })
})
