/** Linking and unlinking of accounts at providers: the user, the required proof, its age, and repeats. */
import t from '../../support/tap.ts'
import { linkIdOf } from '../../../lib/accounts/identities.ts'
import { memoryUserStore, type LinkedIdentity } from '../../../lib/index.ts'
import { parallel, tally } from '../../../lib/testing/contract.ts'
import { bearer, PASSWORD, signIn, signUp, testApp } from '../../support/app.ts'
import { formAction, testBrowser, type TestBrowser } from '../../support/browser.ts'
import { PROVIDER } from '../../support/fake-upstream.ts'
import { connectApp, type ConnectApp, CROSS, SAME } from './support.ts'

const linkTo = (subject: string, fields: Partial<LinkedIdentity> = {}): LinkedIdentity => ({
  issuer: PROVIDER,
  subject,
  connection: 'acme',
  linkedAt: Date.UTC(2026, 0, 1),
  lastUsedAt: Date.UTC(2026, 0, 2),
  ...fields
})
const PAGE = '/auth/account/connections'

/** An app with the user Ann, who has the links `subjects` and, unless `password` is false, a password. */
async function scene(
  t: Parameters<typeof connectApp>[0],
  {
    password = true,
    subjects = ['ann-1'],
    ...options
  }: { password?: boolean; subjects?: string[] } & Parameters<typeof connectApp>[1] = {}
) {
  const users = memoryUserStore()
  const test = await connectApp(t, { users, registration: { username: 'any' }, ...options })
  let id: string
  if (password) id = (await signUp(test.app, 'ann@example.com')).sub
  else
    id = (
      await users.create({
        username: 'ann@example.com',
        email: 'ann@example.com',
        emailVerified: true,
        passwordHash: null
      })
    ).id
  for (const subject of subjects) await users.linkIdentity(id, linkTo(subject, { email: `${subject}@example.com` }))
  const remove = async (linkId: string, token: string) =>
    await test.app.inject({ method: 'DELETE', url: `/auth/connections/${linkId}`, headers: bearer(token) })
  const list = async (token: string) => await test.app.inject({ url: '/auth/connections', headers: bearer(token) })
  return { ...test, users, id, remove, list }
}

async function browserOf(test: ConnectApp): Promise<TestBrowser> {
  const browser = testBrowser(test.app)
  const reply = await browser.submit('/auth/login', { username: 'ann@example.com', password: PASSWORD })
  if (reply.statusCode !== 303) throw new Error(`login: ${reply.statusCode}`)
  return browser
}

t.test('lists the linked identities of a user under opaque ids, and removes one', async (t) => {
  const test = await scene(t, { subjects: ['subject-canary', 'ann-2'] })
  const { access_token: token } = await signIn(test.app, 'ann@example.com')
  const listed = await test.list(token)
  const shown = (subject: string) => ({
    id: linkIdOf(linkTo(subject)),
    connection: 'acme',
    name: 'Acme',
    email: `${subject}@example.com`,
    linked_at: '2026-01-01T00:00:00.000Z',
    last_used_at: '2026-01-02T00:00:00.000Z'
  })
  t.strictSame(listed.json(), { connections: [shown('subject-canary'), shown('ann-2')] })
  t.equal(listed.headers['cache-control'], 'no-store')
  t.notMatch(listed.body.replaceAll('subject-canary@example.com', ''), /canary|sso\.example/)
  const gone = await test.remove(linkIdOf(linkTo('subject-canary')), token)
  t.match(gone, { statusCode: 204, body: '' })
  t.strictSame((await test.list(token)).json(), { connections: [shown('ann-2')] })
  t.equal(await test.users.findByIdentity(linkTo('subject-canary')), null)
  t.equal((await test.messages.next('identity_unlinked')).user.email, 'ann@example.com')
  t.match(test.payloads('identity_unlinked'), [{ userId: test.id, connection: 'acme', by: 'user', ip: '127.0.0.1' }])
  t.match((await test.remove(linkIdOf(linkTo('subject-canary')), token)).json(), { error: 'not_found' }, 'twice')
  t.notMatch(test.lines.join('\n'), /canary/)
})

t.test('names a deleted connection by its id, and shows null for a missing address', async (t) => {
  const test = await scene(t, { subjects: [] })
  await test.users.linkIdentity(test.id, linkTo('1', { connection: 'former' }))
  const { access_token: token } = await signIn(test.app, 'ann@example.com')
  t.match((await test.list(token)).json(), { connections: [{ connection: 'former', name: 'former', email: null }] })
})

// covers FED-13
t.test('rejects the removal of a link more than five minutes after the sign-in', async (t) => {
  const test = await scene(t)
  const { access_token: token } = await signIn(test.app, 'ann@example.com')
  test.clock.step(300_000)
  test.clock.step(1)
  const stale = await test.remove(linkIdOf(linkTo('ann-1')), token)
  t.match(stale, {
    statusCode: 401,
    headers: { 'www-authenticate': /insufficient_user_authentication.*max_age="300"/ }
  })
  t.match(stale.json(), { error: 'insufficient_user_authentication' })
  t.equal((await test.list(token)).statusCode, 200, 'to look at them needs none')
  t.ok(await test.users.findByIdentity(linkTo('ann-1')))
})

t.test('takes freshness from the sign-in time of the provider only with provesFreshness', async (t) => {
  const hour = 3_600_000
  for (const { provesFreshness, prompt, ago, status } of [
    { provesFreshness: true, prompt: '', ago: 24 * hour, status: 401 },
    { provesFreshness: true, prompt: '?max_age=864000', ago: 24 * hour, status: 401 },
    { provesFreshness: true, prompt: '', ago: 60_000, status: 204 },
    { provesFreshness: true, prompt: '?prompt=login', ago: 0, status: 204 },
    { provesFreshness: false, prompt: '', ago: 24 * hour, status: 204 }
  ]) {
    const test = await scene(t, { more: { provesFreshness }, connection: { trustEmail: true } })
    test.fake.person = { subject: 'ann-1', authenticatedAt: test.clock.now() - ago }
    await test.through(prompt)
    t.equal(await test.who(), test.id, 'signed in')
    const url = `/auth/connections/${linkIdOf(linkTo('ann-1'))}`
    const cookie = [...test.browser.cookies].map((pair) => pair.join('=')).join('; ')
    const reply = await test.app.inject({ method: 'DELETE', url, headers: { ...SAME, cookie } })
    t.equal(reply.statusCode, status, JSON.stringify({ provesFreshness, prompt, ago }))
    if (status === 401) t.match(reply.json(), { error: 'insufficient_user_authentication' })
  }
})

// covers FED-13
t.test('keeps the last way to sign in, also in parallel requests for the last two links', async (t) => {
  const test = await scene(t, { password: false, subjects: ['ann-1', 'ann-2'] })
  const { access_token: token } = await test.app.authority.issueTokens(test.id)
  const replies = await parallel(
    20,
    async (index) => await test.remove(linkIdOf(linkTo(index % 2 === 0 ? 'ann-1' : 'ann-2')), token)
  )
  t.equal(tally(replies.map(({ statusCode }) => String(statusCode)))['204'], 1)
  const [left] = await test.users.listIdentities(test.id)
  const refused = await test.remove(left === undefined ? '' : linkIdOf(left), token)
  t.equal(refused.statusCode, 409)
  t.match(refused.json(), { error: 'last_sign_in_method' })
  t.equal((await test.users.listIdentities(test.id)).length, 1)
})

// covers FED-13
t.test('removes a link of a deleted connection and keeps the last working link', async (t) => {
  const test = await scene(t, { password: false })
  for (const subject of ['1', '2']) await test.users.linkIdentity(test.id, linkTo(subject, { connection: 'former' }))
  const { access_token: token } = await test.app.authority.issueTokens(test.id)
  t.match((await test.remove(linkIdOf(linkTo('ann-1')), token)).json(), { error: 'last_sign_in_method' })
  t.equal((await test.remove(linkIdOf(linkTo('1')), token)).statusCode, 204)
  t.equal((await test.remove(linkIdOf(linkTo('2')), token)).statusCode, 204)
  t.match(await test.users.listIdentities(test.id), [{ subject: 'ann-1' }])
  const alone = await scene(t, { password: false, subjects: [] })
  await alone.users.linkIdentity(alone.id, linkTo('1', { connection: 'former' }))
  t.equal(
    (await alone.remove(linkIdOf(linkTo('1')), (await alone.app.authority.issueTokens(alone.id)).access_token))
      .statusCode,
    204,
    'where nothing works it goes too'
  )
})

t.test('rejects the removal of a link by other users, sites, clients and anonymous requests', async (t) => {
  const test = await scene(t, {
    clients: [{ clientId: 'third', redirectUris: ['https://third.example/cb'], firstParty: false }]
  })
  await signUp(test.app, 'bob@example.com')
  const { access_token: bob } = await signIn(test.app, 'bob@example.com')
  const id = linkIdOf(linkTo('ann-1'))
  t.match((await test.remove(id, bob)).json(), { error: 'not_found' })
  t.same((await test.list(bob)).json(), { connections: [] })
  const { access_token: third } = await test.app.authority.issueTokens(test.id, { clientId: 'third' })
  t.equal((await test.remove(id, third)).statusCode, 403)
  const browser = await browserOf(test)
  const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  for (const [headers, status] of [
    [{}, 401],
    [bearer('none'), 401],
    [{ cookie, ...CROSS }, 403],
    [{ cookie }, 403],
    [{ cookie, ...SAME }, 204]
  ] as const) {
    t.equal(
      (await test.app.inject({ method: 'DELETE', url: `/auth/connections/${id}`, headers })).statusCode,
      status,
      Object.keys(headers).join()
    )
  }
  for (const wrong of ['ann-1', 'x', 'x'.repeat(100), encodeURIComponent('__proto__')])
    t.equal(
      (await test.app.inject({ method: 'DELETE', url: `/auth/connections/${wrong}`, headers: { cookie, ...SAME } }))
        .statusCode,
      404
    )
})

t.test('answers 503 while the store is down, and reports no link as removed', async (t) => {
  const users = memoryUserStore()
  let down = false
  const down503 = async (): Promise<never> => {
    throw new Error('the store is down')
  }
  const test = await scene(t, {
    users: { ...users, listIdentities: async (id) => (down ? await down503() : await users.listIdentities(id)) }
  })
  const { access_token: token } = await signIn(test.app, 'ann@example.com')
  const browser = await browserOf(test)
  down = true
  t.equal((await test.list(token)).statusCode, 503)
  t.equal((await test.remove('x', token)).statusCode, 503)
  t.equal((await browser.get(PAGE)).statusCode, 503)
  t.equal(test.payloads('identity_unlinked').length, 0)
})

t.test('registers no routes without connections or without links in the store', async (t) => {
  const without = await testApp()
  t.teardown(without.close)
  for (const url of ['/auth/connections', PAGE]) t.equal((await without.app.inject({ url })).statusCode, 404)
  const { listIdentities: _list, ...users } = memoryUserStore()
  const bare = await connectApp(t, { users })
  for (const url of ['/auth/connections', PAGE]) t.equal((await bare.app.inject({ url })).statusCode, 404)
})

t.test('lists links on the page, offers to connect another, and disconnects without JavaScript', async (t) => {
  const test = await scene(t, { subjects: ['ann-1', 'ann-2'] })
  const browser = await browserOf(test)
  t.match(
    (await browser.get('/auth/account')).body,
    /href="\/auth\/account\/connections">.*Connected accounts <small><bdi>Acme</
  )
  const shown = await browser.get(PAGE)
  t.equal(shown.statusCode, 200)
  t.match(shown.body, /Acme.*<bdi>ann-1@example\.com<\/bdi>/)
  t.match(
    shown.body,
    /<form method="post" action="\/auth\/connect\/acme\/link\?return_to=%2Fauth%2Faccount%2Fconnections">/
  )
  t.match(shown.body, /Connect Acme/)
  t.notMatch(shown.body, /name="current_password"/, 'the sign-in is fresh')
  const action = formAction(shown.body)
  const id = linkIdOf(linkTo('ann-1'))
  t.equal((await browser.submit(action, { link: id }, CROSS)).statusCode, 403)
  t.equal((await browser.submit(action, {})).statusCode, 400)
  t.equal((await test.users.listIdentities(test.id)).length, 2)
  const done = await browser.submit(action, { link: id })
  t.match(done, { statusCode: 303, headers: { location: `${PAGE}?done=unlinked` } })
  t.match((await browser.get(done.headers.location ?? '', SAME)).body, /The account is disconnected/)
  t.equal((await browser.submit(action, { link: id })).statusCode, 303, 'twice')
  t.equal((await browser.submit(action, { link: linkIdOf(linkTo('ann-2')) })).statusCode, 303, 'a password is left')
  t.match((await browser.get(PAGE)).body, /No account at another provider is connected yet/)
  const stranger = testBrowser(test.app)
  t.equal((await stranger.get(PAGE)).headers.location, `/auth/login?return_to=${encodeURIComponent(PAGE)}`)
})

t.test('answers 503 to a new link while its provider is down, and keeps the user signed in', async (t) => {
  const test = await scene(t, { subjects: [] })
  const browser = await browserOf(test)
  const [, action = ''] = /action="(\/auth\/connect\/acme\/link[^"]*)"/.exec((await browser.get(PAGE)).body) ?? []
  test.fake.down = true
  const reply = await browser.submit(action)
  t.match(reply, { statusCode: 503, headers: { 'retry-after': '5' } })
  t.match(test.payloads('connection_failed'), [{ connection: 'acme', reason: 'outage' }])
  t.equal((await browser.get(PAGE)).statusCode, 200, 'still signed in')
  test.fake.down = false
  t.match((await browser.submit(action)).statusCode, 200)
})

t.test('ignores an unlink form that was shown in another session', async (t) => {
  const test = await scene(t)
  const action = formAction((await (await browserOf(test)).get(PAGE)).body)
  const other = await browserOf(test)
  t.match((await other.submit(action, { link: linkIdOf(linkTo('ann-1')) })).headers.location, /done=nothing/)
  t.ok(await test.users.findByIdentity(linkTo('ann-1')))
})

t.test('ignores an unlink form that was shown to another user of the same browser', async (t) => {
  const test = await scene(t)
  const browser = await browserOf(test)
  const action = formAction((await browser.get(PAGE)).body)
  const { sub } = await signUp(test.app, 'bob@example.com')
  await test.users.linkIdentity(sub, linkTo('bob-1'))
  await browser.submit('/auth/login', { username: 'bob@example.com', password: PASSWORD })
  t.equal(await test.who(browser), sub)
  for (const subject of ['ann-1', 'bob-1']) {
    const reply = await browser.submit(action, { link: linkIdOf(linkTo(subject)) })
    t.match(reply.headers.location, /done=nothing/, subject)
    t.ok(await test.users.findByIdentity(linkTo(subject)), subject)
  }
})

t.test('asks for the password to unlink five minutes after the sign-in, and counts a wrong one', async (t) => {
  const test = await scene(t)
  const browser = await browserOf(test)
  test.clock.step(300_001)
  const shown = await browser.get(PAGE)
  t.match(shown.body, /name="current_password"/)
  const action = formAction(shown.body)
  const link = linkIdOf(linkTo('ann-1'))
  t.equal((await browser.submit(action, { link })).statusCode, 400)
  t.equal((await browser.submit(action, { link, current_password: 'not this one' })).statusCode, 400)
  t.equal(test.payloads('login_failed').length, 1)
  t.ok(await test.users.findByIdentity(linkTo('ann-1')))
  t.equal((await browser.submit(action, { link, current_password: PASSWORD })).statusCode, 303)
  t.equal(await test.users.findByIdentity(linkTo('ann-1')), null)
})

t.test(
  'lets a user without a password sign in again, keep the last way in, and get a link for a first password',
  async (t) => {
    const test = await scene(t, { password: false })
    t.equal((await test.through()).statusCode, 303)
    const { browser } = test
    t.equal(await test.who(), test.id)
    const action = formAction((await browser.get(PAGE)).body)
    const link = linkIdOf(linkTo('ann-1'))
    const last = await browser.submit(action, { link })
    t.equal(last.statusCode, 409)
    t.match(last.body, /This is your last way to sign in/)
    test.clock.step(300_001)
    const shown = await browser.get(PAGE)
    t.match(shown.body, /href="\/auth\/reauthenticate\?return_to=%2Fauth%2Faccount%2Fconnections"/)
    t.notMatch(shown.body, /name="link"/)
    t.equal((await browser.submit(action, { link })).statusCode, 401)

    const page = await browser.get('/auth/account/password')
    t.match(page.body, /Your account has no password/)
    t.notMatch(page.body, /name="(?:current_)?password"/)
    const sent = await browser.submit(formAction(page.body), { decision: 'first' })
    t.match(sent.headers.location, /done=password_link/)
    const { token } = await test.messages.next('password_reset')
    t.match(test.payloads('password_reset_requested'), [{ userId: test.id }])
    t.match(await browser.submit(formAction(page.body), { current_password: 'x', password: 'some new password' }), {
      statusCode: 400
    })
    t.equal(
      (
        await test.app.inject({
          method: 'POST',
          url: '/auth/password-reset/confirm',
          payload: { token, password: 'some new password' }
        })
      ).statusCode,
      204
    )
    t.same((await test.users.listIdentities(test.id)).length, 1, 'the link stays')
    const { access_token: fresh } = await signIn(test.app, 'ann@example.com', 'some new password')
    t.equal((await test.remove(link, fresh)).statusCode, 204, 'a password is left now')
  }
)

t.test('offers no password page to a user without an address, and sends no link', async (t) => {
  const test = await scene(t, { subjects: [] })
  test.fake.person = { subject: 'no-address' }
  await test.through()
  const userId = await test.who()
  t.not(userId, test.id)
  t.equal((await test.browser.get('/auth/account/password')).headers.location, '/auth/account')
  const action = formAction((await test.browser.get(PAGE)).body).replace(PAGE, '/auth/account/password')
  await test.browser.submit(action, { decision: 'first' })
  t.equal(test.payloads('password_reset_requested').length, 0)
})

t.test('sends no first-password link to a user who has a password', async (t) => {
  const test = await scene(t)
  const browser = await browserOf(test)
  const action = formAction((await browser.get('/auth/account/password')).body)
  t.equal((await browser.submit(action, { decision: 'first' })).statusCode, 303)
  t.equal(test.payloads('password_reset_requested').length, 0)
})

t.test('returns an error at POST /auth/password for a user without a password', async (t) => {
  const test = await scene(t, { password: false })
  const { access_token: token } = await test.app.authority.issueTokens(test.id)
  const reply = await test.app.inject({
    method: 'POST',
    url: '/auth/password',
    headers: bearer(token),
    payload: { current_password: 'x', new_password: 'some new password' }
  })
  t.equal(reply.statusCode, 400)
  t.match(reply.json(), { error: 'invalid_grant', error_description: /no password.*reset/ })
  t.equal(await test.app.authority.verifyPassword('ann@example.com', 'x'), null)
  await test.app.authority.changePassword(test.id, 'some new password')
  t.equal(await test.app.authority.verifyPassword('ann@example.com', 'some new password'), test.id)
})

t.test('removes an account without a password after a fresh sign-in, with its links', async (t) => {
  const test = await scene(t, { password: false })
  await test.through()
  const { access_token: token } = await test.app.authority.issueTokens(test.id)
  t.equal((await test.app.inject({ method: 'DELETE', url: '/auth/account', headers: bearer(token) })).statusCode, 204)
  t.equal(await test.users.findByIdentity(linkTo('ann-1')), null)
})
