/** `npx fastify-authority keys`, next to two running instances on the same SQLite file. */
import { setImmediate } from 'node:timers/promises'
import fastify, { type FastifyInstance } from 'fastify'
import Database from 'libsql'
import authPlugin, { sqliteAudit, sqliteState, sqliteUserStore } from '../../lib/index.ts'
import { steppedClock, type SteppedClock } from '../../lib/testing/index.ts'
import { settled } from '../support/settled.ts'
import t from '../support/tap.ts'
import { cli, database, file, head, ISSUER, SECRET, sqliteConfig } from './support/command-line.ts'

const MINUTE = 60_000
const DAY = 1440 * MINUTE
const JWKS_MINUTES = 5
const config = sqliteConfig('keys.mjs', 'audit: lib.sqliteAudit(db)')

interface Key {
  kid: string
  alg: string
  state: string
  signsFrom: string
}

async function instance(t: { teardown(work: () => unknown): void }, clock: SteppedClock): Promise<FastifyInstance> {
  const db = new Database(database)
  const app = fastify()
  await app.register(authPlugin, {
    issuer: ISSUER,
    secret: SECRET,
    clients: [{ clientId: 'web', firstParty: true }],
    users: sqliteUserStore(db),
    state: sqliteState(db),
    audit: sqliteAudit(db),
    rateLimit: false,
    clock
  })
  app.get('/', { onRequest: app.authenticate }, async (request) => request.auth.sub)
  await app.ready()
  t.teardown(async () => {
    await app.close()
    db.close()
  })
  return app
}

const listed = async (...words: string[]): Promise<Key[]> => {
  const { code, stdout, stderr } = await cli(['keys', ...words, '--json', '--config', config])
  t.equal(code, 0, stderr)
  return JSON.parse(stdout) as Key[]
}
/** The targets of the entries of an action. */
function entriesOf(action: string): Array<string | undefined> {
  const db = new Database(database)
  try {
    const rows = db.prepare('SELECT entry FROM authority_audit WHERE action = ?').all(action) as Array<{
      entry: string
    }>
    return rows.map(({ entry }) => (JSON.parse(entry) as { target: { id: string } | null }).target?.id)
  } finally {
    db.close()
  }
}
const kidOf = (token: string): string =>
  (JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString()) as { kid: string }).kid
const statusOf = async (app: FastifyInstance, token: string): Promise<number> =>
  (await app.inject({ url: '/', headers: { authorization: `Bearer ${token}` } })).statusCode
const published = async (app: FastifyInstance): Promise<string[]> =>
  (await app.inject('/.well-known/jwks.json')).json<{ keys: Key[] }>().keys.map(({ kid }) => kid)
const issued = async (app: FastifyInstance, userId: string): Promise<string> =>
  (await app.authority.issueTokens(userId)).access_token

t.test('next to two running instances', async (t) => {
  const clock = steppedClock(Date.now())
  const apps = await Promise.all([instance(t, clock), instance(t, clock)])
  const [one, other] = apps
  const { id } = await one.authority.users.create({ username: 'ann@example.com' })
  const step = async (ms: number): Promise<void> => {
    clock.step(ms)
    await settled()
  }

  await t.test('rotates under load without a refused token', async (t) => {
    let refused = 0
    let verified = 0
    /** Tokens that have not expired. */
    let living: Array<{ token: string; until: number }> = []
    /** The key sets of the last minutes, the oldest first: a client may hold that one. */
    let sets: string[][] = [await published(other)]
    async function load(): Promise<void> {
      living = living.filter(({ until }) => until > clock.now())
      for (const app of apps) living.push({ token: await issued(app, id), until: clock.now() + 14 * MINUTE })
      for (const { token } of living) {
        verified++
        const isKnown = sets[0]?.includes(kidOf(token)) ?? false
        if ((await statusOf(one, token)) !== 200 || (await statusOf(other, token)) !== 200 || !isKnown) refused++
      }
      living = living.slice(-40)
    }
    let isRotating = true
    const rotating = listed('rotate').finally(() => {
      isRotating = false
    })
    while (isRotating) {
      await load()
      await setImmediate()
    }
    const [next] = await rotating
    t.match(next, { state: 'announced', alg: 'ES256' })
    t.ok(Math.abs(Date.parse(next?.signsFrom ?? '') - clock.now() - DAY) < MINUTE, 'signs a day later')
    t.same(await listed('rotate'), await rotating, 'a second rotation announces no other')
    t.strictSame(entriesOf('key_created').filter((kid) => kid === next?.kid).length, 1, 'the audit log names it once')
    t.equal(entriesOf('keys_rotated').length, 4, 'two acts with two entries')
    for (let minute = 0; minute < 1460; minute++) {
      await step(MINUTE)
      sets = [...sets, await published(other)].slice(-JWKS_MINUTES)
      if (minute % 30 === 0 || minute > 1420) await load()
    }
    t.equal(refused, 0)
    t.ok(verified > 500, `${verified}`)
    t.equal(kidOf(await issued(one, id)), next?.kid, 'the announced key signs now')
  })

  await t.test('retires a key, whose tokens both instances refuse within a minute', async (t) => {
    const token = await issued(one, id)
    const kid = kidOf(token)
    t.same([await statusOf(one, token), await statusOf(other, token)], [200, 200])
    t.match(await cli(['keys', 'retire', 'none', '--yes', '--config', config]), { code: 1, stderr: /no key none/ })
    t.match(await cli(['keys', 'retire', kid, '--config', config], 'other\n'), { code: 1, stderr: /Nothing was/ })
    t.ok((await listed('list')).some((key) => key.kid === kid))
    const { code, stdout, stderr } = await cli(['keys', 'retire', kid, '--config', config], `${kid}\n`)
    t.equal(code, 0, stderr)
    t.notMatch(stdout + stderr, /"d"|sealed/)
    t.notOk((await listed('list')).some((key) => key.kid === kid))
    await step(MINUTE)
    await settled()
    t.same([await statusOf(one, token), await statusOf(other, token)], [401, 401])
    for (const app of apps) t.notOk((await published(app)).includes(kid))
    const fresh = await issued(other, id)
    t.not(kidOf(fresh), kid)
    t.same([await statusOf(one, fresh), await statusOf(other, fresh)], [200, 200])
    t.ok(entriesOf('key_retired').includes(kid), 'the audit log names the key')
  })
})

t.test('records the key that replaces a retired one in the audit log', async (t) => {
  const signing = (keys: Key[]): string | undefined => keys.find(({ state }) => state === 'signs')?.kid
  const former = signing(await listed('list')) ?? ''
  const next = signing(await listed('retire', former, '--yes'))
  t.not(next, former)
  t.ok(entriesOf('key_created').includes(next))
})

t.test('lists the first key of a service that never ran, although the store is slow', async (t) => {
  const slow = file(
    'slow.mjs',
    `${head.replace('db.sqlite', 'slow.sqlite')} users: lib.sqliteUserStore(db) }\n` +
      'const state = lib.sqliteState(db)\n' +
      'const addIfAbsent = async (key) => {\n  await new Promise((done) => setTimeout(done, 100))\n' +
      '  return await state.keys.addIfAbsent(key)\n}\n' +
      'options.state = { ...state, keys: { ...state.keys, addIfAbsent } }\n' +
      'export default { options, close: () => db.close() }'
  )
  const { code, stdout, stderr } = await cli(['keys', 'list', '--json', '--config', slow])
  t.equal(code, 0, stderr)
  t.match(JSON.parse(stdout), [{ state: 'signs' }])
})

t.test('rejects the keys commands if the service signs with a shared secret', async (t) => {
  const symmetric = file(
    'symmetric.mjs',
    `${head} users: lib.sqliteUserStore(db), state: lib.sqliteState(db), pages: false, ` +
      `keys: { secret: '${SECRET}' } }\nexport default { options, close: () => db.close() }`
  )
  for (const words of [['list'], ['rotate'], ['retire', 'a', '--yes']])
    t.match(await cli(['keys', ...words, '--config', symmetric]), { code: 1, stderr: /no keys of its own/ })
})
