import cluster from 'node:cluster'
import Fastify, { type FastifyInstance, type FastifyServerOptions } from 'fastify'
import t from '../support/tap.ts'
import authPlugin, { type AuthorityOptions, memoryFactorStore, memoryState, memoryUserStore } from '../../lib/index.ts'
import { fastHasher, steppedClock } from '../../lib/testing/index.ts'
import { warnOfUnsafeSettings } from '../../lib/settings/warnings.ts'
import { ISSUER } from '../support/app.ts'
import { logLines } from '../support/log-lines.ts'
import { CALLBACK, KEYS as SIGNING_KEYS } from '../support/openid.ts'

const SECRET = 'kJ8v2Qm4Xr7Zt1Wc9Ly6Bn3Hs5Dg0Pf!'
const MEMORY = /several workers.*Set the option redis, or state to a shared one/
const KEYS = /signing keys are kept in memory.*Set the option secret/
const TRUST_ALL = /trustProxy is true.*Set trustProxy to the addresses/
const TRUST_COUNT = /trustProxy is a number.*Set trustProxy to the addresses/
const FORWARDED = /forwarding headers but trustProxy is off.*Set trustProxy/
const INSECURE = /THE ISSUER IS http:\/\/.*clear text.*set an https: issuer/
const FACTORS = /second factors are kept in memory.*Set the option factors to a store/
const ALL = { INSECURE, MEMORY, KEYS, FACTORS, TRUST_ALL, TRUST_COUNT, FORWARDED }

interface Heard {
  app: FastifyInstance
  warnings(): string[]
}

/** A host, and the warnings of the plugin in its log, in order. */
async function host(
  options: Partial<AuthorityOptions>,
  server: FastifyServerOptions = {},
  mount: (app: FastifyInstance, register: (on: FastifyInstance) => Promise<void>) => Promise<void> = async (
    app,
    register
  ) => {
    await register(app)
  }
): Promise<Heard> {
  const lines: string[] = []
  const app = Fastify({
    ...server,
    logger: {
      level: 'warn',
      stream: {
        write: (line: string) => {
          lines.push(line)
        }
      }
    }
  }) as unknown as FastifyInstance
  await mount(app, async (on) => {
    await on.register(authPlugin, {
      issuer: ISSUER,
      users: memoryUserStore(),
      password: { hasher: fastHasher() },
      ...options
    })
  })
  await app.ready()
  const parsed = (): Array<{ level: number; msg: string }> =>
    lines.map((line) => JSON.parse(line) as { level: number; msg: string })
  return {
    app,
    warnings: () =>
      parsed()
        .filter(({ level, msg }) => level === 40 && msg.startsWith('fastify-authority: '))
        .map(({ msg }) => msg)
  }
}

/** The number of occurrences of each warning. */
function counts(warnings: string[]): Record<string, number> {
  return Object.fromEntries(
    Object.entries(ALL)
      .map(([name, text]) => [name, warnings.filter((warning) => text.test(warning)).length])
      .filter(([, count]) => count !== 0)
  )
}

/** Fastify's types no longer have it, but its docs once did. */
const HOPS = { trustProxy: 1 } as unknown as FastifyServerOptions

const shared = (): NonNullable<AuthorityOptions['state']> => ({ ...memoryState(), kind: 'a server', shared: true })
/** Makes this process look like a worker of node:cluster. */
async function asWorker<T>(work: () => Promise<T>): Promise<T> {
  Object.defineProperty(cluster, 'isWorker', { value: true, configurable: true, writable: true })
  try {
    return await work()
  } finally {
    Object.defineProperty(cluster, 'isWorker', { value: false, configurable: true, writable: true })
  }
}

// covers RL-1 RL-2 ADV-CVE-2026-16732
t.test('warns once at start of each unsafe setting, with the fix', async (t) => {
  const rows: Array<[string, Partial<AuthorityOptions>, FastifyServerOptions, Record<string, number>, boolean?]> = [
    ['all is well', { secret: SECRET }, {}, {}],
    ['own keys', { keys: { secret: SECRET } }, {}, {}],
    ['trusted addresses', { secret: SECRET }, { trustProxy: '10.0.0.0/8' }, {}],
    ['a trust function', { secret: SECRET }, { trustProxy: () => false }, {}],
    [
      'second factors that a state outlives',
      { secret: SECRET, state: shared(), factors: memoryFactorStore() },
      {},
      { FACTORS: 1 }
    ],
    ['second factors as lasting as all else', { secret: SECRET, factors: memoryFactorStore() }, {}, {}],
    ['no secret', {}, {}, { KEYS: 1 }],
    [
      'H12 an http issuer',
      { secret: SECRET, issuer: 'http://192.168.1.5:3000', allowInsecureIssuer: true },
      {},
      { INSECURE: 1 }
    ],
    ['H12 a loopback issuer', { secret: SECRET, allowInsecureIssuer: true }, {}, {}],
    ['H12 an https issuer', { secret: SECRET, issuer: 'https://auth.example.com', allowInsecureIssuer: true }, {}, {}],
    ['trustProxy true', { secret: SECRET }, { trustProxy: true }, { TRUST_ALL: 1 }],
    ['trustProxy of hops', { secret: SECRET }, HOPS, { TRUST_COUNT: 1 }],
    ['several workers, memory', { secret: SECRET }, {}, { MEMORY: 1 }, true],
    ['several workers, memory given', { secret: SECRET, state: memoryState() }, {}, { MEMORY: 1 }, true],
    ['several workers, shared', { secret: SECRET, state: shared() }, {}, {}, true],
    ['one process, memory given', { secret: SECRET, state: memoryState() }, {}, {}],
    ['everything at once', {}, { trustProxy: true }, { MEMORY: 1, KEYS: 1, TRUST_ALL: 1 }, true]
  ]
  for (const [what, options, server, expected, worker = false] of rows) {
    const { app, warnings } = worker
      ? await asWorker(async () => await host(options, server))
      : await host(options, server)
    for (let round = 0; round < 3; round++)
      await app.inject({
        method: 'POST',
        url: '/auth/token',
        payload: { grant_type: 'password', username: 'ann', password: 'wrong wrong' }
      })
    t.same(counts(warnings()), expected, what)
    t.equal(warnings().length, Object.keys(expected).length, `${what}: nothing else is said`)
    await app.close()
  }
})

// covers RL-1 RL-2
t.test('reads trustProxy of the root app when it is registered inside another plugin', async (t) => {
  const rows: Array<[string, FastifyServerOptions, Record<string, number>]> = [
    ['trusted addresses', { trustProxy: '10.0.0.0/8' }, {}],
    ['trustProxy true', { trustProxy: true }, { TRUST_ALL: 1 }],
    ['trustProxy of hops', HOPS, { TRUST_COUNT: 1 }],
    ['none', {}, { FORWARDED: 1 }]
  ]
  for (const [what, server, expected] of rows) {
    const { app, warnings } = await host({ secret: SECRET }, server, async (server, register) => {
      await server.register(async (child) => {
        await child.register(async (grandchild) => {
          await register(grandchild)
        })
      })
    })
    await app.inject({ method: 'POST', url: '/auth/token', headers: { 'x-forwarded-for': '192.0.2.1' }, payload: {} })
    t.same(counts(warnings()), expected, what)
    await app.close()
  }
})

t.test('logs at the start that a state or counters in memory serve one process only', async (t) => {
  const onServer = (): NonNullable<AuthorityOptions['state']> => ({ ...shared(), time: async () => Date.now() })
  const rows: Array<[string, Partial<AuthorityOptions>, RegExp | null]> = [
    ['memory', {}, /the state is in memory.*no second process would know them/],
    [
      'a state on a server, counters here',
      { state: onServer() },
      /attempts are counted by this process alone.*Set the option redis/
    ],
    ['the same without limits', { state: onServer(), rateLimit: false }, null],
    ['a file', { state: shared() }, null]
  ]
  for (const [what, options, expected] of rows) {
    const lines: string[] = []
    const app = Fastify({
      logger: {
        level: 'info',
        stream: {
          write: (line: string) => {
            lines.push(line)
          }
        }
      }
    }) as unknown as FastifyInstance
    await app.register(authPlugin, {
      issuer: ISSUER,
      users: memoryUserStore(),
      secret: SECRET,
      password: { hasher: fastHasher() },
      ...options
    })
    await app.ready()
    const said = lines
      .map((line) => (JSON.parse(line) as { msg: string }).msg)
      .filter((msg) => msg.startsWith('fastify-authority: '))
    t.equal(said.length, expected === null ? 0 : 1, what)
    if (expected !== null) t.match(said[0], expected, what)
    await app.close()
  }
})

// covers RL-1
t.test('warns once of forwarding headers without trustProxy', async (t) => {
  const ask = async (app: FastifyInstance, headers: Record<string, string>, url = '/auth/token'): Promise<void> => {
    await app.inject({ method: 'POST', url, headers, payload: {} })
  }
  for (const header of ['x-forwarded-for', 'forwarded', 'x-real-ip', 'cf-connecting-ip', 'X-Forwarded-For']) {
    const { app, warnings } = await host({ secret: SECRET })
    await ask(app, {})
    t.same(warnings(), [], 'not at start, and not without the header')
    await ask(app, { [header]: '192.0.2.1' }, '/nowhere')
    t.same(warnings(), [], "a route of the host's is the host's business")
    for (let round = 0; round < 3; round++) await ask(app, { [header]: '192.0.2.1' })
    await ask(app, { [header]: '192.0.2.1' }, '/auth/register')
    t.same(counts(warnings()), { FORWARDED: 1 }, header)
    t.equal(warnings().length, 1)
    t.notMatch(warnings()[0], '192.0.2.1', 'the address is not in it')
    await app.close()
  }
  for (const server of [{ trustProxy: '10.0.0.0/8' }, { trustProxy: ['127.0.0.1'] }, { trustProxy: true }, HOPS]) {
    const { app, warnings } = await host({ secret: SECRET }, server)
    await ask(app, { 'x-forwarded-for': '192.0.2.1' })
    t.notOk(counts(warnings()).FORWARDED, `${JSON.stringify(server)} has its own say`)
    await app.close()
  }
})

t.test('treats a host that hides its options as a host without trustProxy', async (t) => {
  const said: string[] = []
  const bare = {
    addHook() {},
    log: {
      info() {},
      warn: (text: string) => {
        said.push(text)
      }
    }
  } as unknown as FastifyInstance
  const watch = warnOfUnsafeSettings(
    bare,
    { issuer: ISSUER, keys: null, secrets: [SECRET], notices: [], shared: {}, clients: [], scopes: ['openid'] },
    { misplaced: null, memoryState: true, ownCounters: true, severalProcesses: false }
  )
  t.type(watch, 'function')
  t.same(said, [])
})

// covers H5
t.test('warns of a metadata address that clients would not find, with a fix that works', async (t) => {
  const clients = [{ clientId: 'spa', redirectUris: [CALLBACK] }]
  const found = async (
    mountedAt: string,
    options: Partial<AuthorityOptions>
  ): Promise<{ status: number; said: string[] }> => {
    const lines: string[] = []
    const app = Fastify({
      logger: {
        level: 'warn',
        stream: {
          write: (line: string) => {
            lines.push(line)
          }
        }
      }
    }) as unknown as FastifyInstance
    t.teardown(async () => {
      await app.close()
    })
    const issuer = options.issuer ?? ISSUER
    await app.register(
      async (child) => {
        await child.register(authPlugin, {
          issuer,
          users: memoryUserStore(),
          password: { hasher: fastHasher() },
          clients,
          keys: SIGNING_KEYS,
          ...options
        })
      },
      { prefix: mountedAt }
    )
    const said = lines
      .map((line) => (JSON.parse(line) as { msg: string }).msg)
      .filter((text) => text.includes('look for its document'))
    return {
      status: (await app.inject(`${new URL(issuer).pathname.replace(/\/$/, '')}/.well-known/openid-configuration`))
        .statusCode,
      said
    }
  }
  const lost = await found('/api', {})
  t.equal(lost.status, 404)
  t.strictSame(lost.said, [
    `fastify-authority: clients of the issuer ${ISSUER} look for its document at ` +
      '/.well-known/openid-configuration, and it is at /api/.well-known/openid-configuration. ' +
      `The plugin is registered under the prefix /api: set issuer to '${ISSUER}/api', or ` +
      `register the plugin outside of the prefix and set its own option prefix to '/api/auth'.`
  ])
  t.strictSame(await found('/api', { issuer: `${ISSUER}/api` }), { status: 200, said: [] })
  t.strictSame(
    await found('/api', { issuer: `${ISSUER}/api/` }),
    { status: 200, said: [] },
    'C8 with a slash at its end'
  )
  t.strictSame(await found('', { prefix: '/api/auth' }), { status: 200, said: [] })
  t.match(
    (await found('/api', { clients: [] })).said,
    [/look for its document at \/\.well-known\/oauth-authorization-server, and it is at \/api\/\.well-known\//],
    'without redirect sign-in an API looks for the keys'
  )
  t.match(
    (await found('/api', { issuer: `${ISSUER}/api`, clients: [] })).said,
    [/and it is at \/api\/\.well-known\/.* under the prefix \/api: register the plugin outside of the prefix/],
    'an API does not find the keys at the path of the issuer either'
  )
  t.strictSame((await found('', { issuer: `${ISSUER}/api`, prefix: '/api/auth', clients: [] })).said, [])
})

// covers H10
t.test('warns once that other applications must know argon2id before it replaces an imported hash', async (t) => {
  const bcrypt = '$2b$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW'
  const people = ['ann', 'bob'].map((username) => ({ id: username, username, passwordHash: bcrypt }))
  const signIns = async (users: ReturnType<typeof memoryUserStore>): Promise<string[]> => {
    const { app, warnings } = await host({ secret: SECRET, users, password: { hasher: fastHasher() } })
    const signIn = async (username: string, password: string): Promise<number> =>
      (
        await app.inject({
          method: 'POST',
          url: '/auth/token',
          payload: { grant_type: 'password', username, password }
        })
      ).statusCode
    t.strictSame(
      [await signIn('ann', 'wrong'), await signIn('ann', 'U*U'), await signIn('bob', 'U*U')],
      [400, 200, 200]
    )
    const said = warnings().filter((text) => text.includes('imported password hashes'))
    await app.close()
    return said
  }
  t.match(await signIns(memoryUserStore(people)), [
    /^fastify-authority: .*it must know argon2id, or they can't sign in there any more/
  ])
  const { setPasswordHash: _left, ...kept } = memoryUserStore(people)
  t.strictSame(
    await signIns(kept as ReturnType<typeof memoryUserStore>),
    [],
    'nothing is replaced where the store can not'
  )
})

t.test('warns of a placeholder secret, and of clients that get no ID token', async (t) => {
  const clients = [
    { clientId: 'spa', redirectUris: [CALLBACK], scopes: ['profile'] },
    { clientId: 'web', redirectUris: [CALLBACK], scopes: ['openid', 'profile'] },
    { clientId: 'worker', clientSecret: SECRET, grantTypes: ['client_credentials' as const], scopes: ['profile'] }
  ]
  const rows: Array<[Partial<AuthorityOptions>, RegExp[]]> = [
    [{ secret: 'changeme-changeme-changeme-changeme-1' }, [/the option secret reads like a placeholder/]],
    [{ secret: [SECRET, 'your-secret-of-at-least-32-letters!'] }, [/the option secret reads like a placeholder/]],
    [
      { secret: SECRET, clients, keys: SIGNING_KEYS },
      [/the client "spa" has redirectUris and can't be granted "openid"/]
    ],
    [{ secret: SECRET, clients: clients.slice(2), keys: SIGNING_KEYS, scopes: ['profile'] }, []]
  ]
  for (const [options, expected] of rows) {
    const { app, warnings } = await host(options)
    t.match(warnings(), expected)
    t.equal(warnings().length, expected.length)
    for (const text of warnings()) t.notMatch(text, 'changeme', 'the secret is not shown')
    await app.close()
  }
})

t.test('warns on listen that the issuer has another port', async (t) => {
  const { lines, stream } = logLines()
  const said = (): unknown[] => lines.filter(({ msg }) => /the server listens on port/.test(String(msg)))
  for (const [issuer, count] of [
    [ISSUER, 1],
    ['https://auth.example.com', 0]
  ] as const) {
    lines.length = 0
    const app = Fastify({ logger: { level: 'info', stream } }) as unknown as FastifyInstance
    await app.register(authPlugin, { issuer, users: memoryUserStore(), secret: SECRET })
    await app.listen({ port: 0, host: '127.0.0.1' })
    await app.close()
    t.equal(said().length, count, issuer)
  }
  t.match(lines.length > 0, true)
})

t.test('warns once a minute that custom claims use reserved names', async (t) => {
  const clock = steppedClock()
  const { app, warnings } = await host({
    secret: SECRET,
    rateLimit: false,
    clock,
    claims: () => ({ sub: 'me', exp: 1, acr: 'mfa', scope: 'all', role: 'admin' })
  })
  t.teardown(async () => {
    await app.close()
  })
  const payload = { username: 'ann@example.com', password: 'correct horse battery' }
  t.equal((await app.inject({ method: 'POST', url: '/auth/register', payload })).statusCode, 201)
  const signIns = async (): Promise<void> => {
    for (let time = 0; time < 3; time++) {
      const login = { grant_type: 'password', ...payload }
      t.equal((await app.inject({ method: 'POST', url: '/auth/token', payload: login })).statusCode, 200)
    }
  }
  await signIns()
  t.match(warnings(), [
    /the function of the option claims answers sub, exp, acr, scope, which the token has of its own: left out/
  ])
  t.equal(warnings().length, 1)
  clock.step(59_999)
  await signIns()
  t.equal(warnings().length, 1)
  clock.step(1)
  await signIns()
  t.equal(warnings().length, 2)
})
