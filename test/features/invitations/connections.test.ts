/** An invitation that a person accepts by an account at another provider. */
import t, { type Test } from '../../support/tap.ts'
import { type AuthorityOptions, memoryUserStore } from '../../../lib/index.ts'
import { signIn } from '../../support/app.ts'
import { testBrowser } from '../../support/browser.ts'
import { fakeConnection, fakeUpstream, PROVIDER } from '../../support/fake-upstream.ts'
import { connectApp } from '../../http/connect/support.ts'
import { BOB, PAGE, PASSWORD, visitor } from './support.ts'

const OTHER = 'https://other.example.com'

/** An app that has invited Bob. The provider signs in `person`. */
async function scene(
  t: Test,
  person: Parameters<typeof fakeUpstream>[0] = { subject: 'bob-1', email: BOB },
  connection: Parameters<typeof fakeConnection>[1] = { linking: 'never', registration: false },
  options: Partial<AuthorityOptions> = {}
) {
  const users = memoryUserStore()
  const fake = fakeUpstream(person)
  const other = fakeUpstream({ subject: 'bob-2', issuer: OTHER, email: BOB })
  const test = await connectApp(t, {
    users,
    fake,
    registration: false,
    connections: [
      fakeConnection(fake, connection),
      fakeConnection(other, { id: 'other', name: 'Other', issuer: OTHER })
    ],
    ...options
  })
  const manage = test.app.authority.users
  const { id } = await manage.create({ username: BOB, email: BOB, invite: true })
  const { token } = await test.messages.next('invitation')
  const { open } = visitor(test.app)
  const through = async (browser = testBrowser(test.app), by = 'acme', invitation = token) => {
    const { state } = await test.start(`?invitation=${invitation}`, browser, by)
    return { browser, reply: await test.back(state, { code: 'good' }, browser, by) }
  }
  test.events.length = 0
  return { ...test, store: users, users: manage, id, token, open, through }
}

t.test('links the identity and confirms the address by an invitation, and signs nobody in', async (t) => {
  const test = await scene(t)
  const page = await test.open(test.token)
  t.match(page.body, `/auth/connect/acme?invitation=${test.token}`)
  const { browser, reply } = await test.through()
  t.equal(reply.headers.location, `${PAGE}?done=accepted`)
  const { reply: done } = await browser.follow(reply)
  t.match(done.body, /Your account is ready/)
  t.equal(await test.who(browser), null, 'nobody is signed in')
  t.match(await test.users.get(test.id), { hasPassword: false, emailVerified: true })
  t.match(test.payloads('invitation_accepted'), [{ userId: test.id, connection: 'acme' }])
  const [link] = (await test.store.listIdentities?.(test.id)) ?? []
  t.match(link, { connection: 'acme', subject: 'bob-1' })
  t.notOk(link?.provisional, 'a later proof of the address does not end it')
  t.notMatch(JSON.stringify(test.events) + test.lines.join(''), new RegExp(test.token))

  await test.through(browser)
  t.equal((await test.open(test.token)).statusCode, 200, 'the link says that it is done')
  t.equal(test.payloads('invitation_accepted').length, 1)
  const signedIn = testBrowser(test.app)
  await test.through(signedIn, 'acme', '')
  t.equal(await test.who(signedIn), test.id, 'the identity now signs in')
})

t.test('accepts only an identity with the invited, verified address, and keeps the link valid otherwise', async (t) => {
  for (const [name, person] of [
    ['another address', { subject: 'eve-1', email: 'eve@example.com' }],
    ['an address that is not verified', { subject: 'eve-1' }],
    ['a longer address', { subject: 'eve-1', email: `${BOB}.evil.example` }],
    ['the address with a tag', { subject: 'eve-1', email: 'bob+1@example.com' }]
  ] as const) {
    const test = await scene(t, person)
    const { reply, browser } = await test.through()
    t.equal(reply.statusCode, 403, name)
    t.match(reply.body, `${PAGE}?token=${test.token}`, 'and leads back to the invitation')
    t.equal(await test.who(browser), null, name)
    t.match(await test.users.get(test.id), { emailVerified: false }, name)
    t.strictSame(await test.store.listIdentities?.(test.id), [], name)
    test.fake.person = { subject: 'bob-1', email: 'Bob@Example.com' }
    t.equal((await test.through()).reply.headers.location, `${PAGE}?done=accepted`, name)
  }
})

t.test('accepts one of 50 parallel attempts by password and by connection', async (t) => {
  const test = await scene(t)
  const begun = await Promise.all(
    Array.from({ length: 25 }, async () => {
      const browser = testBrowser(test.app)
      return { browser, state: (await test.start(`?invitation=${test.token}`, browser)).state }
    })
  )
  const replies = await Promise.all([
    ...begun.map(async ({ browser, state }) => await test.back(state, { code: 'good' }, browser)),
    ...Array.from({ length: 25 }, async () => await visitor(test.app).accept(test.token))
  ])
  t.equal(replies.filter(({ headers }) => headers.location === `${PAGE}?done=accepted`).length, 1)
  t.equal(test.payloads('invitation_accepted').length, 1)
})

t.test('starts a sign-in at the provider only from its own pages, and accepts its callback once', async (t) => {
  const test = await scene(t)
  const browser = testBrowser(test.app)
  const foreign = await browser.get(`/auth/connect/acme?invitation=${test.token}`, { 'sec-fetch-site': 'cross-site' })
  t.equal(foreign.headers.location, `${PAGE}?token=${test.token}`)
  const { state } = await test.start(`?invitation=${test.token}`, browser)
  const cookies = new Map(browser.cookies)
  await test.back(state, { code: 'good' }, browser)
  const copy = testBrowser(test.app)
  for (const [name, value] of cookies) copy.cookies.set(name, value)
  t.equal((await test.back(state, { code: 'good' }, copy)).statusCode, 400)
})

t.test('rejects an invitation by an identity that is linked to another user', async (t) => {
  const test = await scene(t)
  const eve = await test.users.create({ username: 'eve' })
  await test.store.linkIdentity?.(eve.id, {
    issuer: PROVIDER,
    subject: 'bob-1',
    connection: 'acme',
    linkedAt: 0,
    lastUsedAt: 0
  })
  t.equal((await test.through()).reply.statusCode, 403)
  t.match(await test.users.get(test.id), { emailVerified: false })
})

t.test('shows an error page for an invalid or replaced invitation token, and links nothing', async (t) => {
  const test = await scene(t)
  await test.users.invite(test.id)
  for (const bad of [test.token, 'x', 'x'.repeat(59)]) {
    const { browser, reply } = await test.through(undefined, 'acme', bad)
    t.equal((await browser.follow(reply)).reply.statusCode, 400, bad.slice(0, 5))
  }
  t.strictSame(await test.store.listIdentities?.(test.id), [])
})

t.test('accepts an invitation to an address of an enforced connection only through that connection', async (t) => {
  const test = await scene(t, undefined, { domains: ['example.com'], enforce: true })
  const page = await test.open(test.token)
  t.match(page.body, /connect\/acme/)
  t.notMatch(page.body, /connect\/other|type="password"/)
  t.equal((await visitor(test.app).accept(test.token)).statusCode, 403)
  t.equal((await test.through(undefined, 'other')).reply.statusCode, 403)
  t.match(await test.users.get(test.id), { hasPassword: false, emailVerified: false })
  t.equal((await test.through()).reply.headers.location, `${PAGE}?done=accepted`)
  await t.rejects(signIn(test.app, BOB, PASSWORD))
})

t.test('offers no connection that is limited to other domains on the invitation page', async (t) => {
  const test = await scene(t, undefined, { domains: ['corp.example'] })
  const page = await test.open(test.token)
  t.match(page.body, /connect\/other[^]*type="password"|type="password"[^]*connect\/other/)
  t.notMatch(page.body, /connect\/acme/)
  t.equal((await test.through()).reply.statusCode, 403)
})

t.test('removes identity links that a stranger added to the invited account before', async (t) => {
  const test = await scene(t)
  await test.store.linkIdentity?.(test.id, {
    issuer: OTHER,
    subject: 'stranger',
    connection: 'other',
    linkedAt: 0,
    lastUsedAt: 0,
    provisional: true
  })
  await test.through()
  t.match(await test.store.listIdentities?.(test.id), [{ subject: 'bob-1' }])
})
