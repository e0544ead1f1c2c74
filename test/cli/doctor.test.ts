/** `npx fastify-authority doctor` and `migrate`, each fault planted in a configuration. */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import Database from 'libsql'
import { run } from '../../lib/cli/run.ts'
import { rehearse } from '../../lib/cli/rehearsal.ts'
import {
  type AuthorityOptions,
  memoryApiKeyStore,
  memoryAudit,
  memoryFactorStore,
  memoryUserStore,
  sqliteUserStore
} from '../../lib/index.ts'
import { startRedis } from '../support/redis-server.ts'
import { sharedPostgres } from '../support/shared-postgres.ts'
import t from '../support/tap.ts'
import { cli, directory, file, head, ISSUER, SECRET } from './support/command-line.ts'
import { FIREBASE } from './support/sources.ts'

interface Report {
  faults: Array<{ check: string; problem: string }>
  clockOffsetMs: number | null
  keys: Array<{ kid: string; state: string }>
  hashes: Record<string, number>
  callbacks: Array<{ connection: string; url: string }>
  notes: Array<{ check: string; problem: string }>
}

const [PG, IOREDIS] = [import.meta.resolve('pg'), import.meta.resolve('ioredis')]
const ALL = 'factors: lib.sqliteFactorStore(db), audit: lib.sqliteAudit(db)'
let number = 0
/** A configuration without a fault, with other options and other parts. */
const configWith = (
  options: string,
  parts = "fastify: { trustProxy: '127.0.0.1' }",
  database = 'doctor',
  close = ''
): string => {
  number++
  return file(
    `doctor-${number}.mjs`,
    `${head.replace(/db\.sqlite/, `${database}.sqlite`)} users: lib.sqliteUserStore(db), state: lib.sqliteState(db), ` +
      `sendMessage: async () => {}, ${options} }\n` +
      `export default { options, ${parts}, close: () => { db.close(); ${close} } }`
  )
}
const fileOf = (database: string): string => join(directory, `${database}.sqlite`)

async function doctor(config: string, ...flags: string[]): Promise<{ code: number; report: Report; text: string }> {
  const { code, text, problem } = await run(['doctor', '--json', '--config', config, ...flags])
  return { code, report: JSON.parse(text === '' ? 'null' : text) as Report, text: text + problem }
}

t.before(async () => {
  for (const database of ['doctor', 'sealed']) {
    // A start makes the first signing key. Each command closes the database of its file.
    for (const words of [['migrate'], ['keys', 'list']]) {
      const config = configWith(ALL, undefined, database)
      t.match(await run([...words, '--config', config]), { code: 0, problem: '' })
    }
  }
})

t.test('examines stores whose class has private fields', async (t) => {
  const own = (store: string, methods: readonly string[]): string =>
    `new (class { #store = ${store}; get durable() { return true } ${methods
      .map((name) => `${name}(...given) { return this.#store.${name}(...given) }`)
      .join(' ')} })()`
  const users = own('lib.sqliteUserStore(db)', ['findById', 'findByUsername', 'create', 'setPasswordHash', 'list'])
  const audit = own('lib.sqliteAudit(db)', ['append', 'list', 'head', 'prune'])
  const config = configWith(`users: ${users}, audit: ${audit}`)
  const { code, report, text } = await doctor(config)
  t.strictSame([code, report.faults], [0, []], text)
  t.strictSame(report.hashes, {})
  const tail = await run(['audit', 'tail', '--json', '--config', config])
  t.equal(tail.code, 0)
  t.strictSame(
    (JSON.parse(tail.text) as Array<{ action: string }>).map(({ action }) => action),
    ['started', 'key_created'],
    'the entries of keys list, which made the first key'
  )
})

t.test('reports no fault of a sound configuration, counts the hashes, and names callback URLs', async (t) => {
  const db = new Database(fileOf('doctor'))
  const users = sqliteUserStore(db)
  await users.create({ username: 'a@example.com', passwordHash: null })
  await users.create({ username: 'b@example.com', passwordHash: `$2b$10$${'a'.repeat(53)}` })
  await users.create({ username: 'c@example.com', passwordHash: 'the-password-in-clear$text' })
  db.close()
  const connections = file(
    'connections.mjs',
    `export { oidc } from '${new URL('../../lib/connections/index.ts', import.meta.url).href}'`
  )
  const config = configWith(
    'users: Object.freeze(lib.sqliteUserStore(db)), ' +
      `connections: [(await import('${connections}')).oidc({ id: 'company', name: 'Company', ` +
      `issuer: 'https://127.0.0.1:1', clientId: 'a', clientSecret: '${'b'.repeat(32)}' })]`
  )
  const { code, report, text } = await doctor(config)
  t.strictSame([code, report.faults], [0, []], text)
  t.strictSame(report.hashes, { unusable: 1, bcrypt: 1, none: 1 })
  t.strictSame(report.callbacks, [{ connection: 'company', url: `${ISSUER}/auth/connect/company/callback` }])
  t.match(report.keys, [{ state: 'signs', kid: /^[\w-]{43}$/ }])
  t.strictSame(Object.keys(report), ['faults', 'clockOffsetMs', 'keys', 'hashes', 'callbacks', 'notes'])
  for (const secret of [SECRET, 'in-clear', '$2b$', 'sealed', 'b'.repeat(32)]) t.notOk(text.includes(secret), secret)
  const online = await doctor(config, '--online')
  t.equal(online.code, 1)
  t.match(online.report.faults, [{ check: 'connection', problem: /company/ }])
})

const USERS = 'users: lib.memoryUserStore()'
const STATE = 'state: undefined'

for (const { plants, options = '', parts, database, env = {}, code = 1, finds } of [
  { plants: 'an option of a wrong type', options: "prefix: 'auth'", finds: ['options', /prefix/] },
  { plants: 'an unknown option', options: 'tokens: {}', finds: ['options', /tokens/] },
  { plants: 'a short secret', options: "secret: 'much-too-short'", finds: ['options', /secret/] },
  {
    plants: 'the secret of an example',
    options: "secret: 'change-me-change-me-0123456789-abc'",
    finds: ['settings', /placeholder/]
  },
  { plants: 'an issuer without TLS', options: "issuer: 'http://auth.example.com'", finds: ['options', /issuer/] },
  {
    plants: 'an issuer without TLS that is allowed',
    options: "issuer: 'http://auth.example.com', allowInsecureIssuer: true",
    finds: ['settings', /THE ISSUER IS http:/]
  },
  {
    plants: 'a store out of reach',
    options: `state: lib.postgresState(new (await import('${PG}')).default.Pool({ port: 1, host: '127.0.0.1' }))`,
    code: 3,
    finds: ['store', /option state .*ECONNREFUSED/]
  },
  {
    plants: 'a clock two minutes ahead',
    options: 'state: { ...lib.sqliteState(db), time: async () => Date.now() + 120_000 }',
    finds: ['clock', /clock differs/]
  },
  {
    plants: 'a database file without tables',
    database: 'empty',
    finds: ['migrations', /users:authority_users, version 1.*Run migrate/]
  },
  {
    plants: 'a secret that does not open the signing keys',
    options: `secret: '${'other-secret-of-a-test-'.repeat(2)}'`,
    database: 'sealed',
    finds: ['keys', /does not open the signing key/]
  },
  {
    plants: 'state in memory and WEB_CONCURRENCY',
    options: STATE,
    env: { WEB_CONCURRENCY: '2' },
    finds: ['workers', /state/]
  },
  {
    plants: 'users in memory and NODE_APP_INSTANCE',
    options: USERS,
    env: { NODE_APP_INSTANCE: '0' },
    finds: ['workers', /users/]
  },
  { plants: 'a missing trustProxy', parts: 'fastify: {}', finds: ['proxy', /trustProxy/] },
  {
    plants: 'a trustProxy that trusts all',
    parts: 'fastify: { trustProxy: true }',
    finds: ['settings', /trustProxy is true/]
  },
  {
    plants: 'a missing sendMessage',
    options: 'sendMessage: undefined, registration: {}',
    finds: ['messages', /sendMessage/]
  },
  { plants: 'users in memory', options: USERS, finds: ['memory', /users are in memory/] },
  {
    plants: 'an admin.allow that throws for an unknown user',
    options:
      'audit: lib.sqliteAudit(db), ' +
      'admin: { allow: ({ user }) => (user.team.name === "support" ? ["authority:users:read"] : []) }',
    finds: ['settings', /admin\.allow threw/]
  },
  {
    plants: 'a role among the fields of a registration',
    options: "registration: { fields: { type: 'object', properties: { isAdmin: { type: 'boolean' } } } }",
    finds: ['roles', /has isAdmin,/]
  },
  {
    plants: 'a durable audit log without a secret',
    options: 'audit: lib.sqliteAudit(db), secret: undefined',
    finds: ['settings', /Set the option secret/]
  },
  {
    plants: 'a database file without tables and a faulty option',
    options: 'tokens: {}',
    database: 'empty',
    finds: ['migrations', /Run migrate/]
  },
  {
    plants: 'a missing trustProxy and a faulty option',
    options: 'tokens: {}',
    parts: 'fastify: {}',
    finds: ['proxy', /trustProxy/]
  },
  {
    plants: 'a user store that repeats a page',
    options:
      'users: { ...lib.sqliteUserStore(db), list: async ({ limit }) => ' +
      'Array.from({ length: limit }, (_, id) => ({ id: `u${id}`, username: `u${id}`, passwordHash: null })) }',
    finds: ['store', /users\.list.*after the last page.*Look at its methods/]
  },
  {
    plants: 'listed users without passwordHash',
    options: "users: { ...lib.sqliteUserStore(db), list: async () => [{ id: 'a', username: 'a' }] }",
    finds: ['store', /users\.list.*passwordHash/]
  },
  {
    plants: 'a user store that fails during the listing',
    options:
      'users: { ...lib.sqliteUserStore(db), list: async () => { ' +
      "throw Object.assign(new Error('gone'), { isOutage: true }) } }, rateLimit: false",
    code: 3,
    finds: ['store', /option users .*gone/]
  },
  {
    plants: 'a Redis for the counters out of reach',
    options: `redis: new (await import('${IOREDIS}')).Redis({ port: 1, retryStrategy: null }).on('error', () => {})`,
    code: 3,
    finds: ['store', /option redis /]
  },
  { plants: 'a registration that is null', options: 'registration: null', finds: ['options', /registration/] },
  { plants: 'an invalid user store', options: 'users: 1', finds: ['options', /users/] },
  { plants: 'an invalid audit log', options: "audit: 'a'", finds: ['options', /audit/] },
  {
    plants: 'a missing sendMessage with emailed codes',
    options: 'sendMessage: undefined, emailSignIn: {}',
    finds: ['options', /emailSignIn/]
  }
] as Array<{
  plants: string
  options?: string
  parts?: string
  database?: string
  env?: Record<string, string>
  code?: number
  finds: [string, RegExp]
}>)
  t.test(`reports a fault for ${plants}`, async (t) => {
    Object.assign(process.env, env)
    t.teardown(() => {
      for (const name of Object.keys(env)) delete process.env[name]
    })
    const found = await doctor(configWith(options, parts, database))
    t.equal(found.code, code, found.text)
    const [check, problem] = finds
    t.ok(
      found.report.faults.some((fault) => fault.check === check && problem.test(fault.problem)),
      found.text
    )
    t.notMatch(found.text, /much-too-short|change-me|other-secret/)
  })

t.test('reports a Redis with an eviction policy and without an append-only file', async (t) => {
  const server = await startRedis({ args: ['--maxmemory', '100mb', '--maxmemory-policy', 'allkeys-lru'] })
  t.teardown(async () => {
    await server.stop()
  })
  const { code, report, text } = await doctor(
    configWith(
      `redis: new (await import('${IOREDIS}')).Redis('${server.url}'), state: undefined`,
      undefined,
      'doctor',
      'options.redis.disconnect()'
    )
  )
  t.equal(code, 1, text)
  t.match(
    report.faults.filter(({ check }) => check === 'redis').map(({ problem }) => problem),
    [/maxmemory-policy allkeys-lru/, /append-only/]
  )
  t.type(report.clockOffsetMs, 'number')
  const client = new Redis(server.url)
  t.equal(await client.dbsize(), 0, 'nothing was written')
  client.disconnect()
})

t.test('notes that a Redis could not be checked if its user may not run INFO', async (t) => {
  const server = await startRedis({ args: ['--maxmemory', '100mb', '--maxmemory-policy', 'allkeys-lru'] })
  t.teardown(async () => {
    await server.stop()
  })
  const client = new Redis(server.url)
  await client.acl('SETUSER', 'default', '-info')
  client.disconnect()
  const { report, text } = await doctor(
    configWith(
      `redis: new (await import('${IOREDIS}')).Redis('${server.url}', { enableReadyCheck: false }), state: undefined`,
      undefined,
      'doctor',
      'options.redis.disconnect()'
    )
  )
  t.strictSame(
    report.faults.filter(({ check }) => check === 'redis'),
    [],
    text
  )
  t.match(
    report.notes.filter(({ check }) => check === 'redis').map(({ problem }) => problem),
    [/INFO.*appendonly/]
  )
})

t.test('checks the eviction policy of a Redis that holds only the rate limits', async (t) => {
  const server = await startRedis({ args: ['--maxmemory', '100mb', '--maxmemory-policy', 'allkeys-lru'] })
  t.teardown(async () => {
    await server.stop()
  })
  const redis = `redis: new (await import('${IOREDIS}')).Redis('${server.url}')`
  const { report } = await doctor(configWith(redis, undefined, 'doctor', 'options.redis.disconnect()'))
  t.match(report.faults, [{ check: 'redis', problem: /rate limits has maxmemory-policy allkeys-lru/ }])
  t.equal(report.faults.length, 1)
})

t.test('notes redis: true, whose client only the app has, and reports no fault', async (t) => {
  for (const state of ['', ', state: undefined']) {
    const { code, report, text } = await doctor(configWith(`redis: true${state}`))
    t.strictSame([code, report.faults], [0, []], text)
    t.match(report.notes, [{ check: 'redis', problem: /redis is true/ }])
  }
})

t.test('reports no fault of an API key store, given alone or among options', async (t) => {
  for (const apiKeys of ['lib.sqliteApiKeyStore(db)', '{ store: lib.sqliteApiKeyStore(db), maxPerUser: 3 }']) {
    const parts = [`apiKeys: ${apiKeys}`, undefined, 'keys-of-people'] as const
    t.equal((await run(['migrate', '--config', configWith(...parts)])).code, 0)
    const { code, text } = await doctor(configWith(...parts))
    t.equal(code, 0, text)
  }
})

t.test('counts Firebase hashes as usable only with the option password.firebase', async (t) => {
  const options = { password: { firebase: FIREBASE } }
  const source = readFileSync(new URL('exports/firebase.json', import.meta.url), 'utf8')
  const [user] = (JSON.parse(source) as { users: Array<{ salt: string; passwordHash: string }> }).users
  const hash = `$fbscrypt$v=1,n=14,r=8,p=1$${user?.salt}$${user?.passwordHash}`
  const listed =
    `users: { ...lib.sqliteUserStore(db), list: async ({ after }) => after ? [] : ` +
    `[{ id: 'a', username: 'a', passwordHash: '${hash}' }] }`
  const { report } = await doctor(configWith(`${listed}, ...${JSON.stringify(options)}`))
  t.strictSame(report.hashes, { firebase: 1 })
  t.strictSame((await doctor(configWith(listed))).report.hashes, { unusable: 1 })
})

t.test('does not sweep the stores during a rehearsal of the start', async (t) => {
  const calls: string[] = []
  const noting = (name: string) => async () => {
    calls.push(name)
    return 0
  }
  const options = {
    issuer: ISSUER,
    secret: SECRET,
    clients: [],
    users: memoryUserStore(),
    factors: { ...memoryFactorStore(), sweep: noting('sweep') },
    apiKeys: { ...memoryApiKeyStore(), sweep: noting('keys') },
    audit: { ...memoryAudit(), prune: noting('prune') }
  } as unknown as AuthorityOptions
  const { refusal } = await rehearse({ options }, new Set(), async ({ sweep }) => {
    await sweep()
  })
  t.equal(refusal, null)
  t.strictSame(calls, [])
})

t.test('changes nothing in the databases that doctor and migrate --dry-run examine', async (t) => {
  const digest = (database: string): string =>
    createHash('sha256')
      .update(readFileSync(fileOf(database)))
      .digest('hex')
  const before = digest('doctor')
  await doctor(configWith(ALL))
  t.equal(digest('doctor'), before, 'a file with tables')
  t.equal((await run(['migrate', '--config', configWith(ALL, undefined, 'bare')])).code, 0)
  const bare = digest('bare')
  t.equal((await doctor(configWith(ALL, undefined, 'bare'))).code, 0)
  t.equal(digest('bare'), bare, 'a file without keys')
  await doctor(configWith(ALL, undefined, 'fresh'))
  t.equal((await run(['migrate', '--dry-run', '--config', configWith(ALL, undefined, 'fresh')])).code, 0)
  const db = new Database(fileOf('fresh'))
  t.strictSame(db.prepare('SELECT name FROM sqlite_schema').all(), [], 'an empty file')
  db.close()
})

t.test('lists migrations, runs them, and then lists none, on SQLite and PostgreSQL', async (t) => {
  const { url } = await (await sharedPostgres(t)).database()
  const postgres = file(
    'postgres.mjs',
    `${head.replace('db.sqlite', 'unused.sqlite')} ...(() => {})() }\nimport pg from '${PG}'\n` +
      `const pool = new pg.Pool({ connectionString: '${url}' })\n` +
      'export default { options: { ...options, users: lib.postgresUserStore(pool), state: lib.postgresState(pool), ' +
      "sendMessage: async () => {} }, fastify: { trustProxy: '127.0.0.1' }, close: () => pool.end() }"
  )
  const steps = async (config: string, ...flags: string[]): Promise<string[]> => {
    const { code, stdout, stderr } = await cli(['migrate', '--json', '--config', config, ...flags])
    t.equal(code, 0, stderr)
    return (JSON.parse(stdout) as Array<{ store: string }>).map(({ store }) => store)
  }
  for (const config of [configWith('', undefined, 'steps'), postgres]) {
    const all = await steps(config, '--dry-run')
    t.strictSame([...new Set(all)], ['state', 'users'])
    t.equal((await cli(['doctor', '--config', config])).code, 1)
    t.strictSame(await steps(config), all)
    t.strictSame(await steps(config, '--dry-run'), [])
    t.match(await cli(['migrate', '--config', config]), { code: 0, stdout: 'No migration made.\n' })
    const { code, stdout } = await cli(['doctor', '--config', config])
    t.equal(code, 0, stdout)
  }
  const created = await cli(['user', 'create', 'ann@example.com', '--json', '--config', postgres])
  t.match(created, { code: 0 }, created.stderr)
  t.match(await cli(['user', 'show', 'ann@example.com', '--config', postgres]), { code: 0, stdout: /ann@example\.com/ })
  t.match(await cli(['keys', 'rotate', '--config', postgres]), { code: 0, stdout: /announced/ })
})
