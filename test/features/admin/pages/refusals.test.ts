/** ADM-P2 and P4: the acts that a page does not offer, and those that it refuses. */
import t from '../../../support/tap.ts'
import { oidc } from '../../../../lib/connections/index.ts'
import { memoryAudit, memoryUserStore } from '../../../../lib/index.ts'
import { ADMIN_SCOPES } from '../../../../lib/protocol/scope.ts'
import { PASSWORD } from '../../../support/app.ts'
import { thingOf } from '../world.ts'
import { ACTS, type Paged, paged, REASON, signedIn, victim } from './pages-world.ts'

const OF_SSO = { id: 'sso', issuer: 'https://sso.example', clientId: 'us', clientSecret: 'a secret of ours' }
const SSO = oidc(OF_SSO)

t.test('deletes no account from its admin page without the exact username', async (t) => {
  const test = await paged(t)
  const { id, url } = await victim(test, 'delete')
  for (const username of ['', 'someone@example.com']) {
    const reply = await test.post(url, { reason: REASON, username })
    t.equal(reply.statusCode, 400)
    t.match(reply.body, /This is not the username/)
  }
  t.ok(await test.app.authority.users.get(id))
})

t.test('offers and performs no acts on a protected user or on the own account', async (t) => {
  const test = await paged(t, {
    admin: {
      allow: ({ user, scopes }) =>
        user?.username === 'root' ? scopes.filter((scope) => scope !== 'authority:protected') : [],
      isProtected: ({ username }) => username === 'ann'
    }
  })
  const { app, ann, root, browser } = test
  for (const [id, status, text] of [
    [ann.sub, 403, /This account is protected/],
    [root.sub, 409, /your own account/]
  ] as const) {
    const page = await browser.get(`/auth/admin/people/${id}`)
    t.equal(page.statusCode, 200)
    t.match(page.body, text)
    t.notMatch(page.body, new RegExp(`/people/${id}/`), 'no link to an act')
    const { session = '' } = await test.fieldsOf(`/auth/admin/people/${test.bob.sub}/disable`)
    for (const act of [...ACTS.map(([one]) => one), 'edit']) {
      const url = `/auth/admin/people/${id}/${act.replace(':one', 'x')}`
      t.equal((await browser.get(url)).statusCode, status, act)
      const refused = await browser.submit(url, { session, reason: REASON, username: 'ann' })
      t.equal(refused.statusCode, status, act)
      t.match(refused.body, text)
    }
    t.match(await app.authority.users.get(id), { disabled: false, hasPassword: true })
  }
})

t.test('shows and performs only the acts that the scopes of the administrator allow', async (t) => {
  const test = await paged(t)
  const { admins, browser, ann } = test
  const key = await thingOf(test.app, '/api-keys', ann.sub)
  await signedIn(test.app, 'ann')
  const LINKS: Array<[scope: string, links: RegExp]> = [
    ['authority:users:write', /\/(?:disable|reset|api-keys)(?:\/|")/],
    ['authority:users:delete', /\/delete"/],
    ['authority:sessions:write', /\/sessions(?:\/|")/],
    ['authority:audit:read', /\/auth\/admin\/log/]
  ]
  for (const [scope, links] of LINKS) {
    admins.set(
      'root',
      ADMIN_SCOPES.filter((one) => one !== scope)
    )
    t.notMatch((await browser.get(`/auth/admin/people/${ann.sub}`)).body, links, scope)
    admins.set('root', ['authority:users:read', scope])
    t.match((await browser.get(`/auth/admin/people/${ann.sub}`)).body, links, scope)
  }
  for (const { scope, path, method } of test.PAGES) {
    admins.set(
      'root',
      ADMIN_SCOPES.filter((one) => one !== scope)
    )
    const url = `/auth/admin${path.replace(':id', ann.sub).replace(':one', key)}`
    const reply = await (method === 'GET' ? browser.get(url) : browser.submit(url, { reason: REASON }))
    t.equal(reply.statusCode, 404, `${method} ${path}`)
  }
})

t.test('answers 503 and changes no user while the audit log cannot be written', async (t) => {
  const log = memoryAudit()
  let isDown = false
  const audit = {
    ...log,
    append: async (...given: Parameters<typeof log.append>) => {
      if (isDown) throw new Error('down')
      await log.append(...given)
    }
  }
  const test = await paged(t, { audit })
  for (const [act] of ACTS) {
    isDown = false
    const { id, url, username } = await victim(test, act)
    const before = JSON.stringify(await test.app.authority.users.get(id))
    isDown = true
    const reply = await test.post(url, { reason: REASON, username })
    t.equal(reply.statusCode, 503, act)
    t.match(reply.body, /Nothing was changed: the audit log can(?:&#39;|')t be written\./)
    t.match(reply.body, /Back to the person/)
    t.equal(JSON.stringify(await test.app.authority.users.get(id)), before)
  }
  const edited = { username: 'anna', email: 'anna@example.com', reason: REASON }
  t.equal((await test.post(`/auth/admin/people/${test.ann.sub}/edit`, edited)).statusCode, 503)
  t.equal((await test.post('/auth/admin/invite', { username: 'anna@example.com' })).statusCode, 503)
  t.equal((await test.browser.get('/auth/admin/log')).statusCode, 503)
  t.equal((await test.app.authority.users.list({ prefix: 'anna' })).users.length, 0)
})

t.test('offers no password reset for a user who cannot set a password, and answers 409', async (t) => {
  const { setPasswordHash: _without, ...store } = memoryUserStore()
  const without = await paged(t, { users: store })
  const managed = await paged(t, { connections: [oidc({ ...OF_SSO, domains: ['work.example'], enforce: true })] })
  const { id } = await managed.users.create({ username: 'eve@work.example', passwordHash: 'a hash' })
  const { id: stranger } = await managed.users.create({ username: 'eve@e.example', passwordHash: 'a hash' })
  const offers = async ({ browser }: Paged, user: string): Promise<boolean> =>
    (await browser.get(`/auth/admin/people/${user}`)).body.includes(`/people/${user}/reset"`)
  t.equal(await offers(managed, stranger), true)
  await without.app.authority.users.update(without.ann.sub, { email: 'ann@mail.example' })
  for (const [test, user, text] of [
    [without, without.ann.sub, /The user store has no setPasswordHash\./],
    [managed, id, /The user signs in through a connection alone\./]
  ] as const) {
    t.equal(await offers(test, user), false)
    const reply = await test.post(`/auth/admin/people/${user}/reset`, { reason: REASON })
    t.equal(reply.statusCode, 409)
    t.match(reply.body, text)
  }
})

t.test('refuses on the admin page to remove the last sign-in method of a user', async (t) => {
  const test = await paged(t, { connections: [SSO] })
  const { id } = await test.app.authority.users.create({ username: 'linked@example.com' })
  const link = await thingOf(test.app, '/connections', id)
  const reply = await test.post(`/auth/admin/people/${id}/connections/${link}`, { reason: REASON })
  t.equal(reply.statusCode, 409, reply.body)
  t.equal((await test.app.authority.identities(id)).length, 1)
})

t.test('answers 404 with a link to the user list for an unknown user', async (t) => {
  const { browser } = await paged(t)
  for (const id of ['nobody', '%00', '__proto__', 'x'.repeat(100)]) {
    const reply = await browser.get(`/auth/admin/people/${id}`)
    t.equal(reply.statusCode, 404, id)
    t.match(reply.body, /There is no such person\./)
    t.match(reply.body, /href="\/auth\/admin"/)
  }
})

t.test('shows no password, password hash or API key on the admin page of a user', async (t) => {
  const { app, browser, ann } = await paged(t)
  const { key } = await app.authority.apiKeys.create({ userId: ann.sub, name: 'Reports' })
  const { body } = await browser.get(`/auth/admin/people/${ann.sub}`)
  t.match(body, /Reports/)
  for (const secret of [key, '$argon2', 'digest', 'sealed', 'passwordHash', PASSWORD]) t.notOk(body.includes(secret))
})
