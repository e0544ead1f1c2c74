import t from '../../support/tap.ts'
import { bearer, ISSUER, PASSWORD } from '../../support/app.ts'
import { testBrowser } from '../../support/browser.ts'
import { authorizeAs, authorizePath, CALLBACK, CLIENTS, KEYS, VERIFIER } from '../../support/openid.ts'
import { authJourney, hostApp, hostBehaviour, nestedHostApp, type Order } from './support/host.ts'

const NO_LIMITS = { rateLimit: false } as const

for (const order of ['host first', 'ours first'] satisfies Order[]) {
  t.test(`${order}: keeps the behavior of the routes of the host unchanged`, async (t) => {
    const bare = await hostApp('without us')
    const both = await hostApp(order)
    t.teardown(async () => {
      await bare.app.close()
      await both.app.close()
    })
    const without = await hostBehaviour(bare.app)
    const withUs = await hostBehaviour(both.app)
    for (const [index, expected] of without.entries())
      t.same(withUs[index], expected, JSON.stringify((expected as { request: unknown }).request))
    t.same(both.responded, bare.responded)
  })

  t.test(`${order}: runs the JSON endpoints with the plugins, handlers and compilers of the host`, async (t) => {
    const { app } = await hostApp(order, NO_LIMITS)
    t.teardown(async () => {
      await app.close()
    })
    t.same(await authJourney(app), [])
  })

  for (const nested of [false, true]) {
    t.test(
      `${order}: completes a redirect sign-in with the plugins of the host${nested ? ', in a child with a prefix' : ''}, and keeps the page headers`,
      async (t) => {
        const prefix = nested ? '/api' : ''
        const { app } = await (nested ? nestedHostApp : hostApp)(order, { ...NO_LIMITS, keys: KEYS, clients: CLIENTS })
        t.teardown(async () => {
          await app.close()
        })
        const browser = testBrowser(app)
        await app.inject({
          method: 'POST',
          url: `${prefix}/auth/register`,
          payload: { username: 'ann', password: PASSWORD }
        })
        const { reply: page, url } = await browser.follow(
          await browser.get(`${prefix}${authorizePath({ response_mode: 'form_post' })}`)
        )
        t.match(page.headers, {
          'content-type': 'text/html; charset=utf-8',
          'x-frame-options': 'DENY',
          'referrer-policy': 'same-origin',
          'cache-control': 'no-store',
          'x-host-on-send': 'yes'
        })
        t.match(
          page.headers['content-security-policy'],
          new RegExp(
            `^default-src 'none'; style-src ${ISSUER}${prefix}/auth/pages\\.css; script-src ` +
              `${ISSUER}${prefix}/auth/pages\\.js; .*frame-ancestors 'none'; base-uri 'none'$`
          )
        )
        t.notMatch(page.body, /by the host/)
        const wrong = await browser.submit(url, { username: 'ann', password: 'not the right one' })
        t.equal(wrong.statusCode, 400)
        t.match(wrong.headers['content-type'], /^text\/html/)
        const { reply: form } = await browser.follow(await browser.submit(url, { username: 'ann', password: PASSWORD }))
        t.match(form.body, `action="${CALLBACK}"`, 'the answer goes back by a form')
        const assets = [...page.body.matchAll(/(?:href|src)="([^"]*\/pages\.(?:css|js)[^"]*)"/g)]
        t.equal(assets.length, 2)
        for (const [, address = ''] of assets) {
          const loaded = await browser.get(address)
          t.match(loaded.headers, {
            'content-type': /^text\/(?:css|javascript); charset=utf-8$/,
            'cache-control': /immutable/
          })
          t.notMatch(loaded.body, /by the host/)
        }
        const { code = '' } = await authorizeAs(browser, `${prefix}${authorizePath()}`)
        const grant = new URLSearchParams({
          grant_type: 'authorization_code',
          client_id: 'spa',
          redirect_uri: CALLBACK,
          code_verifier: VERIFIER,
          code
        })
        const tokens = await app.inject({
          method: 'POST',
          url: `${prefix}/auth/token`,
          headers: { 'content-type': 'application/x-www-form-urlencoded' },
          payload: grant.toString()
        })
        t.match(tokens.json(), { token_type: 'Bearer', id_token: String, scope: 'openid' })
        t.same(
          Object.keys(
            (
              await app.inject({
                url: `${prefix}/auth/userinfo`,
                headers: bearer(tokens.json().access_token as string)
              })
            ).json()
          ),
          ['sub']
        )
        t.match(
          (await browser.get(`${prefix}/host/anonymous`)).headers['content-security-policy'],
          /script-src 'self';/,
          "the host's pages keep helmet's"
        )
      }
    )
  }

  t.test(`${order}: runs host hooks and sets request ids on auth routes`, async (t) => {
    const { app, responded } = await hostApp(order, NO_LIMITS)
    t.teardown(async () => {
      await app.close()
    })
    const reply = await app.inject({ method: 'POST', url: '/auth/token', payload: {} })
    t.match(reply.headers, { 'x-host-id': /^host-\d+$/, 'x-host-on-send': 'yes' })
    t.same(responded, ['/auth/token'])
    const crossOrigin = await app.inject({
      method: 'GET',
      url: '/auth/sessions',
      headers: { origin: 'https://spa.example' }
    })
    t.equal(crossOrigin.headers['access-control-allow-origin'], 'https://spa.example', "the host's CORS holds")
  })

  t.test(`${order}: answers an error of a host hook on an auth route in the format of the host`, async (t) => {
    const { app } = await hostApp(order, NO_LIMITS)
    t.teardown(async () => {
      await app.close()
    })
    // In Fastify, a reply serializer that is set later applies only to later routes.
    const wrapped = (body: unknown): unknown =>
      order === 'host first' ? { replied: 'by the host', value: body } : body
    for (const url of ['/auth/token', '/auth/refresh', '/auth/register', '/auth/password-reset']) {
      const error = await app.inject({ method: 'POST', url, headers: { 'x-host-fail': 'error' }, payload: {} })
      t.equal(error.statusCode, 418, url)
      t.match(error.json(), wrapped({ host: 'error', message: 'a hook of the host failed' }))
      const plain = await app.inject({ method: 'POST', url, headers: { 'x-host-fail': 'object' }, payload: {} })
      t.equal(plain.statusCode, 419, url)
      t.match(plain.json(), wrapped({ host: 'error', message: 'a plain object' }))
    }
    t.match(
      (await app.inject({ url: '/.well-known/jwks.json', headers: { 'x-host-fail': 'error' } })).json(),
      wrapped({ host: 'error' })
    )
  })

  t.test(`${order}: answers an unknown path under our prefix with the 404 of the host`, async (t) => {
    const { app } = await hostApp(order, NO_LIMITS)
    t.teardown(async () => {
      await app.close()
    })
    for (const url of ['/auth', '/auth/nothing', '/auth/token/'])
      t.match((await app.inject({ url })).json(), { host: 'not found', url })
  })

  t.test(`${order}: keeps request.user of the host, and each side rejects the tokens of the other`, async (t) => {
    const { app } = await hostApp(order, NO_LIMITS)
    t.teardown(async () => {
      await app.close()
    })
    await app.inject({ method: 'POST', url: '/auth/register', payload: { username: 'ann', password: PASSWORD } })
    const { access_token: ours } = (
      await app.inject({
        method: 'POST',
        url: '/auth/token',
        payload: { grant_type: 'password', username: 'ann', password: PASSWORD }
      })
    ).json()
    const {
      value: { token: theirs }
    } = (await app.inject({ url: '/host/token' })).json()
    t.match((await app.inject({ url: '/host/me', headers: bearer(ours) })).json(), { value: { host: 'error' } })
    t.same((await app.inject({ url: '/host/me', headers: bearer(theirs) })).json().value, {
      user: { name: 'of the host' }
    })
    const refused = await app.inject({ url: '/auth/sessions', headers: bearer(theirs) })
    t.equal(refused.statusCode, 401)
    t.equal(refused.json().error, 'invalid_token')
    t.same((await app.inject({ url: '/host/anonymous', headers: bearer(ours) })).json().value, { user: null })
  })

  t.test(`${order}: counts our rate limit and that of the host separately`, async (t) => {
    const { app } = await hostApp(order, { rateLimit: { login: { max: 2, windowMs: 60_000 } } })
    t.teardown(async () => {
      await app.close()
    })
    const login = async (): Promise<number> =>
      (
        await app.inject({
          method: 'POST',
          url: '/auth/token',
          payload: { grant_type: 'password', username: 'ann', password: 'wrong one' }
        })
      ).statusCode
    t.same([await login(), await login(), await login()], [400, 400, 429])
    const own = await app.inject({ url: '/host/anonymous' })
    t.equal(own.statusCode, 200)
    t.equal(own.headers['x-ratelimit-limit'], '50')
  })

  t.test(`${order}: serves the auth routes in a child with a prefix, and decorates nothing outside it`, async (t) => {
    const bare = await nestedHostApp('without us')
    const both = await nestedHostApp(order, NO_LIMITS)
    t.teardown(async () => {
      await bare.app.close()
      await both.app.close()
    })
    t.same(await hostBehaviour(both.app, '/api'), await hostBehaviour(bare.app, '/api'))
    t.same(await authJourney(both.app, '/api/auth', '/api/.well-known/jwks.json'), [])
    t.same((await both.app.inject({ url: '/outside' })).json(), { decorated: false, auth: false })
  })
}

t.test('lets an earlier global rate limit of the host answer on auth routes in its format', async (t) => {
  const { app } = await hostApp('host first', NO_LIMITS)
  t.teardown(async () => {
    await app.close()
  })
  let last = await app.inject({ method: 'POST', url: '/auth/token', payload: {} })
  for (let attempt = 1; attempt <= 50; attempt++)
    last = await app.inject({ method: 'POST', url: '/auth/token', payload: {} })
  t.equal(last.statusCode, 429)
  t.match(last.json(), { value: { host: 'error', message: /Rate limit exceeded/ } })
})

t.test('keeps the default error and not-found handlers of Fastify, and logs each error once', async (t) => {
  const { default: Fastify } = await import('fastify')
  const { default: authPlugin } = await import('../../../lib/index.ts')
  const { ownOptions } = await import('./support/host.ts')
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
  })
  t.teardown(async () => {
    await app.close()
  })
  let onErrors = 0
  await app.register(authPlugin, ownOptions(NO_LIMITS))
  app.addHook('onError', async () => {
    onErrors++
  })
  app.addHook('preHandler', async (request) => {
    if (request.headers['x-fail'] === 'error') throw Object.assign(new Error('of the host'), { statusCode: 418 })
    if (request.headers['x-fail'] === 'object') throw { statusCode: 419, message: 'plain' } as unknown as Error
  })
  app.get('/host', async () => 'host')
  for (const fail of ['error', 'object']) {
    const [own, ours] = await Promise.all(
      ['/host', '/.well-known/jwks.json'].map(async (url) => await app.inject({ url, headers: { 'x-fail': fail } }))
    )
    t.equal(ours?.statusCode, own?.statusCode)
    t.same(ours?.json(), own?.json(), fail)
  }
  const errorLines = lines
    .map((line) => JSON.parse(line) as { err?: { message: string }; level: number })
    .filter(({ err }) => err !== undefined)
  t.equal(errorLines.length, 4, 'one line an error')
  t.equal(onErrors, 4)
  t.same((await app.inject({ url: '/auth/nothing' })).json(), {
    message: 'Route GET:/auth/nothing not found',
    error: 'Not Found',
    statusCode: 404
  })
})
