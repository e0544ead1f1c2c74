import { Type } from '@sinclair/typebox'
import Database from 'libsql'
import t from '../../support/tap.ts'
import { type GrantType, memoryAudit, sqliteAudit, sqliteState, sqliteUserStore } from '../../../lib/index.ts'
import { ADMIN_SCOPES } from '../../../lib/protocol/scope.ts'
import { bearer, signUp } from '../../support/app.ts'
import { basic, SECRET } from '../../support/openid.ts'
import { ALL, routed, ROUTES, world } from './world.ts'

t.test('rejects a change of a user without If-Match or with an outdated version', async (t) => {
  const test = await routed(t)
  const { app, tokenOf, bob, send } = test
  const all = bearer(await tokenOf('root', ALL))
  const { headers } = await send('GET', `/users/${bob.sub}`, all)
  const etag = String(headers.etag)
  t.match(etag, /^"[\w-]+"$/)
  const patch = async (ifMatch: Record<string, string>, username: string) =>
    await app.inject({
      method: 'PATCH',
      url: `/auth/admin/users/${bob.sub}`,
      headers: { ...all, ...ifMatch },
      payload: { username }
    })
  t.equal((await patch({}, 'x@example.com')).statusCode, 400)
  for (const bad of ['"x"', 'W/"x"', 'x', '""', `${etag}, "y"`])
    t.equal((await patch({ 'if-match': bad }, 'x@example.com')).statusCode, 400, bad)
  const both = await Promise.all([
    patch({ 'if-match': etag }, 'one@example.com'),
    patch({ 'if-match': etag }, 'two@example.com')
  ])
  t.same(both.map(({ statusCode }) => statusCode).toSorted(), [200, 412])
  const won = both.find(({ statusCode }) => statusCode === 200)
  t.not(won?.headers.etag, etag)
  t.equal(won?.json().email_verified, false)
  t.equal((await patch({ 'if-match': etag }, 'three@example.com')).json().error, 'changed_meanwhile')
  t.equal((await patch({ 'if-match': '*' }, 'ann')).statusCode, 409)
})

t.test('lists users in pages, with the fields in admin.fields and without secrets', async (t) => {
  const log = memoryAudit()
  const test = await routed(t, {
    audit: log,
    admin: { allow: ({ user, scopes }) => (user?.username === 'root' ? scopes : []), fields: ['createdAt'] }
  })
  const { send, tokenOf, app, bob } = test
  const all = bearer(await tokenOf('root', ALL))
  for (let count = 0; count < 5; count++) await signUp(app, `user${count}@example.com`)
  const found: string[] = []
  let next: string | null = ''
  while (next !== null) {
    const page: { users: Array<{ username: string }>; next: string | null } = (
      await send('GET', `/users?limit=3${next === '' ? '' : `&after=${next}`}`, all)
    ).json()
    found.push(...page.users.map(({ username }) => username))
    next = page.next
  }
  t.equal(new Set(found).size, 8)
  t.equal(found.length, 8)
  t.equal((await send('GET', '/users?email=BOB%40example.com', all)).json().users[0].id, bob.sub)
  t.ok((await send('GET', `/users/${bob.sub}`, all)).json().createdAt)
  await send('POST', `/users/${bob.sub}/disable`, all)
  const bodies = await Promise.all(
    ['/users', `/users/${bob.sub}`, `/users/${bob.sub}/sessions`, '/audit'].map(
      async (path) => (await send('GET', path, all)).body
    )
  )
  for (const body of bodies) t.notMatch(body, /passwordHash|\$|sealed|digest|"mac"|ipMac/)
  const { entries } = JSON.parse(bodies[3] ?? '') as { entries: Array<Record<string, unknown>> }
  t.match(
    entries.find(({ action, outcome }) => action === 'user_disabled' && outcome === 'attempted'),
    { actor: { type: 'user', id: test.root.sub }, target: { type: 'user', id: bob.sub }, at: /Z$/ }
  )
  t.equal((await send('GET', `/audit?user=${bob.sub}&action=user_disabled`, all)).json().entries.length, 2)
})

t.test('limits each administrator to 120 requests a minute', async (t) => {
  const test = await routed(t, { rateLimit: { login: false, account: false, register: false } })
  const { send, tokenOf, admins } = test
  admins.set('ann', ADMIN_SCOPES)
  const mine = bearer(await tokenOf('root', ALL))
  for (let count = 0; count < 120; count++) t.equal((await send('GET', '/users/none', mine)).statusCode, 404)
  const reply = await send('GET', '/users/none', mine)
  t.equal(reply.statusCode, 429)
  t.ok(reply.headers['retry-after'])
  t.equal((await send('GET', '/users/none', bearer(await tokenOf('ann', ALL)))).statusCode, 404)
})

t.test('stops the start without audit, with a secret in admin.fields, and with an invalid isProtected', async (t) => {
  const allow = () => []
  await t.rejects(world(t, { admin: { allow }, audit: undefined }), { message: 'audit' })
  await t.rejects(world(t, { admin: { allow, fields: ['passwordHash'] } }), { message: 'admin.fields' })
  await t.rejects(world(t, { admin: { allow, isProtected: true as never } }), { message: 'admin.isProtected' })
})

t.test('refuses the token of a machine client that lost the client_credentials grant', async (t) => {
  const robot = { clientId: 'robot', clientSecret: SECRET, grantTypes: ['client_credentials'] as GrantType[] }
  const { app, send } = await routed(t, { clients: { findById: async (id) => (id === 'robot' ? robot : null) } })
  const payload = { grant_type: 'client_credentials', scope: 'authority:users:read' }
  const reply = await app.inject({ method: 'POST', url: '/auth/token', headers: basic('robot', SECRET), payload })
  const token = bearer(reply.json().access_token)
  t.equal((await send('GET', '/users', token)).statusCode, 200)
  robot.grantTypes = ['refresh_token']
  t.equal((await send('GET', '/users', token)).statusCode, 401)
})

t.test('refuses NUL, which no store can hold, in filters and paths', async (t) => {
  const db = new Database(':memory:')
  t.teardown(() => db.close())
  const { send, tokenOf } = await routed(t, {
    audit: sqliteAudit(db),
    users: sqliteUserStore(db),
    state: sqliteState(db)
  })
  const all = bearer(await tokenOf('root', ALL))
  for (const name of ['user', 'actor', 'action'])
    for (const value of ['%00', 'a%00b', '']) {
      const reply = await send('GET', `/audit?${name}=${value}`, all)
      t.equal(reply.statusCode, 400, `${name}=${value}: ${reply.body}`)
    }
  t.equal((await send('GET', '/audit?user=%F0%9F%98%80', all)).statusCode, 200)
  const { id } = (await send('GET', '/users?prefix=bob', all)).json().users[0]
  for (const [method, path, , , payload] of ROUTES.filter(([, one]) => one.includes(':')))
    for (const [whose, which] of [
      ['%00', 'x'],
      [id, '%00']
    ]) {
      const url = path.replace(':id', whose).replace(/:(?:sid|one)/, which ?? '')
      if (!url.includes('%00')) continue
      const { statusCode, body } = await send(method, url, all, payload)
      t.ok([400, 404].includes(statusCode), `${method} ${url}: ${statusCode} ${body}`)
    }
})

t.test('logs once at the start that Fastify limits the length of ids in a path', async (t) => {
  const { lines } = await world(t)
  t.equal(lines.filter(({ msg }) => /maxParamLength/.test(String(msg))).length, 1)
})

t.test('accepts a reason for disabling or removing a user, and rejects any other field', async (t) => {
  const log = memoryAudit()
  const { app, bob, tokenOf } = await routed(t, { audit: log })
  const all = bearer(await tokenOf('root', ALL))
  const url = `/auth/admin/users/${bob.sub}/disable`
  const post = async (payload?: object | string, headers: Record<string, string> = {}) =>
    (
      await app.inject({
        method: 'POST',
        url,
        headers: { ...all, ...headers },
        ...(payload === undefined ? {} : { payload })
      })
    ).statusCode
  t.equal(await post({ reason: 'left the company' }), 204)
  const { entries } = await log.list({ limit: 10, action: 'user_disabled' })
  t.match(entries.at(-1), { outcome: 'attempted', details: { reason: 'left the company' } })
  t.equal(await post(), 204)
  t.equal(await post({}), 204)
  for (const type of ['application/json', 'application/x-www-form-urlencoded', 'text/plain'])
    t.equal(await post('', { 'content-type': type }), 204, `${type} and no body`)
  for (const bad of [{ reason: '' }, { reason: 'x'.repeat(501) }, { reason: 1 }, { other: 1 }, { by: {} }, [], 'x'])
    t.equal(await post(bad, { 'content-type': 'application/json' }), 400, JSON.stringify(bad))
  t.equal(await post('reason=x', { 'content-type': 'application/x-www-form-urlencoded' }), 415)
  const removal = { method: 'DELETE', url: url.replace('/disable', ''), headers: all } as const
  t.equal((await app.inject({ ...removal, payload: { reason: 'asked for it' } })).statusCode, 204)
})

t.test('records which fields an administrator changed, without the values, and who read the audit log', async (t) => {
  const log = memoryAudit()
  const { send, bob, tokenOf, root } = await routed(t, { audit: log })
  const all = bearer(await tokenOf('root', ALL))
  t.equal((await send('PATCH', `/users/${bob.sub}`, all, { username: 'rob@example.com' })).statusCode, 200)
  const { entries } = await log.list({ limit: 10, action: 'user_updated' })
  t.match(entries.at(-1), { outcome: 'attempted', details: { fields: 'username' } })
  t.notMatch(JSON.stringify(entries), /rob@/)
  t.equal((await send('GET', '/audit', all)).statusCode, 200)
  t.same(
    (await log.list({ limit: 10, action: 'audit_read' })).entries.map(({ outcome, actor }) => [outcome, actor.id]),
    [
      ['done', root.sub],
      ['attempted', root.sub]
    ]
  )
})

t.test('checks profile fields against their schema when a user is changed or created', async (t) => {
  const plan = Type.Union([Type.Literal('free'), Type.Literal('paid')], { default: 'free' })
  const fields = Type.Object({ city: Type.Optional(Type.String({ maxLength: 9 })), plan })
  const { send, tokenOf, bob, app } = await routed(t, { registration: { fields } })
  const all = bearer(await tokenOf('root', ALL))
  const before = await app.authority.users.get(bob.sub)
  for (const bad of [{ city: 7 }, { city: { a: 1 } }, { city: 'x'.repeat(10) }, { plan: 'gold' }, { plan: null }]) {
    const [name = ''] = Object.keys(bad)
    for (const [method, path, payload] of [
      ['PATCH', `/users/${bob.sub}`, { fields: bad }],
      ['POST', '/users', { username: 'new@example.com', fields: bad }]
    ] as const) {
      const reply = await send(method, path, all, payload)
      t.equal(reply.statusCode, 400, `${method} ${JSON.stringify(bad)}`)
      t.match(reply.json().error_description, new RegExp(`^${name}:`))
    }
  }
  t.strictSame(await app.authority.users.get(bob.sub), before)
  const reply = await send('PATCH', `/users/${bob.sub}`, all, { fields: { city: 'Bern', plan: 'paid' } })
  t.match(reply.json(), { city: 'Bern', plan: 'paid' })
  t.equal((await send('PATCH', `/users/${bob.sub}`, all, { fields: { city: null } })).statusCode, 200)
})

t.test('lists the audit log even if one entry has values of wrong types', async (t) => {
  const log = memoryAudit()
  const broken = { actor: { type: 1, id: [] }, target: {}, sid: {}, clientId: { toString: 1 }, requestId: [], ip: 1 }
  const list: typeof log.list = async (query) => {
    const page = await log.list(query)
    return { ...page, entries: page.entries.map((one, index) => ({ ...one, ...(index === 0 ? broken : {}) }) as never) }
  }
  const { send, tokenOf, root } = await routed(t, { audit: { ...log, list } })
  const reply = await send('GET', '/audit', bearer(await tokenOf('root', ALL)))
  t.equal(reply.statusCode, 200)
  const [first, second] = reply.json().entries
  t.match(first, { actor: { type: '', id: null }, target: { type: '', id: '' }, sid: null, client_id: null, ip: null })
  t.match(second, { actor: { type: 'user', id: root.sub }, ip: '127.0.0.1' })
})

t.test('records the sign-outs of a required reset as caused by the host, not by the user', async (t) => {
  const log = memoryAudit()
  const { send, bob, tokenOf, byPassword } = await routed(t, { audit: log })
  const all = bearer(await tokenOf('root', ALL))
  await byPassword('bob@example.com')
  t.equal((await send('POST', `/users/${bob.sub}/reset`, all)).statusCode, 204)
  const { entries } = await log.list({ limit: 100, user: bob.sub, action: 'logged_out' })
  t.match(entries, [{ actor: { type: 'host', id: null } }])
})
