import Fastify, { type FastifyInstance } from 'fastify'
import t, { type Test } from '../../support/tap.ts'
import authPlugin, { type AuthorityOptions, StartError } from '../../../lib/index.ts'
import { ownOptions } from './support/host.ts'

function newApp(t: Test): FastifyInstance {
  const app = Fastify() as unknown as FastifyInstance
  t.teardown(async () => {
    await app.close()
  })
  return app
}

const own = async (): Promise<string> => 'of the host'
const CODES = { clients: [{ clientId: 'spa', redirectUris: ['https://spa.example/cb'] }] }
const TAKEN: Array<[method: 'GET' | 'POST', path: string, mend: RegExp]> = [
  [
    'GET',
    '/auth/login',
    /by its option paths, such as paths: \{ login: '\/authority\/login' \}, or all of its routes by prefix\.$/
  ],
  ['POST', '/auth/token', /paths: \{ token: /],
  ['GET', '/auth/authorize', /paths: \{ authorize: /],
  ['GET', '/auth/pages.css', /by the option prefix\.$/]
]

for (const [method, path, mend] of TAKEN) {
  t.test(`rejects a host route ${method} ${path} with a StartError that names the option to move ours`, async (t) => {
    const expected = {
      code: 'FST_AUTHORITY_ROUTE_TAKEN',
      message: new RegExp(`^Both the app and fastify-authority have a route ${method} ${path.replace('.', '\\.')}\\. `)
    }
    const refused = (error: unknown): void => {
      t.ok(error instanceof StartError)
      t.match(error, expected)
      t.match(error, { message: mend })
    }
    const before = newApp(t)
    before.route({ method, url: path, handler: own })
    await t.rejects(
      async () => {
        await before.register(authPlugin, ownOptions(CODES))
        await before.ready()
      },
      expected,
      'before ours'
    )
    const later = newApp(t)
    void later.register(authPlugin, ownOptions(CODES))
    later.route({ method, url: path, handler: own })
    await later.ready().then(() => {
      t.fail('it started')
    }, refused)
    const after = newApp(t)
    await after.register(authPlugin, ownOptions(CODES))
    t.throws(() => after.route({ method, url: path, handler: own }), expected, 'after ours')
    const inside = newApp(t)
    await inside.register(authPlugin, ownOptions(CODES))
    await inside
      .register(
        async (child) => {
          child.route({ method, url: path.slice('/auth'.length), handler: own })
        },
        { prefix: '/auth' }
      )
      .then(() => {
        t.fail('it started')
      }, refused)
  })
}

t.test('names a taken route with the prefix of the app, and the suggested path without that prefix', async (t) => {
  const app = newApp(t)
  app.get('/api/auth/login', own)
  void app.register(
    async (child) => {
      await child.register(authPlugin, ownOptions())
    },
    { prefix: '/api' }
  )
  await t.rejects(
    async () => {
      await app.ready()
    },
    { code: 'FST_AUTHORITY_ROUTE_TAKEN', message: /GET \/api\/auth\/login.*paths: \{ login: '\/authority\/login' \}/ }
  )
})

t.test('starts with the suggested option, and accepts similar routes of the host', async (t) => {
  const options: Array<Partial<AuthorityOptions>> = [{ paths: { login: '/authority/login' } }, { prefix: '/accounts' }]
  for (const given of options) {
    const app = newApp(t)
    app.get('/auth/login', own)
    await app.register(authPlugin, ownOptions(given))
    app.post('/auth/login', own)
    await app.ready()
    t.equal((await app.inject('/auth/login')).body, 'of the host')
  }
  const app = newApp(t)
  await app.register(authPlugin, ownOptions())
  app.put('/auth/login', own)
  app.get('/auth/login/help', own)
  app.get('/auth/:page', own)
  app.head('/auth/other', own)
  app.get('/auth/other', own)
  app.get('/auth/login', { constraints: { host: 'other.example' } }, own)
  await app.ready()
  t.equal((await app.inject('/auth/help')).body, 'of the host')
  t.equal((await app.inject({ url: '/auth/login', headers: { host: 'other.example' } })).body, 'of the host')
  t.match((await app.inject('/auth/login')).headers['content-type'], 'text/html')
})
