import { setImmediate } from 'node:timers/promises'
import t from '../support/tap.ts'
import type { Hook } from '../../lib/index.ts'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { sessionAs } from '../../lib/testing/index.ts'
import { bearer, ISSUER, type LightMyRequestResponse, signUp } from '../support/app.ts'
import { appWith, next } from './support/hooks-app.ts'

t.test('answers 500 and logs an error when a hook has no guard before it', async (t) => {
  const lines: Array<Record<string, unknown>> = []
  const { app } = await appWith(
    t,
    (host) => {
      const hooks: Record<string, Hook[]> = {
        '/scope': [host.requireScope('openid')],
        '/role': [host.requireRole('editor')],
        '/actor': [host.requireNoActor],
        '/first': [host.requireFirstParty],
        '/auth': [host.requireAuth({ maxAge: 60 })],
        '/before': [host.requireScope('openid'), host.authenticate],
        '/optional': [host.authenticateOptional, host.requireScope('openid')]
      }
      for (const [url, of] of Object.entries(hooks)) host.get(url, { onRequest: of }, next)
    },
    { logger: { level: 'error', stream: { write: (line: string) => lines.push(JSON.parse(line)) } } }
  )
  const { sub } = await signUp(app)
  const good = bearer((await app.authority.issueTokens(sub)).access_token)
  for (const url of ['/scope', '/role', '/actor', '/first', '/auth', '/before']) {
    for (const headers of [{}, good]) {
      const reply = await app.inject({ url, headers })
      t.match([reply.statusCode, reply.json()], [500, { code: 'FST_AUTHORITY_NO_GUARD', message: /app\.authenticate/ }])
      t.equal(reply.headers['x-reached'], undefined)
    }
  }
  t.match(lines[0], { err: { code: 'FST_AUTHORITY_NO_GUARD' }, msg: /No guard ran before requireScope/ })
  t.equal(lines.length, 12, 'each is told of once')
  t.equal((await app.inject({ url: '/optional', headers: good })).statusCode, 200)
  t.match(await app.inject('/optional'), { statusCode: 401, headers: { 'www-authenticate': 'Bearer' } })
})

t.test('rejects a hook factory used as a hook, at the start or at the request', async (t) => {
  const makers = ['requireScope', 'requireRole', 'requireAuth', 'authority.requireSession'] as const
  for (const name of makers) {
    const makerOf = (app: FastifyInstance): never =>
      (name === 'authority.requireSession' ? app.authority.requireSession : app[name]) as never
    await t.rejects(
      appWith(t, (app) => {
        app.get('/own', { preHandler: [app.authenticate, makerOf(app)] }, async () => 'in')
      }),
      {
        code: 'FST_AUTHORITY_INVALID_OPTIONS',
        message: `Invalid option "${name}": GET /own has it as a hook, and it only makes hooks: call it there`
      }
    )
    const { app } = await appWith(t, (app) => {
      void app.register(async (child) => {
        child.addHook('onRequest', makerOf(app))
        child.get('/own', async () => 'in')
      })
    })
    const reply = await app.inject('/own')
    t.equal(reply.statusCode, 500, name)
    t.match(reply.json(), {
      code: 'FST_AUTHORITY_INVALID_OPTIONS',
      message: /it makes hooks and is none itself: call it/
    })
  }
})

t.test('requireScope throws for invalid scope names when called, and warns once of an unknown scope', async (t) => {
  const lines: Array<Record<string, unknown>> = []
  const { app } = await appWith(t, () => {}, {
    logger: { level: 'warn', stream: { write: (line: string) => lines.push(JSON.parse(line)) } }
  })
  const unknown = (): Array<Record<string, unknown>> =>
    lines.filter(({ code }) => code === 'FST_AUTHORITY_UNKNOWN_SCOPE')
  const before = unknown().length
  for (const [given, got] of [
    [[['openid']], 'an array of "openid"'],
    [[''], '""'],
    [['openid', undefined], 'nothing'],
    [['openid profile'], '"openid profile"'],
    [[1], '1'],
    [[], 'nothing']
  ] as const)
    t.throws(() => app.requireScope(...(given as unknown as string[])), {
      code: 'FST_AUTHORITY_INVALID_OPTIONS',
      message: `Invalid option "requireScope": got ${got}; it takes names of scopes, one by one`
    } as never)
  t.equal(unknown().length, before)
  app.requireScope('openid', 'profile')
  t.equal(unknown().length, before)
  app.requireScope('orders:read')
  app.requireScope('openid', 'orders:read')
  t.match(unknown().slice(before), [{ level: 40, msg: /requireScope\('orders:read'\).*openid, profile/ }])
  t.equal(unknown().length, before + 1)
})

// covers ASVS-8.3.1 ASVS-3.5.1
t.test('requireUser accepts the browser session, but rejects it on requests from another origin', async (t) => {
  const { app, clock } = await appWith(t, (host) => {
    host.route({
      method: ['GET', 'POST'],
      url: '/user',
      onRequest: [host.requireUser],
      handler: async (request) => request.auth
    })
    host.get('/scoped', { onRequest: [host.requireUser, host.requireScope('openid')] }, next)
    host.get('/recent', { onRequest: [host.requireUser, host.requireAuth({ maxAge: 60 })] }, next)
  })
  const { sub } = await signUp(app)
  const now = Math.floor(clock.now() / 1000)
  const { cookie } = await sessionAs(app, { id: sub }, { acr: 'password' })
  const ask = async (
    headers: Record<string, string>,
    method: 'GET' | 'POST' = 'POST',
    url = '/user'
  ): Promise<LightMyRequestResponse> => await app.inject({ method, url, headers })
  const own = { cookie, 'sec-fetch-site': 'same-origin' }
  for (const method of ['GET', 'POST'] as const) {
    const reply = await ask(own, method)
    t.equal(reply.statusCode, 200, method)
    t.match(reply.json(), { iss: ISSUER, sub, sid: String, auth_time: now, acr: 'password', amr: ['pwd'] }, method)
    t.notOk('scope' in reply.json())
    t.equal((await ask({ cookie, origin: ISSUER }, method)).statusCode, 200, 'a browser without Sec-Fetch-Site')
    t.equal((await ask({ cookie }, method)).statusCode, method === 'GET' ? 200 : 401, `${method}: neither header`)
    for (const headers of [
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site', origin: 'http://app.localhost:3000' },
      { origin: 'https://evil.example' },
      { origin: 'null' }
    ]) {
      const refused = await ask({ cookie, ...headers } as Record<string, string>, method)
      t.strictSame(
        [refused.statusCode, refused.headers['www-authenticate']],
        [401, 'Bearer'],
        `${method} ${JSON.stringify(headers)}`
      )
      const bare = await ask(headers as Record<string, string>, method)
      t.equal(bare.body, refused.body, 'which does not tell whether there was a cookie')
      t.match(refused.body, `A session cookie counts on requests from ${ISSUER} alone.`)
    }
  }
  t.equal((await ask({ ...own, ...bearer('x') })).statusCode, 401, 'a token that is sent decides')
  t.equal((await ask({ 'x-api-key': 'key' })).statusCode, 401)
  t.equal((await ask({ ...own, authorization: 'Basic YTpi' })).statusCode, 200, 'what is no token decides nothing')
  t.equal((await ask(own, 'GET', '/scoped')).statusCode, 403, 'a session has no scope')
  t.equal((await ask(own, 'GET', '/recent')).statusCode, 200)
  clock.step(61_000)
  t.match(await ask(own, 'GET', '/recent'), { statusCode: 401 })
  await app.authority.revokeUser(sub)
  t.equal((await ask(own)).statusCode, 401, 'one that has ended')
})

t.test('requireUser rejects the access token and the session of a disabled user', async (t) => {
  const { app } = await appWith(t, (host) => {
    host.get('/user', { onRequest: [host.requireUser] }, next)
  })
  const { sub } = await signUp(app)
  const token = bearer((await app.authority.issueTokens(sub)).access_token)
  const { cookie } = await sessionAs(app, { id: sub })
  for (const headers of [token, { cookie }]) t.equal((await app.inject({ url: '/user', headers })).statusCode, 200)
  await app.authority.users.disable(sub)
  for (const headers of [token, { cookie }]) {
    const reply = await app.inject({ url: '/user', headers })
    t.equal(reply.statusCode, 401, Object.keys(headers).join())
    t.equal(reply.headers['x-reached'], undefined)
  }
})

t.test('requireSession without arguments accepts an old session, and redirects a request without one', async (t) => {
  const { app, clock } = await appWith(t, (host) => {
    host.get('/page', { onRequest: [host.authority.requireSession()] }, async (request) => request.authSession)
  })
  const { sub } = await signUp(app)
  t.match(await app.inject('/page?a=1'), {
    statusCode: 303,
    headers: { location: '/auth/login?return_to=%2Fpage%3Fa%3D1', 'cache-control': 'no-store' }
  })
  const { cookie } = await sessionAs(app, { id: sub })
  clock.step(3_600_000)
  const reply = await app.inject({ url: '/page', headers: { cookie } })
  t.equal(reply.statusCode, 200)
  t.match(reply.json(), { sub, acr: null })
})

type Given = [FastifyRequest, FastifyReply]

t.test('runs a check of the host after an awaited hook, for five ways to call the hook', async (t) => {
  const ways: Record<string, (hook: Hook) => (...given: Given) => Promise<unknown>> = {
    all:
      (hook) =>
      async (...given) =>
        await hook(...given),
    'two layers':
      (hook) =>
      async (...given) =>
        await (async () => await hook(...given))(),
    'twice at once':
      (hook) =>
      async (...given) =>
        await Promise.all([hook(...given), hook(...given)]),
    'twice in turn':
      (hook) =>
      async (...given) => {
        await hook(...given)
        await hook(...given)
      },
    request: (hook) => async (request) => await hook(request)
  }
  let checked = 0
  let reached = 0
  const rows: string[] = []
  const { app } = await appWith(t, (host) => {
    const { authenticate, authenticateOptional, requireUser, authority } = host
    const hooks: Record<string, Hook> = { authenticate, authenticateOptional, requireUser, read: authority.readSession }
    for (const stage of ['onRequest', 'preValidation', 'preHandler'] as const)
      for (const [name, hook] of Object.entries(hooks))
        for (const [way, called] of Object.entries(ways)) {
          const url = `/${rows.length}`
          rows.push(`${stage} ${name} ${way}`)
          host.get(
            url,
            {
              [stage]: async (...given: Given) => {
                await called(hook)(...given)
                checked += 1
                if (given[0].headers['x-own'] !== 'fine') throw Object.assign(new Error('no'), { statusCode: 403 })
              }
            },
            async () => (reached += 1)
          )
        }
  })
  const { sub } = await signUp(app)
  const good = bearer((await app.authority.issueTokens(sub)).access_token)
  for (const [index, row] of rows.entries())
    for (const [own, status, reaches] of [
      ['bad', 403, 0],
      ['fine', 200, 1]
    ] as const) {
      checked = reached = 0
      const reply = await app.inject({ url: `/${index}`, headers: { ...good, 'x-own': own } })
      await setImmediate()
      t.strictSame([reply.statusCode, checked, reached], [status, 1, reaches], `${row}, ${own}`)
    }
})
