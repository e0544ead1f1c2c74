import Fastify, { type FastifyInstance, type LightMyRequestResponse } from 'fastify'
import t from '../support/tap.ts'
import authPlugin, { type Client } from '../../lib/index.ts'
import { PASSWORD } from '../support/app.ts'
import {
  answerOf,
  authorizePath,
  basic,
  CALLBACK,
  CLIENTS,
  KEYS,
  openidApp,
  redeem,
  SECRET
} from '../support/openid.ts'
import { ownOptions } from './coexistence/support/host.ts'

const NATIVE: Client = { clientId: 'app', applicationType: 'native', redirectUris: ['com.example.app:/cb'] }
const ORIGIN = new URL(CALLBACK).origin

/** An app with a client store. `asked` are the clients requested since the last call. */
async function appWithStore(t: { teardown(task: () => Promise<void>): void }) {
  const calls: string[] = []
  const findById = async (id: string): Promise<Client | null> => {
    calls.push(id)
    return [...CLIENTS, NATIVE].find(({ clientId }) => clientId === id) ?? null
  }
  const subject = await openidApp({ clients: { findById } })
  t.teardown(subject.close)
  calls.length = 0
  return { ...subject, asked: () => calls.splice(0) }
}

t.test('queries the client once per request from the authorization request to the revocation', async (t) => {
  const { app, browser, asked } = await appWithStore(t)
  const toLogin = await browser.get(authorizePath())
  t.same(asked(), ['spa'], 'authorization endpoint')
  const login = String(toLogin.headers.location)
  t.equal((await browser.get(login)).statusCode, 200)
  t.same(asked(), ['spa'], 'sign-in page')
  t.equal((await browser.submit(login, { username: 'ann', password: 'wrong' })).statusCode, 400)
  t.same(asked(), ['spa'], 'sign-in that failed')
  const back = await browser.submit(login, { username: 'ann', password: PASSWORD })
  t.same(asked(), ['spa'], 'sign-in')
  const done = await browser.get(String(back.headers.location))
  t.same(asked(), ['spa'], 'authorization endpoint, with the session')
  const { code = '' } = answerOf(String(done.headers.location))
  const tokens = await redeem(app, code, {}, { origin: ORIGIN, 'sec-fetch-site': 'cross-site' })
  t.equal(tokens.statusCode, 200)
  t.equal(tokens.headers['access-control-allow-origin'], ORIGIN)
  t.same(asked(), ['spa'], 'token endpoint, asked by a page of the client')
  const { access_token: token } = tokens.json<{ access_token: string }>()
  const info = await app.inject({
    url: '/auth/userinfo',
    headers: { authorization: `Bearer ${token}`, origin: ORIGIN, 'sec-fetch-site': 'cross-site' }
  })
  t.equal(info.headers['access-control-allow-origin'], ORIGIN)
  t.same(asked(), ['spa'], 'userinfo, asked by a page of the client')
  const revoked = await app.inject({
    method: 'POST',
    url: '/auth/revoke',
    headers: { origin: ORIGIN, 'sec-fetch-site': 'cross-site' },
    payload: { token, client_id: 'spa' }
  })
  t.equal(revoked.statusCode, 200)
  t.same(asked(), ['spa'], 'revocation, asked by a page of the client')
})

t.test('queries the client once for a rejected redemption, and lets its page read the error', async (t) => {
  const { app, asked } = await appWithStore(t)
  const reply = await redeem(app, 'no code', {}, { origin: ORIGIN, 'sec-fetch-site': 'cross-site' })
  t.equal(reply.statusCode, 400)
  t.equal(reply.headers['access-control-allow-origin'], ORIGIN)
  t.same(asked(), ['spa'])
  const unproven = await redeem(
    app,
    'no code',
    { client_id: 'web', client_secret: 'wrong' },
    { origin: ORIGIN, 'sec-fetch-site': 'cross-site' }
  )
  t.equal(unproven.statusCode, 401)
  t.same(asked(), ['web'])
})

t.test('queries the client once for an introspection from a page of the client', async (t) => {
  const { app, asked } = await appWithStore(t)
  const reply = await app.inject({
    method: 'POST',
    url: '/auth/introspect',
    headers: { ...basic('web', SECRET), origin: ORIGIN, 'sec-fetch-site': 'cross-site' },
    payload: { token: 'none' }
  })
  t.same(reply.json(), { active: false })
  t.same(asked(), ['web'])
})

t.test('issues a native app its code from the sign-in page after one client lookup', async (t) => {
  const { browser, asked } = await appWithStore(t)
  const login = String(
    (await browser.get(authorizePath({ client_id: 'app', redirect_uri: 'com.example.app:/cb' }))).headers.location
  )
  asked()
  const reply = await browser.submit(login, { username: 'ann', password: PASSWORD })
  t.match(reply.headers.location, /^com\.example\.app:\/cb\?code=/)
  t.same(asked(), ['app'])
})

t.test('consent: queries the client once for the page and once for each decision', async (t) => {
  const { browser, asked } = await appWithStore(t)
  const path = authorizePath({ client_id: 'third', redirect_uri: 'https://third.example/cb' })
  await browser.submit(String((await browser.get(path)).headers.location), { username: 'ann', password: PASSWORD })
  for (const [decision, answer] of [
    ['deny', /error=access_denied/],
    ['allow', /code=/]
  ] as const) {
    const consent = String((await browser.get(path)).headers.location)
    asked()
    const page = await browser.get(consent)
    t.same(asked(), ['third'], 'the question')
    const action = /action="([^"]+)"/.exec(page.body)?.[1]?.replaceAll('&amp;', '&') ?? ''
    const reply = await browser.submit(action, { decision })
    t.match(reply.headers.location, answer)
    t.same(asked(), ['third'], decision)
  }
})

t.test('queries the client store of each plugin when two plugins have a client of the same id', async (t) => {
  const app = Fastify() as unknown as FastifyInstance
  t.teardown(async () => {
    await app.close()
  })
  const asked: string[] = []
  const tokenOf = async (prefix: string, secret: string): Promise<LightMyRequestResponse> =>
    await app.inject({
      method: 'POST',
      url: `${prefix}/token`,
      headers: {
        ...basic('svc', secret),
        origin: `https://${prefix.slice(1)}.example`,
        'sec-fetch-site': 'cross-site'
      },
      payload: { grant_type: 'client_credentials' }
    })
  const secretOf = (prefix: string): string => `the client secret of ${prefix}, for tests only`
  const nested: LightMyRequestResponse[] = []
  const client = (prefix: string): Client => ({
    clientId: 'svc',
    clientSecret: secretOf(prefix),
    grantTypes: ['client_credentials'],
    origins: [`https://${prefix.slice(1)}.example`]
  })
  for (const [prefix, decorators] of [
    ['/a', {}],
    ['/b', { authenticate: 'authenticateB', requireScope: 'requireScopeB', authority: 'authorityB', auth: 'authB' }]
  ] as const) {
    await app.register(
      authPlugin,
      ownOptions({
        issuer: `http://localhost:3000${prefix}`,
        keys: KEYS,
        prefix,
        decorators,
        clients: {
          async findById(clientId) {
            asked.push(`${prefix} ${clientId}`)
            // The store of the first plugin calls the second plugin during its own lookup.
            if (prefix === '/a') nested.push(await tokenOf('/b', secretOf('/b')))
            return client(prefix)
          }
        }
      })
    )
  }
  const reply = await tokenOf('/a', secretOf('/a'))
  for (const [answer, prefix] of [
    [reply, '/a'],
    [nested[0], '/b']
  ] as const) {
    t.equal(answer?.statusCode, 200, prefix)
    t.equal(answer?.headers['access-control-allow-origin'], `https://${prefix.slice(1)}.example`)
  }
  t.same(asked, ['/a svc', '/b svc'], 'each once')
  t.equal((await tokenOf('/b', secretOf('/a'))).statusCode, 401, 'the secret of the one is none for the other')
})
