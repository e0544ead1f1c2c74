import Fastify, { type FastifyInstance } from 'fastify'
import t, { type Test } from '../../support/tap.ts'
import authPlugin, { type AuthorityOptions, memoryUserStore, StartError } from '../../../lib/index.ts'
import type { Hook } from '../../../lib/index.ts'
import { bearer, ISSUER, PASSWORD, signIn, signUp, tellCode } from '../../support/app.ts'
import { testBrowser } from '../../support/browser.ts'
import { ownOptions } from './support/host.ts'

/** Unhandled rejections and exceptions during `work` and for a turn after it. */
async function uncaught(work: () => Promise<void>): Promise<unknown[]> {
  const seen: unknown[] = []
  const note = (error: unknown): void => {
    seen.push(error)
  }
  process.on('uncaughtException', note)
  process.on('unhandledRejection', note)
  try {
    await work()
    await new Promise((resolve) => setImmediate(resolve))
  } finally {
    process.off('uncaughtException', note)
    process.off('unhandledRejection', note)
  }
  return seen
}

function newApp(t: Test): FastifyInstance {
  const app = Fastify() as unknown as FastifyInstance
  t.teardown(async () => {
    await app.close()
  })
  return app
}

const SECOND = { authenticate: 'authenticateB', requireScope: 'requireScopeB', authority: 'authorityB', auth: 'authB' }
const OF_REQUESTS = ['auth', 'authSession']
const OPTIONS: Array<[keyof NonNullable<AuthorityOptions['decorators']>, (app: FastifyInstance) => unknown]> = [
  ['authenticate', (app) => app.decorate('authenticate', (() => {}) as unknown as Hook)],
  ['authenticateOptional', (app) => app.decorate('authenticateOptional', (() => {}) as unknown as Hook)],
  ['requireFirstParty', (app) => app.decorate('requireFirstParty', (() => {}) as unknown as Hook)],
  ['requireUser', (app) => app.decorate('requireUser', (() => {}) as unknown as Hook)],
  ['requireAuth', (app) => app.decorate('requireAuth', () => (() => {}) as unknown as Hook)],
  ['requireRole', (app) => app.decorate('requireRole', () => (() => {}) as unknown as Hook)],
  ['requireNoActor', (app) => app.decorate('requireNoActor', (() => {}) as unknown as Hook)],
  ['requireScope', (app) => app.decorate('requireScope', () => (() => {}) as unknown as Hook)],
  ['authority', (app) => app.decorate('authority', {} as never)],
  ['auth', (app) => app.decorateRequest('auth', null as never)],
  ['authSession', (app) => app.decorateRequest('authSession', null)]
]

for (const [name, decorate] of OPTIONS) {
  t.test(`rejects a taken decorator name "${name}" with an error that names the option`, async (t) => {
    const expected = { code: 'FST_AUTHORITY_NAME_TAKEN', message: new RegExp(`"${name}".*decorators: \\{ ${name}:`) }
    t.same(
      await uncaught(async () => {
        const awaited = newApp(t)
        decorate(awaited)
        await t.rejects(async () => {
          await awaited.register(authPlugin, ownOptions())
        }, expected)
        const readied = newApp(t)
        decorate(readied)
        void readied.register(authPlugin, ownOptions())
        await t.rejects(async () => {
          await readied.ready()
        }, expected)
        const nested = newApp(t)
        decorate(nested)
        void nested.register(
          async (child) => {
            await child.register(authPlugin, ownOptions())
          },
          { prefix: '/api' }
        )
        await t.rejects(
          async () => {
            await nested.ready()
          },
          expected,
          'a name that a child inherits is taken in it'
        )
      }),
      []
    )
    const renamed = newApp(t)
    decorate(renamed)
    await renamed.register(authPlugin, ownOptions({ decorators: { [name]: `my${name}` } }))
    await renamed.ready()
    t.ok(OF_REQUESTS.includes(name) ? renamed.hasRequestDecorator(`my${name}`) : renamed.hasDecorator(`my${name}`))
  })

  t.test(`lets Fastify reject a host decorator "${name}" that is added after ours`, async (t) => {
    t.same(
      await uncaught(async () => {
        const app = newApp(t)
        await app.register(authPlugin, ownOptions())
        t.throws(() => decorate(app), { code: 'FST_ERR_DEC_ALREADY_PRESENT' })
        await app.ready()
        t.equal((await app.inject({ url: '/.well-known/jwks.json' })).statusCode, 200)
      }),
      []
    )
  })
}

// covers H6
t.test('lists all taken decorator names in one error, and suggests names that work', async (t) => {
  const crowded = (): FastifyInstance => {
    const app = newApp(t)
    for (const [, decorate] of OPTIONS) decorate(app)
    app.decorate('authorityAuthority', {} as never)
    return app
  }
  const error = await Promise.resolve(crowded().register(authPlugin, ownOptions())).then(
    () => null,
    (error: unknown) => error as StartError
  )
  t.match(error, { code: 'FST_AUTHORITY_NAME_TAKEN' })
  for (const [name] of OPTIONS) t.match(error?.message, `"${name}"`)
  const [, offered = ''] = /decorators: \{ (.*) \}/.exec(error?.message ?? '') ?? []
  const decorators = Object.fromEntries(
    offered.split(', ').map((part) => part.replaceAll("'", '').split(': '))
  ) as NonNullable<AuthorityOptions['decorators']>
  t.strictSame(Object.keys(decorators).sort(), OPTIONS.map(([name]) => name).sort())
  const app = crowded()
  await app.register(authPlugin, ownOptions({ decorators }))
  await app.ready()
  t.ok(app.hasDecorator(decorators.authority ?? ''))
})

t.test('rejects a second registration without the option decorators, and adds no token route', async (t) => {
  t.same(
    await uncaught(async () => {
      const app = newApp(t)
      await app.register(authPlugin, ownOptions())
      await t.rejects(
        async () => {
          await app.register(authPlugin, ownOptions({ prefix: '/second' }))
        },
        { code: 'FST_AUTHORITY_NAME_TAKEN', message: /decorators/ }
      )
      t.notOk(app.hasRoute({ method: 'POST', url: '/second/token' }))
    }),
    []
  )
})

t.test('throws a StartError for a taken decorator name', async (t) => {
  const app = newApp(t)
  app.decorateRequest('auth', null as never)
  await t.rejects(async () => {
    await app.register(authPlugin, ownOptions())
  }, StartError)
})

t.test('keeps request.user of another plugin', async (t) => {
  const app = newApp(t)
  app.decorateRequest('user', null as never)
  await app.register(authPlugin, ownOptions({ rateLimit: false }))
  app.get('/both', { onRequest: [app.authenticate] }, async (request) => ({
    user: (request as { user?: unknown }).user,
    sub: request.auth?.sub
  }))
  const { sub } = await signUp(app)
  const { access_token: token } = await signIn(app)
  t.same((await app.inject({ url: '/both', headers: bearer(token) })).json(), { user: null, sub })
})

t.test('adds decorators under the names of the option decorators, and not under the default names', async (t) => {
  const app = newApp(t)
  await app.register(
    authPlugin,
    ownOptions({
      rateLimit: false,
      decorators: {
        authenticate: 'signedIn',
        requireScope: 'scoped',
        authority: 'idp',
        auth: 'claims',
        authSession: 'visitor'
      }
    })
  )
  const own = app as unknown as {
    signedIn: Hook
    scoped: (...scopes: string[]) => Hook
    idp: FastifyInstance['authority']
  }
  app.get(
    '/own',
    { onRequest: [own.signedIn] },
    async (request) => (request as unknown as { claims: { sub: string } }).claims
  )
  app.get('/admin', { onRequest: [own.signedIn, own.scoped('admin')], errorHandler: tellCode }, async () => 'admin')
  for (const name of ['authenticate', 'requireScope', 'authority']) t.notOk(app.hasDecorator(name))
  t.notOk(app.hasRequestDecorator('auth') || app.hasRequestDecorator('authSession'))
  app.get('/visitor', { onRequest: [own.idp.readSession] }, async (request) => ({
    visitor: (request as unknown as { visitor: { sub: string } | null }).visitor?.sub ?? null
  }))
  const { sub } = await signUp(app)
  const { access_token: token } = await signIn(app)
  t.equal((await app.inject({ url: '/own', headers: bearer(token) })).json().sub, sub)
  t.equal((await app.inject({ url: '/admin', headers: bearer(token) })).json().error, 'insufficient_scope')
  t.equal(
    (await app.inject({ url: '/auth/sessions', headers: bearer(token) })).statusCode,
    200,
    'our own routes read the renamed claims'
  )
  t.equal((await own.idp.verify(token)).sub, sub)
  const browser = testBrowser(app)
  t.same((await browser.get('/visitor')).json(), { visitor: null })
  t.equal((await browser.submit('/auth/login', { username: 'ann', password: PASSWORD })).statusCode, 303)
  t.same((await browser.get('/visitor')).json(), { visitor: sub })
})

t.test('names the decorators of a second service by decorators.prefix, and separates the tokens of both', async (t) => {
  const app = newApp(t)
  await app.register(authPlugin, ownOptions({ rateLimit: false }))
  await app.register(
    authPlugin,
    ownOptions({ rateLimit: false, prefix: '/staff', decorators: { prefix: 'staff', authority: 'office' } })
  )
  const staff = app as unknown as {
    staffAuthenticate: Hook
    staffRequireUser: Hook
    staffRequireScope: (...scopes: string[]) => Hook
    office: FastifyInstance['authority']
  }
  for (const name of ['Authenticate', 'AuthenticateOptional', 'RequireFirstParty', 'RequireUser', 'RequireAuth'])
    t.ok(app.hasDecorator(`staff${name}`), name)
  t.ok(app.hasRequestDecorator('staffAuth') && app.hasRequestDecorator('staffAuthSession'))
  t.notOk(app.hasDecorator('staffAuthority'), 'a name that is given is taken as it is')
  for (const [url, hooks] of Object.entries({
    '/one': [staff.staffAuthenticate, staff.staffRequireScope('openid')],
    '/two': [staff.staffRequireUser],
    '/three': [app.authenticate]
  }))
    app.get(url, { onRequest: hooks }, async () => 'in')
  await signUp(app)
  const user = { username: 'ann', password: PASSWORD }
  const { sub } = (await app.inject({ method: 'POST', url: '/staff/register', payload: user })).json()
  const { access_token: token } = await staff.office.issueTokens(sub)
  const { access_token: other } = await signIn(app)
  const ask = async (credential: string): Promise<number[]> =>
    await Promise.all(
      ['/one', '/two', '/three'].map(async (url) => (await app.inject({ url, headers: bearer(credential) })).statusCode)
    )
  t.strictSame(await ask(token), [200, 200, 401])
  t.strictSame(await ask(other), [401, 401, 200])
})

// covers ASVS-8.4.1
t.test('sets authSession to the user of the plugin whose hook runs, with two plugins in one app', async (t) => {
  const app = newApp(t)
  await app.register(authPlugin, ownOptions({ rateLimit: false }))
  await app.register(authPlugin, ownOptions({ rateLimit: false, prefix: '/b', decorators: SECOND }))
  const second = (app as unknown as { authorityB: FastifyInstance['authority'] }).authorityB
  app.get('/a/who', { onRequest: [app.authority.readSession] }, async (request) => ({
    sub: request.authSession?.sub ?? null
  }))
  app.get('/b/who', { onRequest: [second.readSession] }, async (request) => ({
    sub: request.authSession?.sub ?? null
  }))
  const { sub } = await signUp(app)
  const other = (
    await app.inject({ method: 'POST', url: '/b/register', payload: { username: 'ann', password: PASSWORD } })
  ).json().sub as string
  const browser = testBrowser(app)
  const who = async (): Promise<unknown[]> =>
    await Promise.all(['/a/who', '/b/who'].map(async (url) => (await browser.get(url)).json().sub))
  await browser.submit('/auth/login', { username: 'ann', password: PASSWORD })
  t.same(await who(), [sub, null])
  await browser.submit('/b/login', { username: 'ann', password: PASSWORD })
  t.same(await who(), [sub, other])
  await browser.submit('/auth/logout', { decision: 'sign_out' })
  t.same(await who(), [null, other])
})

for (const [what, firstIssuer, secondIssuer, host, secondUrl] of [
  ['issuers of two hosts', ISSUER, 'https://b.example', 'b.example', '/.well-known/jwks.json'],
  ['issuers of one host', 'https://a.example/one', 'https://a.example/two', 'a.example', '/b/jwks.json']
] as const) {
  t.test(
    `two plugins in one app, ${what}: serves both key sets, and each rejects the tokens of the other`,
    async (t) => {
      const app = newApp(t)
      await app.register(authPlugin, ownOptions({ issuer: firstIssuer, rateLimit: false }))
      await app.register(
        authPlugin,
        ownOptions({ issuer: secondIssuer, prefix: '/b', decorators: SECOND, rateLimit: false })
      )
      const second = app as unknown as { authenticateB: Hook }
      app.get('/a/me', { onRequest: [app.authenticate] }, async (request) => request.auth)
      app.get(
        '/b/me',
        { onRequest: [second.authenticateB] },
        async (request) => (request as unknown as { authB: object }).authB
      )

      const kid = async (url: string, headers: Record<string, string>): Promise<unknown> =>
        (await app.inject({ url, headers })).json().keys?.[0].kid
      const first = await kid('/.well-known/jwks.json', { host: new URL(firstIssuer).host })
      const other = await kid(secondUrl, { host })
      t.type(first, 'string')
      t.type(other, 'string')
      t.not(first, other)

      await signUp(app)
      const ours = await signIn(app)
      t.equal(
        (
          await app.inject({
            method: 'POST',
            url: '/b/token',
            payload: { grant_type: 'password', username: 'ann', password: PASSWORD }
          })
        ).json().error,
        'invalid_grant',
        'users are apart'
      )
      await app.inject({ method: 'POST', url: '/b/register', payload: { username: 'ann', password: PASSWORD } })
      const theirs = (
        await app.inject({
          method: 'POST',
          url: '/b/token',
          payload: { grant_type: 'password', username: 'ann', password: PASSWORD }
        })
      ).json()
      for (const [url, token, status] of [
        ['/a/me', ours, 200],
        ['/b/me', theirs, 200],
        ['/a/me', theirs, 401],
        ['/b/me', ours, 401],
        ['/auth/sessions', theirs, 401],
        ['/b/sessions', ours, 401]
      ] as const) {
        t.equal((await app.inject({ url, headers: bearer(token.access_token) })).statusCode, status, url)
      }
      t.equal(
        (await app.inject({ method: 'POST', url: '/b/refresh', headers: bearer(ours.refresh_token) })).statusCode,
        401
      )
    }
  )
}

t.test('keeps a key set route of the host, and serves our key set under the prefix', async (t) => {
  const app = newApp(t)
  app.get('/.well-known/jwks.json', async () => 'of the host')
  await app.register(authPlugin, ownOptions())
  for (const host of ['localhost:3000', 'other.example'])
    t.equal((await app.inject({ url: '/.well-known/jwks.json', headers: { host } })).body, 'of the host')
  t.equal((await app.inject({ url: '/auth/jwks.json' })).json().keys.length, 1)
})

// covers ASVS-8.4.1
t.test('gives two plugins in children with prefixes separate keys', async (t) => {
  const app = newApp(t)
  for (const tenant of ['one', 'two']) {
    await app.register(
      async (child) => {
        await child.register(authPlugin, ownOptions({ issuer: `https://a.example/${tenant}` }))
      },
      { prefix: `/${tenant}` }
    )
  }
  await app.ready()
  const kids = await Promise.all(
    ['one', 'two'].map(
      async (tenant) => (await app.inject({ url: `/${tenant}/.well-known/jwks.json` })).json().keys[0].kid as string
    )
  )
  t.equal(new Set(kids).size, 2)
})

t.test('registers the routes at the addresses of the options prefix and paths', async (t) => {
  const app = newApp(t)
  await app.register(authPlugin, ownOptions({ prefix: '', paths: { token: '/oauth/token', jwks: '/keys' } }))
  await app.ready()
  for (const [method, url] of [
    ['POST', '/oauth/token'],
    ['POST', '/register'],
    ['POST', '/password-reset/confirm'],
    ['GET', '/sessions'],
    ['GET', '/login'],
    ['GET', '/pages.css'],
    ['GET', '/keys']
  ] as const) {
    t.ok(app.hasRoute({ method, url }), url)
    t.not((await app.inject({ method, url })).statusCode, 404)
  }
  for (const url of ['/auth/token', '/token', '/.well-known/jwks.json'])
    t.notOk(app.hasRoute({ method: 'POST', url }) || app.hasRoute({ method: 'GET', url }), url)
})

t.test('accepts a trailing slash only if the router of the host ignores it', async (t) => {
  for (const [ignoreTrailingSlash, status] of [
    [false, 404],
    [true, 400]
  ] as const) {
    const app = Fastify({ routerOptions: { ignoreTrailingSlash } }) as unknown as FastifyInstance
    await app.register(authPlugin, ownOptions())
    t.equal((await app.inject({ method: 'POST', url: '/auth/token/', payload: {} })).statusCode, status)
    t.equal((await app.inject({ method: 'POST', url: '/auth/token', payload: {} })).statusCode, 400)
    await app.close()
  }
})

t.test('has no route for features that the user store or the options lack', async (t) => {
  const { findById, findByUsername, create, setPasswordHash, setEmailVerified, update } = memoryUserStore()
  const find = { findById, findByUsername }
  const routes = [
    '/auth/register',
    '/auth/password',
    '/auth/password-reset',
    '/auth/password-reset/confirm',
    '/auth/email/verify',
    '/auth/signup',
    '/auth/forgot-password',
    '/auth/reset-password',
    '/auth/verify-email',
    '/auth/email',
    '/auth/email/resend'
  ]
  const cases: Array<[string, Partial<AuthorityOptions>, number[]]> = [
    ['everything', { users: { ...find, create, setPasswordHash, setEmailVerified, update } }, []],
    ['find only', { users: find }, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]],
    ['no create', { users: { ...find, setPasswordHash, setEmailVerified, update } }, [0, 5]],
    ['no setPasswordHash', { users: { ...find, create, setEmailVerified, update } }, [1, 2, 3, 6, 7]],
    ['no setEmailVerified', { users: { ...find, create, setPasswordHash, update } }, [10]],
    ['no update', { users: { ...find, create, setPasswordHash, setEmailVerified } }, [9]],
    ['neither of both', { users: { ...find, create, setPasswordHash } }, [4, 8, 9, 10]],
    ['registration: false', { registration: false }, [0, 5]],
    ['pages: false', { pages: false }, [5, 6, 7, 8]],
    ["the host's own sign-in page", { pages: { loginUrl: '/sign-in' } }, [5]]
  ]
  for (const [name, options, off] of cases) {
    const app = newApp(t)
    await app.register(authPlugin, ownOptions(options))
    for (const [index, url] of routes.entries()) {
      const { statusCode } = await app.inject({ method: 'POST', url, payload: {} })
      if (off.includes(index)) t.equal(statusCode, 404, `${name}: ${url}`)
      else t.not(statusCode, 404, `${name}: ${url}`)
    }
    t.equal((await app.inject({ method: 'POST', url: '/auth/token', payload: {} })).statusCode, 400)
  }
})

t.test('HS256: answers 404 at the key set address', async (t) => {
  const app = newApp(t)
  await app.register(authPlugin, ownOptions({ keys: { secret: 'a shared secret of 32 bytes or more' } }))
  t.equal((await app.inject({ url: '/.well-known/jwks.json' })).statusCode, 404)
})
