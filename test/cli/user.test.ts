/** Runs `npx fastify-authority` in processes of its own on a SQLite file. */
import { execFile } from 'node:child_process'
import t from '../support/tap.ts'
import { cli, directory, ENVIRONMENT, file, head, program, sqliteConfig } from './support/command-line.ts'

const ANN = 'ann@example.com'
const config = sqliteConfig('sqlite.mjs')
const memory = file('memory.mjs', `${head} users: lib.memoryUserStore() }\nexport default () => ({ options })`)
const memoryUsers = file(
  'users.mjs',
  `${head} users: lib.memoryUserStore(), state: lib.sqliteState(db) }\nexport default { options }`
)

const memoryParts = (part: string): string => sqliteConfig(`memory-${part.replaceAll(/\W/g, '')}.mjs`, part)
const unreachable = file(
  'unreachable.mjs',
  `import pg from '${import.meta.resolve('pg')}'\n${head} state: lib.sqliteState(db), ` +
    "users: lib.postgresUserStore(new pg.Pool({ port: 1, host: '127.0.0.1' })) }\n" +
    'export default { options, close: () => db.close() }'
)
const users = async (...words: string[]): Promise<unknown> => {
  const { code, stdout, stderr } = await cli(['user', '--json', '--config', config, ...words])
  t.equal(code, 0, stderr)
  return JSON.parse(stdout)
}

t.test('prints a new secret of 32 bytes each time', async (t) => {
  const [first, second] = await Promise.all([cli(['secret']), cli(['secret'])])
  t.match(first, { code: 0, stdout: /^[\w-]{43}\n$/ })
  t.not(first.stdout, second.stdout)
})

for (const [words, code, says] of [
  [['--help'], 0, /user create <username>/],
  [[], 2, /user create <username>/],
  [['user'], 2, /user list/],
  [['user', 'ban', 'a'], 2, /^There is no command user ban a\.\n/],
  [['user', 'show'], 2, /Usage: .*user show <id or username>/],
  [['user', 'list', 'more'], 2, /Usage/],
  [['user', 'show', 'a', '--email', 'b'], 2, /Usage/],
  [['user', 'create', 'a', '--password', 'b'], 2, /--password/],
  [['user', 'list'], 2, /fastify-authority\.config\.js/],
  [['user', 'list', '--config', 'none.js'], 2, /none\.js/],
  [['user', 'list', '--config', memory], 1, /state is in memory/],
  [['user', 'list', '--config', memoryUsers], 1, /users are in memory/],
  [['user', 'list', '--config', memoryParts('factors: lib.memoryFactorStore()')], 1, /second factors are in memory/],
  [['audit', 'tail', '--config', memoryParts('audit: lib.memoryAudit()')], 1, /audit log is in memory/],
  [['user', 'list', '--config', unreachable], 3, /try again|reach/i],
  [['keys', 'retire', '--config', config], 2, /Usage: .*keys retire <kid>/],
  [['doctor', '--invite', '--config', config], 2, /Usage/],
  [['user', 'show', 'nobody', '--config', config], 1, /no user.*nobody/]
] as Array<[string[], number, RegExp]>)
  t.test(`exits with ${code} for "${words.map((word) => word.replace(directory, '')).join(' ')}"`, async (t) => {
    const ended = await cli(words)
    t.equal(ended.code, code)
    t.match(code === 0 ? ended.stdout : ended.stderr, says)
  })

t.test('manages a user by id and by username', async (t) => {
  const created = (await users('create', ANN, '--email', ANN)) as { id: string }
  t.match(created, { username: ANN, email: ANN, hasPassword: false })
  t.equal((await cli(['user', 'create', ANN, '--config', config])).code, 1, 'the name is taken')
  t.match(await users('show', ANN), { id: created.id })
  t.match(await users('show', '--', created.id), { username: ANN })
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
  t.match(await cli(['user', 'list', '--config', config]), { code: 0, stdout: 'Found none.\n' })
})

t.test("writes no line of the host's logger to the output", async (t) => {
  const logger = file(
    'logger.mjs',
    `${head} users: lib.sqliteUserStore(db), state: lib.sqliteState(db) }\n` +
      `import pino from '${import.meta.resolve('pino')}'\n` +
      "export default { options, fastify: { loggerInstance: pino({ level: 'trace' }) }, close: () => db.close() }"
  )
  const { code, stdout, stderr } = await cli(['user', 'list', '--json', '--config', logger])
  t.equal(code, 0, stderr)
  t.type(JSON.parse(stdout), Array)
  t.equal(stderr, '')
})

t.test('exits with 0 when the reader closes the pipe early, and keeps the exit code of a failure', async (t) => {
  const ended = async (words: string[]): Promise<unknown> =>
    await new Promise((done) => {
      const command = [process.execPath, program, ...words].map((word) => `'${word}'`).join(' ')
      const script = `{ sleep 0.1; ${command}; echo $? >&2; } | true`
      execFile(
        'sh',
        ['-c', script],
        { cwd: directory, env: { ...process.env, ...ENVIRONMENT } },
        (_error, _stdout, stderr) => {
          done(Number(stderr.trim().split('\n').at(-1)))
        }
      )
    })
  t.equal(await ended(['user', 'list', '--config', config]), 0)
  const broken = file('broken.ndjson', '{"id":"1"}\n')
  t.equal(await ended(['import', 'ndjson', broken, '--config', config]), 1)
})

t.test('asks for a Redis client in the configuration if redis is true', async (t) => {
  const taken = sqliteConfig('redis-true.mjs', 'redis: true')
  t.match(await cli(['user', 'list', '--config', taken]), { code: 1, stderr: /^redis is true, and only the app has/ })
})

t.test('names the operator by uid if the system does not know their name', async (t) => {
  const nameless = sqliteConfig('nameless.mjs', 'audit: lib.sqliteAudit(db)')
  const preload = file(
    'nameless-preload.cjs',
    "require('node:os').userInfo = () => { throw new Error('ENOENT: uv_os_get_passwd') }\n" +
      "require('node:module').syncBuiltinESMExports()"
  )
  const { code, stderr } = await cli(['user', 'create', 'uid@example.com', '--config', nameless], '', {
    NODE_OPTIONS: `--require ${preload}`
  })
  t.equal(code, 0, stderr)
  const { stdout } = await cli(['audit', 'tail', '--json', '--action', 'user_created', '--config', nameless])
  t.match((JSON.parse(stdout) as unknown[]).at(-1), { actor: { type: 'cli', id: /^uid \d+@/ } })
})

t.test('escapes control and bidi characters in the output', async (t) => {
  const { code, stderr, stdout } = await cli(['user', 'show', '\u001b[2J\u202eevil', '--config', config])
  t.equal(code, 1)
  t.match(stderr, String.raw`\u{1b}[2J\u{202e}evil`)
  for (const character of ['\u001b', '\u202e']) t.notOk((stderr + stdout).includes(character))
})

t.test('escapes control and bidi characters in JSON so that a parser still reads the same text', async (t) => {
  const username = 'evil'
  const id = 'x\u009b31m\u007f\u202e\u2028\u{e0001}'
  const rows = file('evil.ndjson', JSON.stringify({ id, username }))
  t.equal((await cli(['import', 'ndjson', rows, '--config', config])).code, 0)
  const { stdout } = await cli(['user', 'show', username, '--json', '--config', config])
  t.match(stdout, /^[\x20-\x7e]+\n$/)
  t.match(JSON.parse(stdout), { id, username })
})
