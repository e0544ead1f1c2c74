/** The programs of the guides for NestJS and fastify-cli, compiled and run as they are printed. */
import { rmSync } from 'node:fs'
import Fastify, { type FastifyInstance } from 'fastify'
import t from '../support/tap.ts'
import { compilerMessages } from '../support/compile.ts'
import { bearer, PASSWORD } from '../support/app.ts'
import { openWorkshop, type Project } from './support/guide-files.ts'

const ISSUER = 'http://localhost:3000'

const workshop = openWorkshop()
t.teardown(() => {
  workshop.remove()
})
const nest = workshop.project('docs/guides/nestjs.md')
const cli = workshop.project('docs/guides/fastify-cli.md')

/** Signs a user up, and returns an access token with these scopes. */
async function tokenFor(app: Pick<FastifyInstance, 'inject'>, scope: string): Promise<{ sub: string; token: string }> {
  const user = { username: `${scope.replaceAll(' ', '-')}@example.com`, password: PASSWORD }
  const { sub } = (await app.inject({ method: 'POST', url: '/auth/register', payload: user })).json()
  const payload = { grant_type: 'password', ...user, scope }
  const reply = await app.inject({ method: 'POST', url: '/auth/token', payload })
  return { sub, token: reply.json().access_token }
}

t.test('compiles the programs of the guides for NestJS and fastify-cli', async (t) => {
  const all: Array<[Project, object]> = [
    [nest, { experimentalDecorators: true }],
    [cli, {}]
  ]
  for (const [{ directory, files }, options] of all) {
    const sources = files.map(({ name }) => `${directory}/${name}`)
    for (const [file, messages] of compilerMessages(directory, sources, options)) t.strictSame(messages, [], file)
  }
})

t.test('lets valid requests pass the NestJS guard, and answers others in its filter', async (t) => {
  const { start } = (await import(nest.module('main.ts'))) as {
    start(
      issuer: string,
      port: number
    ): Promise<{ close(): Promise<void>; getHttpAdapter(): { getInstance(): unknown } }>
  }
  const started = await start(ISSUER, 0)
  t.teardown(async () => {
    await started.close()
  })
  const app = started.getHttpAdapter().getInstance() as FastifyInstance
  const { sub, token } = await tokenFor(app, 'openid profile')
  const { token: narrow } = await tokenFor(app, 'openid')
  for (const url of ['/orders', '/profile', '/settings']) {
    const good = await app.inject({ url, headers: bearer(token) })
    t.strictSame([good.statusCode, good.json()], [200, { of: sub }], url)
    for (const headers of [{}, bearer('x'), bearer(`${token}x`)]) {
      const reply = await app.inject({ url, headers })
      t.match([reply.statusCode, reply.json()], [401, { error: 'invalid_token' }], url)
      t.match(reply.headers['www-authenticate'], /^Bearer/, url)
    }
  }
  const refused = await app.inject({ url: '/profile', headers: bearer(narrow) })
  t.match([refused.statusCode, refused.json()], [403, { error: 'insufficient_scope' }])
  const session = await app.inject({
    method: 'POST',
    url: '/auth/login',
    headers: { 'content-type': 'application/x-www-form-urlencoded', 'sec-fetch-site': 'same-origin' },
    payload: new URLSearchParams({ username: 'openid@example.com', password: PASSWORD }).toString()
  })
  const cookie = session.cookies.map(({ name, value }) => `${name}=${value}`).join('; ')
  const own = { cookie, 'sec-fetch-site': 'same-origin' }
  t.equal((await app.inject({ url: '/settings', headers: own })).statusCode, 200)
  t.equal((await app.inject({ url: '/settings', headers: { ...own, 'sec-fetch-site': 'cross-site' } })).statusCode, 401)
  t.equal((await app.inject({ url: '/orders', headers: own })).statusCode, 401)
  const left = await app.inject({ url: '/leave', headers: own })
  t.strictSame(left.json(), { signedIn: false })
  t.equal((await app.inject({ url: '/settings', headers: own })).statusCode, 401)
})

t.test('loads plugin and guarded route with autoload, and fails to start without fastify-plugin', async (t) => {
  const load = async (project: Project): Promise<FastifyInstance> => {
    // Leaves only the files of a build: autoload refuses a folder with sources in TypeScript.
    for (const { name } of project.files) rmSync(`${project.directory}/${name}`)
    const { default: plugin } = (await import(project.module('app.ts'))) as {
      default(app: FastifyInstance): Promise<void>
    }
    const app = Fastify() as unknown as FastifyInstance
    t.teardown(async () => {
      await app.close()
    })
    await app.register(plugin)
    await app.ready()
    return app
  }
  const app = await load(cli)
  const { sub, token } = await tokenFor(app, 'openid')
  t.strictSame((await app.inject({ url: '/orders', headers: bearer(token) })).json(), { of: sub })
  t.equal((await app.inject('/orders')).statusCode, 401)
  const without = workshop.project('docs/guides/fastify-cli.md', {
    change: (text) => text.replace('export default fp(', 'export default ((plugin: unknown, _: object) => plugin)(')
  })
  await t.rejects(load(without), { message: 'onRequest hook should be a function, instead got [object Undefined]' })
})
