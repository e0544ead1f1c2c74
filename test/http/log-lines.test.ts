/**
 * The plugin's lines in the host's log: one prefix, a stable code on each line that an operator could act on, and
 * nothing that strangers can fill it with.
 */
import { readdirSync, readFileSync } from 'node:fs'
import t from '../support/tap.ts'
import { LOG_CODES } from '../../lib/ports/log.ts'
import { memoryUserStore } from '../../lib/index.ts'
import { fastHasher } from '../../lib/testing/index.ts'
import { PASSWORD, signUp, testApp } from '../support/app.ts'

const LIB = new URL('../../lib/', import.meta.url)
const sources = readdirSync(LIB, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts') && !/^(client|testing)\//.test(name))
  .map((name) => [name, readFileSync(new URL(name, LIB), 'utf8')] as const)

// covers C14
t.test('writes every line above debug with logLine, and documents every code', async (t) => {
  const used = new Set<string>()
  for (const [name, source] of sources) {
    for (const [call] of source.matchAll(/\blog(?:\.(?:info|warn|error|fatal)|\[[^\]]*\])\(\s*(?:\.\.\.logLine\()?/g))
      t.ok(call.endsWith('...logLine('), `${name}: ${call}`)
    if (name !== 'ports/log.ts') for (const [code] of source.matchAll(/FST_AUTHORITY_[A-Z_]+/g)) used.add(code)
  }
  for (const code of Object.keys(LOG_CODES)) t.ok(used.has(code), code)
  const page = readFileSync(new URL('../../docs/reference/errors.md', import.meta.url), 'utf8')
  for (const [code, meaning] of Object.entries(LOG_CODES))
    t.ok(page.includes(`| \`${code}\` | ${meaning} |`), `the page has ${code}`)
})

interface Line {
  level: number
  msg: string
  code?: string
  error?: string
  detail?: string
}
const DEBUG = 20
const INFO = 30

// covers C14
t.test('logs rejected requests of strangers at debug, and actionable problems with a code', async (t) => {
  const lines: Line[] = []
  let down = false
  let odd = false
  const users = memoryUserStore()
  const { app, close } = await testApp(
    {
      rateLimit: { login: { max: 3 } },
      users: {
        ...users,
        async findByUsername(name) {
          if (down) throw new Error('down')
          return odd ? ('ann' as never) : await users.findByUsername(name)
        }
      }
    },
    {
      logger: {
        level: 'debug',
        stream: {
          write(line: string) {
            lines.push(JSON.parse(line) as Line)
          }
        }
      }
    }
  )
  t.teardown(close)
  await signUp(app)
  const post = async (url: string, payload: object, headers = {}): Promise<number> =>
    (await app.inject({ method: 'POST', url, payload, headers })).statusCode
  const password = { grant_type: 'password', username: 'ann', password: 'wrong wrong' }
  const ours = (from: number): Line[] => lines.slice(from).filter(({ msg }) => msg.startsWith('fastify-authority: '))

  let from = lines.length
  t.equal(await post('/auth/token', password), 400)
  t.equal(await post('/auth/token', {}), 400)
  t.equal(await post('/auth/refresh', {}), 401)
  t.equal(await post('/auth/login', {}), 415)
  t.equal(await post('/auth/revoke', { token: 'x' }, { origin: 'https://evil.example' }), 403)
  t.equal(await post('/auth/register', { username: 'ann', password: PASSWORD }), 409)
  t.match(
    ours(from).map(({ level, error }) => [level, typeof error]),
    Array.from({ length: 6 }, () => [DEBUG, 'string'])
  )

  from = lines.length
  for (let time = 0; time < 5; time++) await post('/auth/token', password)
  t.same(
    ours(from)
      .filter(({ level }) => level > DEBUG)
      .map(({ level, code }) => [level, code]),
    [[INFO, 'FST_AUTHORITY_RATE_LIMITED']],
    'a limit is told of once, not with each refusal'
  )
  t.equal(
    ours(from).filter(
      ({ level, detail }) => level === DEBUG && detail === 'rule login: 3 in 900 s (option rateLimit.login)'
    ).length,
    3,
    'H15 each refusal names rule and option for whoever debugs'
  )

  from = lines.length
  down = true
  t.equal(
    (await app.inject({ method: 'POST', url: '/auth/token', payload: password, remoteAddress: '192.0.2.8' }))
      .statusCode,
    503
  )
  t.same(
    ours(from)
      .filter(({ level }) => level > INFO)
      .map(({ code }) => code),
    ['FST_AUTHORITY_UNAVAILABLE']
  )

  from = lines.length
  down = false
  odd = true
  t.equal(
    (await app.inject({ method: 'POST', url: '/auth/token', payload: password, remoteAddress: '192.0.2.9' }))
      .statusCode,
    500
  )
  t.same(
    ours(from)
      .filter(({ level }) => level > INFO)
      .map(({ code }) => code),
    ['FST_AUTHORITY_STORE_MISFIT']
  )
})

// covers C14
t.test('logs an overload of the hashing queue once', async (t) => {
  const lines: Line[] = []
  const fast = fastHasher()
  let letGo = (): void => {}
  const gate = new Promise<void>((resolve) => {
    letGo = resolve
  })
  const hasher = {
    ...fast,
    async verify(...given: Parameters<typeof fast.verify>) {
      await gate
      return await fast.verify(...given)
    }
  }
  const { app, clock, close } = await testApp(
    { password: { concurrency: 1, maxQueue: 1, hasher } },
    {
      logger: {
        level: 'info',
        stream: {
          write(line: string) {
            lines.push(JSON.parse(line) as Line)
          }
        }
      }
    }
  )
  t.teardown(close)
  lines.length = 0
  const answers = Array.from(
    { length: 20 },
    async (_none, index) =>
      (
        await app.inject({
          method: 'POST',
          url: '/auth/token',
          payload: { grant_type: 'password', username: `user-${index}`, password: PASSWORD }
        })
      ).statusCode
  )
  while (!lines.some(({ level }) => level > INFO))
    await new Promise((resolve) => {
      setImmediate(resolve)
    })
  for (let turn = 0; turn < 100; turn++)
    await new Promise((resolve) => {
      setImmediate(resolve)
    })
  clock.step(10_000)
  letGo()
  t.equal((await Promise.all(answers)).filter((status) => status === 503).length, 18)
  t.same(
    lines.filter(({ level }) => level > INFO).map(({ code }) => code),
    ['FST_AUTHORITY_HASH_QUEUE_FULL']
  )
})

t.test('logs once after the start that the hasher does not work', async (t) => {
  const lines: Line[] = []
  const hasher = { ...fastHasher(), hash: async () => await Promise.reject(new Error('no binary')) }
  const { app, close } = await testApp(
    { password: { hasher } },
    {
      logger: {
        level: 'error',
        stream: {
          write(line: string) {
            lines.push(JSON.parse(line) as Line)
          }
        }
      }
    }
  )
  t.teardown(close)
  await app.inject('/.well-known/jwks.json')
  t.match(lines, [{ code: 'FST_AUTHORITY_HASHER_BROKEN', err: { message: 'no binary' } }])
  t.equal(lines.length, 1)
})
