import type { FastifyRequest } from 'fastify'
import t from '../../support/tap.ts'
import { memoryAudit, type Message } from '../../../lib/index.ts'
import { ADMIN_SCOPES } from '../../../lib/protocol/scope.ts'
import { bearer, signUp } from '../../support/app.ts'
import { oauth } from '../users/support.ts'
import { ALL, claimsIn, impersonation, REASON, routed, ROUTES } from './world.ts'

t.test('issues only an access token that names user and administrator, and begins no session', async (t) => {
  const sent: Message[] = []
  const log = memoryAudit()
  const test = await impersonation(t, {
    audit: log,
    sendMessage: (message) => void sent.push(message),
    claims: (user) => ({ roles: [`role of ${user.username}`], act: { sub: 'forged' } }),
    admin: {
      allow: ({ user, scopes }) => (user?.username === 'root' ? scopes : []),
      impersonation: { expiresIn: 600, notify: true }
    }
  })
  const { app, ask, root, bob, own, introspected, events } = test
  const reply = await ask()
  t.equal(reply.statusCode, 200, reply.body)
  const answer = reply.json()
  t.same(Object.keys(answer).toSorted(), ['access_token', 'act', 'expires_in', 'scope', 'token_type'])
  t.match(answer, { token_type: 'Bearer', expires_in: 600, scope: 'openid profile', act: { sub: root.sub } })
  const claims = claimsIn(answer.access_token)
  const admin = claimsIn((own.authorization ?? '').slice(7))
  t.match(claims, { sub: bob.sub, act: { sub: root.sub }, sid: admin.sid, scope: 'openid profile' })
  t.same(claims.roles, ['role of bob@example.com'], 'the claims of the user')
  t.equal(Number(claims.exp) - Number(claims.iat), 600)
  for (const name of ['auth_time', 'acr', 'amr']) t.notOk(name in claims, `${name}: the user has not signed in`)
  t.match(await introspected(answer.access_token), { active: true, sub: bob.sub, act: { sub: root.sub } })
  t.match(
    events.filter(({ name }) => name === 'impersonated'),
    [{ payload: { userId: bob.sub, actor: { type: 'user', id: root.sub }, reason: REASON, scope: 'openid profile' } }]
  )
  t.match(
    sent.filter(({ kind }) => kind === 'impersonated'),
    [{ user: { id: bob.sub }, ip: null, userAgent: null }]
  )
  const { entries } = await log.list({ limit: 100, action: 'impersonated' })
  t.same(
    entries.map(({ outcome, actor, target, details }) => [outcome, actor.id, target?.id, details['reason']]),
    [
      ['done', root.sub, bob.sub, undefined],
      ['attempted', root.sub, bob.sub, REASON]
    ]
  )
  t.same((await app.authority.sessions(bob.sub)).length, 0, 'no session')
})

t.test('drops scopes that an impersonation may not have, and rejects a request for those alone', async (t) => {
  const { ask, messages } = await impersonation(t)
  const scopeOf = async (scope?: string) => {
    const reply = await ask({ reason: REASON, ...(scope === undefined ? {} : { scope }) })
    return reply.statusCode === 200 ? reply.json().scope : reply.json().error
  }
  t.equal(await scopeOf(), 'openid profile')
  t.equal(await scopeOf('profile'), 'profile')
  t.equal(await scopeOf('profile offline_access authority:users:read unknown'), 'profile')
  for (const none of ['offline_access', ALL, 'unknown', 'orders:read']) t.equal(await scopeOf(none), 'invalid_scope')
  t.equal(await scopeOf('a  b'), 'invalid_scope')
  t.notOk(
    messages.messages.some(({ kind }) => kind === 'impersonated'),
    'without notify nothing is sent'
  )
})

// covers ADV-BA-6448
t.test('refuses to impersonate with an invalid body, for an invalid user, and by an unsuitable token', async (t) => {
  const { ask, root, bob, ann, app, own, tokenOf, send } = await impersonation(t)
  for (const payload of [
    {},
    { reason: '' },
    { reason: 'too short' },
    { reason: ' '.repeat(20) },
    { reason: '\u200b'.repeat(20) },
    { reason: `${REASON}\0` },
    { reason: `${REASON}\ud800` },
    { reason: 'x'.repeat(501) },
    { reason: null },
    { reason: [REASON] },
    { reason: REASON, scope: 7 },
    { reason: REASON, scope: '' },
    { reason: REASON, sub: ann.sub },
    { reason: REASON, by: { type: 'user', id: ann.sub } },
    { reason: REASON, signIn: { sid: 'x' } }
  ])
    t.equal((await ask(payload)).statusCode, 400, JSON.stringify(payload))
  t.equal((await ask(undefined, root.sub)).statusCode, 409, 'oneself')
  t.equal((await ask(undefined, 'nobody')).statusCode, 404)
  const { access_token: acting } = (await ask()).json()
  const chained = await send('POST', `/users/${ann.sub}/impersonate`, bearer(acting), { reason: REASON })
  t.equal(chained.statusCode, 403, 'no chain')
  const weak = bearer(await tokenOf('root', ADMIN_SCOPES.filter((one) => one !== 'authority:impersonate').join(' ')))
  t.equal((await ask(undefined, bob.sub, weak)).statusCode, 403)
  await app.authority.users.disable(bob.sub)
  t.equal((await ask()).statusCode, 409, 'a disabled user')
  t.equal((await ask(undefined, ann.sub, own)).statusCode, 200)
})

t.test('has no impersonation route with impersonation: false, and rejects invalid values of the option', async (t) => {
  const { ask, app, bob } = await impersonation(t, {
    admin: { allow: ({ scopes }) => scopes, impersonation: false }
  })
  t.equal((await ask()).statusCode, 404)
  await t.rejects(app.authority.users.impersonate(bob.sub, { reason: REASON }), oauth('invalid_request', 400))
  for (const impersonation of [{ expiresIn: 901 }, { expiresIn: 59 }, { notify: 1 as never }, true as never])
    await t.rejects(routed(t, { admin: { allow: () => [], impersonation } }), { message: /admin\.impersonation/ })
})

t.test('refuses an impersonation token at account and admin routes, and accepts it at a host route', async (t) => {
  const { ask, app, bob, send } = await impersonation(t, {}, (app) => {
    void app.register(async (routes) => {
      routes.addHook('onRequest', async (request) => await app.authenticate(request))
      routes.get('/orders', async ({ auth }) => auth)
      routes.get('/close', { onRequest: async (request) => await app.requireNoActor(request) }, async () => 'closed')
      const fresh = async (request: FastifyRequest) => await app.requireAuth({ maxAge: 3600 })(request)
      routes.get('/fresh', { onRequest: fresh }, async () => 'fresh')
    })
  })
  const { access_token: token } = (await ask()).json()
  const mine = bearer(token)
  const seen = await app.inject({ url: '/orders', headers: mine })
  t.equal(seen.json().sub, bob.sub)
  t.ok(seen.json().act.sub)
  t.equal((await app.inject({ url: '/close', headers: mine })).statusCode, 403)
  t.equal((await app.inject({ url: '/fresh', headers: mine })).statusCode, 401, 'the user has not signed in')
  t.match((await app.inject({ url: '/auth/userinfo', headers: mine })).json(), { sub: bob.sub })
  for (const [method, path, , , payload] of ROUTES)
    t.equal((await send(method, path.replace(':id', bob.sub), mine, payload)).statusCode, 403, `${method} ${path}`)
  // test/security/callers tries such a token at each route of accounts.
  t.equal((await app.inject({ url: '/auth/account/export', headers: mine })).statusCode, 403)
  const grants = [
    { grant_type: 'refresh_token', refresh_token: token },
    { grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange', subject_token: token }
  ]
  for (const payload of grants)
    t.equal((await app.inject({ method: 'POST', url: '/auth/token', payload })).statusCode, 400)
  const revoked = await app.inject({ method: 'POST', url: '/auth/revoke', payload: { token } })
  t.equal(revoked.statusCode, 400, 'it must not end the sign-in of the administrator')
  t.equal((await app.inject({ url: '/orders', headers: mine })).statusCode, 200)
})

t.test('issues no impersonation token while the audit log cannot be written', async (t) => {
  const log = memoryAudit()
  let isDown = false
  const { ask, app, events } = await impersonation(t, {
    audit: {
      ...log,
      async append(entry) {
        if (isDown) throw new Error('The log is down.')
        await log.append(entry)
      }
    }
  })
  t.equal((await ask()).statusCode, 200)
  isDown = true
  const reply = await ask()
  t.equal(reply.statusCode, 503, reply.body)
  t.notMatch(reply.body, /access_token/)
  t.equal(events.filter(({ name }) => name === 'impersonated').length, 1)
  await signUp(app, 'late')
})
