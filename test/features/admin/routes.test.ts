import t from '../../support/tap.ts'
import { type AuthorityOptions, memoryAudit } from '../../../lib/index.ts'
import { protectingGreater } from '../../../lib/features/admin/allow.ts'
import { ADMIN_SCOPES } from '../../../lib/protocol/scope.ts'
import { bearer, ISSUER, signUp } from '../../support/app.ts'
import { authorizeAs, authorizePath, basic, redeem, SECRET } from '../../support/openid.ts'
import { ALL, ROBOT, routed, ROUTES, victim } from './world.ts'

t.test('accepts users and machine clients with the scope of the route, but only users at impersonate', async (t) => {
  const test = await routed(t)
  const { send, tokenOf, admins, app } = test
  admins.set(ROBOT, ADMIN_SCOPES)
  for (const [method, path, scope, status, payload] of ROUTES) {
    const own = bearer(await tokenOf('root', scope))
    const reply = await send(method, await victim(test, path), own, payload)
    t.equal(reply.statusCode, status, `${method} ${path}: ${reply.body}`)
    t.equal(reply.headers['cache-control'], 'no-store')
    t.notOk('access-control-allow-origin' in reply.headers)
    const machine = await app.inject({
      method: 'POST',
      url: '/auth/token',
      headers: basic(ROBOT, SECRET),
      payload: { grant_type: 'client_credentials', scope }
    })
    const named = payload !== undefined && 'username' in payload ? { username: 'by-robot' } : payload
    const second = await send(method, await victim(test, path), bearer(machine.json().access_token), named)
    const expected = path.endsWith('/impersonate') ? 403 : status
    t.equal(second.statusCode, expected, `a machine at ${method} ${path}: ${second.body}`)
  }
})

// covers ADV-CVE-2024-3656
t.test('refuses callers without a fresh administrator token at admin routes, and changes no user', async (t) => {
  const test = await routed(t)
  const { app, ann, send, tokenOf, admins, byPassword, browser, clock, root } = test
  const others = (scope: string): string => ADMIN_SCOPES.filter((one) => one !== scope).join(' ')
  const all = await byPassword('root', ALL)
  const { access_token: revoked } = (await byPassword('root', ALL)).json()
  const { sid } = JSON.parse(Buffer.from(revoked.split('.')[1] ?? '', 'base64url').toString()) as { sid: string }
  await app.authority.revokeSession(root.sub, sid)
  const { code = '' } = await authorizeAs(browser, authorizePath({ scope: 'openid' }), { username: 'root' })
  const { id_token: idToken } = (await redeem(app, code)).json()
  const { key } = await app.authority.apiKeys.create({ userId: root.sub, name: 'x' })
  const cookie = [...browser.cookies].map((pair) => pair.join('=')).join('; ')
  const { code: second = '' } = await authorizeAs(
    browser,
    authorizePath({ scope: 'orders:read', resource: `${ISSUER}/orders` })
  )
  const resource = (await redeem(app, second, { resource: `${ISSUER}/orders` })).json().access_token
  const CALLERS: Record<string, (scope: string) => Promise<[Record<string, string>, number]>> = {
    nobody: async () => [{}, 401],
    'a plain user': async () => [bearer(await tokenOf('ann', 'openid')), 403],
    'an admin without the scope': async (scope) => [bearer(await tokenOf('root', others(scope))), 403],
    'a revoked token': async () => [bearer(revoked), 401],
    'a refresh token': async () => [bearer(all.json().refresh_token), 401],
    'an ID token': async () => [bearer(idToken), 401],
    'an API key': async () => [{ 'x-api-key': key }, 401],
    'an API key as token': async () => [bearer(key), 401],
    'a browser session': async () => [{ cookie, origin: ISSUER, 'sec-fetch-site': 'same-origin' }, 401],
    'a token of an API': async () => [bearer(resource), 401],
    'a client by its secret': async () => [basic(ROBOT, SECRET), 401]
  }
  const before = JSON.stringify(await app.authority.users.get(ann.sub))
  for (const [method, path, scope, , payload] of ROUTES)
    for (const [caller, of] of Object.entries(CALLERS)) {
      const [headers, status] = await of(scope)
      const reply = await send(method, path.replace(':id', ann.sub).replace(/:sid|:one/, 'x'), headers, payload)
      t.equal(reply.statusCode, status, `${caller} at ${method} ${path}: ${reply.body}`)
    }
  const mine = bearer(all.json().access_token)
  t.equal((await send('GET', '/users', mine)).statusCode, 200)
  admins.delete('root')
  for (const [method, path, , , payload] of ROUTES)
    t.equal((await send(method, path.replace(':id', ann.sub), mine, payload)).statusCode, 403, 'the host takes it back')
  admins.set('root', ADMIN_SCOPES)
  const kept = (await byPassword('root', `${ALL} offline_access`)).json()
  clock.step(3_600_001)
  const late = (await test.token({ grant_type: 'refresh_token', refresh_token: kept.refresh_token })).json()
  for (const [method, path, , , payload] of ROUTES) {
    const reply = await send(method, path.replace(':id', ann.sub), bearer(late.access_token), payload)
    t.equal(reply.statusCode, 401)
    t.match(reply.json(), { error: 'insufficient_user_authentication' })
    t.match(reply.headers['www-authenticate'], /max_age="?3600/)
  }
  t.equal(JSON.stringify(await app.authority.users.get(ann.sub)), before)
  t.equal((await app.authority.users.list({ prefix: 'new' })).users.length, 0)
})

t.test('protects an administrator from another one who has fewer scopes through the same client', async (t) => {
  const scopes: AuthorityOptions['scopes'] = ['authority:users:write', 'authority:users:delete']
  const isGreater = protectingGreater(({ user, client }) =>
    client?.clientId === 'console' ? scopes.slice(0, user?.id === 'root' ? 2 : 1) : []
  )
  const [root, small] = ['root', 'small'].map((id) => ({ id, username: id, passwordHash: null }))
  if (root === undefined || small === undefined) return
  const client = { clientId: 'console' }
  t.equal(await isGreater(root, { user: small, client }), true)
  t.equal(await isGreater(small, { user: root, client }), false)
  t.equal(await isGreater(root, { user: root, client }), false)
})

t.test('protects an administrator with more scopes from one with fewer if the host sets no isProtected', async (t) => {
  let isDown = false
  const given = new Map<string, readonly string[]>([
    ['root', ADMIN_SCOPES],
    ['bob@example.com', ['authority:users:read', 'authority:users:write']]
  ])
  const admin: AuthorityOptions['admin'] = {
    allow({ user, scopes }) {
      if (isDown && user?.username === 'ann') throw new Error('x')
      return scopes.filter((scope) => given.get(user?.username ?? '')?.includes(scope))
    }
  }
  const { send, tokenOf, root, ann, app } = await routed(t, { admin })
  const limited = bearer(await tokenOf('bob@example.com', ALL))
  // A mailbox of their own and a new password would make them the greater administrator.
  for (const [method, path, payload] of [
    ['PATCH', '', { email: 'evil@example.com' }],
    ['POST', '/reset', undefined],
    ['POST', '/disable', undefined]
  ] as const) {
    const reply = await send(method, `/users/${root.sub}${path}`, limited, payload)
    t.equal(reply.statusCode, 403, `${method} ${path}`)
    t.match(reply.headers['www-authenticate'], /scope="authority:protected"/)
  }
  t.match(await app.authority.users.get(root.sub), { email: null, disabled: false, hasPassword: true })
  t.equal((await send('POST', `/users/${ann.sub}/disable`, limited)).statusCode, 204)
  given.set('ann', ['authority:users:read'])
  t.equal((await send('POST', `/users/${ann.sub}/enable`, limited)).statusCode, 204, 'a smaller administrator')
  isDown = true
  t.equal((await send('POST', `/users/${ann.sub}/enable`, limited)).statusCode, 403, 'a failure protects')
})

// covers ADV-CVE-2026-3121
t.test('refuses and records acts on the own account, and on protected users without the scope', async (t) => {
  const asked: string[] = []
  const log = memoryAudit()
  const test = await routed(t, {
    audit: log,
    admin: {
      allow: ({ user, scopes }) => (user?.username === 'root' ? scopes : []),
      isProtected(user) {
        asked.push(user.id)
        if (user.username === 'broken') throw new Error('x')
        return user.username !== 'bob@example.com' && user.username !== 'root'
      }
    }
  })
  const { send, tokenOf, root, ann, bob, app } = test
  const broken = await signUp(app, 'broken')
  const weak = bearer(await tokenOf('root', ADMIN_SCOPES.filter((one) => one !== 'authority:protected').join(' ')))
  const strong = bearer(await tokenOf('root', ALL))
  const acts = ROUTES.filter(([method, path]) => method !== 'GET' && path.includes(':id'))
  for (const [method, path, , , payload] of acts) {
    const at = (id: string): string => path.replace(':id', id).replace(/:sid|:one/, 'x')
    const self = await send(method, at(root.sub), strong, payload)
    t.equal(self.statusCode, 409, `${method} ${path} on oneself`)
    t.equal(self.json().error, 'conflict')
    for (const id of [ann.sub, broken.sub]) {
      const reply = await send(method, at(id), weak, payload)
      t.equal(reply.statusCode, 403, `${method} ${path}: ${reply.body}`)
      t.match(reply.headers['www-authenticate'], /scope="authority:protected"/)
    }
  }
  const ofSignIns = ['registered', 'authenticated']
  const { entries: all } = await log.list({ limit: 500, actor: root.sub })
  const entries = all.filter(({ action }) => !ofSignIns.includes(action))
  const refused = entries.filter(({ outcome }) => outcome === 'refused')
  t.equal(refused.length, 3 * acts.length, 'each refusal has its entry')
  t.notOk(entries.some(({ outcome }) => outcome === 'done' || outcome === 'failed'))
  t.same(new Set(refused.map(({ details }) => details['error'])), new Set(['conflict', 'insufficient_scope']))
  t.ok(entries.every(({ requestId, ip }) => requestId !== null && ip === '127.0.0.1'))
  t.equal((await send('POST', `/users/${bob.sub}/disable`, weak)).statusCode, 204)
  t.equal((await send('POST', `/users/${ann.sub}/disable`, strong)).statusCode, 204)
  t.equal((await send('GET', `/users/${ann.sub}`, weak)).statusCode, 200, 'reading is free')
  t.ok(asked.length > 0)
})

// covers ADV-CVE-2025-48370
t.test('rejects malformed ids, fields that nobody may set, and invalid filters', async (t) => {
  const test = await routed(t)
  const { send, tokenOf, ann } = test
  const all = bearer(await tokenOf('root', ALL))
  for (const id of ['..', '%2e%2e', '%2f', '%00', '__proto__', 'x'.repeat(100), "' OR 1=1", '{}', '%F0%9F%98%80'])
    for (const [method, path, , , payload] of ROUTES.filter(([, one]) => one.includes(':id'))) {
      // Its address is that of a page.
      if (id === '..' && path === '/users/:id/invite') continue
      const reply = await send(
        method,
        path.replace(':id', encodeURIComponent(id)).replace(/:sid|:one/, 'x'),
        all,
        payload
      )
      t.ok([400, 404].includes(reply.statusCode), `${method} ${path} ${id}: ${reply.statusCode}`)
    }
  const bodies: object[] = [
    { id: 'x' },
    { emailVerified: true },
    { email_verified: true },
    { passwordHash: 'x' },
    { disabled: false },
    { roles: ['admin'] },
    { fields: { passwordHash: 'x' } },
    { fields: { roles: ['x'] } },
    { fields: [] },
    { username: '' },
    { username: null },
    { username: 1 },
    { username: 'x'.repeat(256) },
    JSON.parse('{"__proto__":{"x":1}}') as object
  ]
  const before = JSON.stringify(await test.app.authority.users.get(ann.sub))
  for (const body of bodies) {
    const reply = await send('PATCH', `/users/${ann.sub}`, all, body)
    t.equal(reply.statusCode, 400, `${JSON.stringify(body)}: ${reply.body}`)
    t.equal((await send('POST', '/users', all, { username: 'fresh', ...body })).statusCode, 400, JSON.stringify(body))
  }
  t.equal(JSON.stringify(await test.app.authority.users.get(ann.sub)), before)
  for (const query of [
    'x=1',
    'limit=0',
    'limit=201',
    'limit=1e3',
    'limit=1&limit=2',
    'after=x',
    'prefix=',
    'email=',
    'limit=-1',
    'prefix[]=a'
  ])
    t.equal((await send('GET', `/users?${query}`, all)).statusCode, 400, query)
  for (const query of ['x=1', 'since=yesterday', 'until=2026-13-01T00:00:00Z', 'since=1', 'after=x', 'user=a&user=b'])
    t.equal((await send('GET', `/audit?${query}`, all)).statusCode, 400, query)
})
