/** ADM-P3 to P7: editing, inviting, the audit log, and text from users on pages. */
import t from '../../../support/tap.ts'
import { memoryAudit, memoryUserStore } from '../../../../lib/index.ts'
import { fastHasher } from '../../../../lib/testing/index.ts'
import { Type } from '@sinclair/typebox'
import { AUDIT_ACTS } from '../../../../lib/events.ts'
import { ADMIN_SCOPES } from '../../../../lib/protocol/scope.ts'
import { PASSWORD, signUp, testApp } from '../../../support/app.ts'
import { CLIENTS } from '../../../support/openid.ts'
import { SERVICE_SECRET } from '../world.ts'
import { paged, REASON, signedIn } from './pages-world.ts'

const registration = { fields: Type.Object({ city: Type.Optional(Type.String({ maxLength: 2000 })) }) }
const HERE = { 'sec-fetch-site': 'same-origin' }

t.test('changes a profile, records the reason, and reports the change on the page', async (t) => {
  const { app, browser, post, bob, actsOn } = await paged(t, { registration })
  const url = `/auth/admin/people/${bob.sub}/edit`
  t.match((await browser.get(url)).body, /value="bob@example\.com"/)
  for (const reason of ['', 'short']) t.equal((await post(url, { username: 'b@example.com', reason })).statusCode, 400)
  const taken = await post(url, { username: 'ann', email: 'bob@example.com', reason: REASON })
  t.equal(taken.statusCode, 409)
  t.match(taken.body, /id="username-error"/)
  t.equal((await actsOn(bob.sub, 'user_updated')).length, 2, 'an act that was refused')
  const done = await post(url, { username: 'b@example.com', email: 'b@example.com', city: 'Bern', reason: REASON })
  t.equal(done.headers.location, `/auth/admin/people/${bob.sub}?done=edit`, done.body)
  t.match((await browser.get(String(done.headers.location), HERE)).body, /The changes were saved\./)
  t.match(await app.authority.users.get(bob.sub), {
    username: 'b@example.com',
    email: 'b@example.com',
    emailVerified: false,
    city: 'Bern'
  })
  t.match(await actsOn(bob.sub, 'user_updated', 2), [
    { outcome: 'attempted', details: { reason: REASON } },
    { outcome: 'done' }
  ])
})

t.test('shows the stored and the typed value if the account changed while the form was open', async (t) => {
  const { app, browser, fieldsOf, bob } = await paged(t, { registration })
  const url = `/auth/admin/people/${bob.sub}/edit`
  const fields = { ...(await fieldsOf(url)), username: 'bob@example.com', email: 'bob@example.com', reason: REASON }
  await app.authority.users.update(bob.sub, { fields: { city: 'Basel' } })
  for (const stale of [fields, { ...fields, version: '' }, { ...fields, version: 'x' }]) {
    const reply = await browser.submit(url, { ...stale, city: 'Bern' })
    t.equal(reply.statusCode, 412)
    t.match(reply.body, /This account changed while you edited it/)
    t.match(reply.body, />Basel</)
    t.match(reply.body, />Bern</)
    t.match(reply.body, /name="city"[^>]* value="Bern"/)
    t.match(reply.body, new RegExp(REASON))
    t.match(await app.authority.users.get(bob.sub), { city: 'Basel' })
  }
  const again = await browser.submit(url, { ...fields, city: 'Bern' })
  const [, version = ''] = /name="version" value="([^"]*)"/.exec(again.body) ?? []
  t.equal((await browser.submit(url, { ...fields, version, city: 'Bern' })).statusCode, 303)
  t.match(await app.authority.users.get(bob.sub), { city: 'Bern' })
})

t.test('ignores form fields that no administrator may edit', async (t) => {
  const { app, post, bob } = await paged(t, { registration })
  const before = await app.authority.users.get(bob.sub)
  const own = { username: 'bob@example.com', email: 'bob@example.com', reason: REASON }
  const hostile = {
    emailVerified: 'true',
    disabled: 'true',
    passwordHash: 'x',
    id: 'x',
    roles: 'admin',
    __proto__x: '1'
  }
  t.equal((await post(`/auth/admin/people/${bob.sub}/edit`, { ...own, ...hostile })).statusCode, 303)
  t.strictSame(await app.authority.users.get(bob.sub), before)
})

t.test('invites a user once when the form is sent twice, and does not show the link', async (t) => {
  const { app, browser, fieldsOf, messages, root, log } = await paged(t)
  const url = '/auth/admin/invite'
  const fields = { ...(await fieldsOf(url)), username: 'new@example.com' }
  t.equal((await browser.submit(url, { ...fields, username: '' })).statusCode, 400)
  t.equal((await browser.submit(url, { ...fields, username: 'ann', email: 'a@example.com' })).statusCode, 409)
  const replies = [await browser.submit(url, fields), await browser.submit(url, fields)]
  t.strictSame(new Set(replies.map(({ statusCode }) => statusCode)), new Set([303]))
  t.equal(replies[0]?.headers.location, replies[1]?.headers.location)
  const message = await messages.next('invitation')
  const page = await browser.get(String(replies[0]?.headers.location), HERE)
  t.match(page.body, /We sent an invitation to new@example\.com\./)
  t.match(page.body, /No password/)
  t.notOk(page.body.includes(new URL(message.url).searchParams.get('token') ?? 'none'))
  const { users } = await app.authority.users.list({ prefix: 'new' })
  t.equal(users.length, 1)
  const { entries } = await log.list({ limit: 50, actor: root.sub, user: users[0]?.id })
  t.equal(entries.filter(({ action, outcome }) => action === 'user_invited' && outcome === 'done').length, 1)
})

t.test('has no invitation page without the option sendMessage', async (t) => {
  const { browser } = await paged(t, { sendMessage: undefined })
  t.equal((await browser.get('/auth/admin/invite')).statusCode, 404)
  t.notMatch((await browser.get('/auth/admin')).body, /\/auth\/admin\/invite/)
})

t.test('has no invitation page if the user store has no create method', async (t) => {
  const passwordHash = await fastHasher().hash(PASSWORD, { memoryCost: 19456, timeCost: 2, parallelism: 1 })
  const { create: _none, ...users } = memoryUserStore([{ id: 'root', username: 'root', passwordHash }])
  const { app, close } = await testApp({
    users,
    secret: SERVICE_SECRET,
    audit: memoryAudit(),
    clients: CLIENTS,
    admin: { allow: ({ scopes }) => scopes },
    sendMessage: async () => {}
  })
  t.teardown(close)
  const browser = await signedIn(app, 'root')
  const page = await browser.get('/auth/admin')
  t.equal(page.statusCode, 200)
  t.notMatch(page.body, /\/auth\/admin\/invite/)
  t.equal((await browser.get('/auth/admin/invite')).statusCode, 404)
})

t.test('filters the audit log, shows current usernames, and records each view', async (t) => {
  const { app, browser, post, ann, bob, root, log, clock, admins } = await paged(t)
  await post(`/auth/admin/people/${ann.sub}/disable`, { reason: REASON })
  await post(`/auth/admin/people/${bob.sub}/delete`, { reason: REASON, username: 'bob@example.com' })
  const day = new Date(clock.now()).toISOString().slice(0, 10)
  const rows = async (query: string): Promise<string> => {
    const { statusCode, body } = await browser.get(`/auth/admin/log?${query}`)
    t.equal(statusCode, 200, query)
    return /<tbody[\s\S]*<\/tbody>/.exec(body)?.[0] ?? ''
  }
  const all = await rows('')
  t.match(all, /user disabled[\s\S]*attempted/)
  t.match(all, new RegExp(REASON))
  t.match(all, new RegExp(`removed account <code>${bob.sub}`))
  t.match(all, /<time datetime="[^"]*Z"/)
  const { body: page } = await browser.get('/auth/admin/log')
  for (const action of AUDIT_ACTS) t.match(page, `<option value="${action}"`)
  for (const query of [
    `person=${ann.sub}`,
    'person=ann',
    `since=${day}&until=${day}&person=ann`,
    'actor=root&person=ann'
  ])
    t.match(await rows(query), /user disabled/, query)
  t.notMatch(await rows(`person=${bob.sub}`), /user disabled/)
  t.notMatch(await rows('action=user_enabled'), /user disabled/)
  t.equal(await rows('since=2001-01-01&until=2001-01-02'), '')
  for (const bad of ['since=x', 'until=2020-13-45', 'after=x', 'person=%00', 'action=%00'])
    t.equal((await browser.get(`/auth/admin/log?${bad}`)).statusCode, 400, bad)
  const before = (await log.list({ limit: 200, actor: root.sub, action: 'audit_read' })).entries.length
  await browser.get('/auth/admin/log')
  t.equal((await log.list({ limit: 200, actor: root.sub, action: 'audit_read' })).entries.length, before + 2)
  await app.authority.users.update(ann.sub, { username: 'anna' })
  t.match(await rows(`person=${ann.sub}`), />anna</)
  admins.set('root', ['authority:audit:read'])
  t.notMatch(await rows(`person=${ann.sub}`), />anna</, 'no names without the scope that reads people')
  admins.set('root', ADMIN_SCOPES)
})

t.test('lists 60 users and 120 audit entries over several pages', async (t) => {
  const { app, browser } = await paged(t)
  for (let count = 0; count < 60; count++) await app.authority.users.create({ username: `many${count}` })
  for (const [start, most] of [
    ['/auth/admin?q=many&by=prefix', 60],
    ['/auth/admin/log?action=user_created', 120]
  ] as const) {
    const seen: number[] = []
    let url: string | undefined = start
    while (url !== undefined && seen.length < 5) {
      const { body } = await browser.get(url)
      seen.push((body.match(/<td role="cell" data-label="(?:Name|Time)"/g) ?? []).length)
      url = /<a href="([^"]*)" rel="next"/.exec(body)?.[1]?.replaceAll('&amp;', '&')
      t.equal(seen.length > 1, body.includes('First page'))
    }
    t.equal(
      seen.reduce((sum, one) => sum + one, 0),
      most,
      start
    )
  }
})

t.test('finds users by the beginning of a username, an exact username, or an exact email address', async (t) => {
  const { browser } = await paged(t)
  const found = async (q: string, by = ''): Promise<string[]> =>
    [
      ...(await browser.get(`/auth/admin?q=${encodeURIComponent(q)}&by=${by}`)).body.matchAll(
        /data-label="Name"><a[^>]*><bdi>([^<]*)/g
      )
    ].map(([, name = '']) => name)
  t.strictSame(await found('an'), ['ann'])
  t.strictSame(await found('ANN', 'name'), ['ann'])
  t.strictSame(await found('an', 'name'), [])
  t.strictSame(await found('an', 'prefix'), ['ann'])
  t.strictSame(await found('Bob@example.com', 'email'), ['bob@example.com'])
  t.strictSame(await found('bob', 'email'), [])
  t.strictSame(await found('%', 'prefix'), [])
  t.match((await browser.get('/auth/admin?q=nobody')).body, /No one found\./)
  for (const bad of ['after=x', 'q=%00&by=prefix', 'q=a&q=b'])
    t.equal((await browser.get(`/auth/admin?${bad}`)).statusCode, 400, bad)
})

t.test('shows markup, direction marks and long values of users as harmless text', async (t) => {
  const HOSTILE = [
    '<img src=x onerror=alert(1)>',
    '"><script>alert(1)</script>',
    'a\u202Etxt.exe',
    'שלום\u200F',
    'x'.repeat(1000),
    'a\nb\u0007'
  ]
  const { app, browser, users } = await paged(t, { registration })
  for (const [index, city] of HOSTILE.entries()) {
    const { sub } = await signUp(app, `odd${index}@example.com`)
    await app.authority.users.update(sub, { fields: { city } })
    const { body } = await browser.get(`/auth/admin/people/${sub}`)
    t.notMatch(body, /<img|<script>|[\u202A-\u202E\u2066-\u2069\u200F]/, city.slice(0, 20))
    t.notOk(body.includes('x'.repeat(201)))
  }
  const { id: sub } = (await users.create?.({ username: 'שלום', passwordHash: null })) ?? { id: '' }
  for (const path of ['', `/people/${sub}`, `/people/${sub}/disable`])
    t.match((await browser.get(`/auth/admin${path}`)).body, /<bdi>שלום<\/bdi>/, path)
})

t.test('keeps the email address when the username is changed to one that is no address', async (t) => {
  const { app, post, bob } = await paged(t)
  const fields = { username: 'bob', email: 'bob@example.com', reason: REASON }
  t.equal((await post(`/auth/admin/people/${bob.sub}/edit`, fields)).statusCode, 303)
  t.match(await app.authority.users.get(bob.sub), { username: 'bob', email: 'bob@example.com' })
})

t.test('records in the audit log that the page of a user was opened', async (t) => {
  const log = memoryAudit()
  const { browser, bob, root } = await paged(t, { audit: log })
  const read = async () => (await log.list({ limit: 10, actor: root.sub, action: 'audit_read' })).entries.length
  t.equal(await read(), 0)
  t.equal((await browser.get(`/auth/admin/people/${bob.sub}`)).statusCode, 200)
  t.equal(await read(), 2)
})
