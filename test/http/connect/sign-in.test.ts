import { cookieName } from '../../support/cookies.ts'
import t from '../../support/tap.ts'
import { memoryUserStore } from '../../../lib/index.ts'
import { PASSWORD, signUp } from '../../support/app.ts'
import { testBrowser } from '../../support/browser.ts'
import { fakeUpstream } from '../../support/fake-upstream.ts'
import { settled } from '../../support/settled.ts'
import { connectApp } from './support.ts'

t.test('registers a provider user with the verified address, signs them in, and redirects to return_to', async (t) => {
  const users = memoryUserStore()
  const test = await connectApp(t, { users })
  const { reply, state } = await test.start('?return_to=/cart')
  t.equal(reply.statusCode, 303)
  t.match(
    reply.headers['set-cookie']?.[0],
    /^authority_flow_[\w-]{8}_[\w-]{8}=o[0-9a-z]{8}\.[\w-]{22}\.v1\.[^;]+; Max-Age=600; Path=\/; HttpOnly; SameSite=Lax$/
  )
  t.match(test.fake.begun[0]?.flow, { redirectUri: 'http://localhost:3000/auth/connect/acme/callback', state })
  const back = await test.back(state)
  t.equal(back.statusCode, 303, back.body)
  t.equal(back.headers.location, '/cart')
  t.equal([...test.browser.cookies.keys()].filter((name) => /flow|answer/.test(name)).length, 0)
  const user = await users.findByUsername('ann@example.com')
  t.match(user, { username: 'ann@example.com', passwordHash: null, email: 'ann@example.com', emailVerified: true })
  t.equal(await test.who(), user?.id)
  t.match(test.payloads('registered'), [{ userId: user?.id }])
  t.match(test.payloads('authenticated'), [
    { userId: user?.id, method: 'connection', connection: 'acme', clientId: null }
  ])
  t.match(await users.listIdentities(user?.id ?? ''), [
    { issuer: 'https://sso.example.com', subject: 'ann-1', connection: 'acme', email: 'ann@example.com' }
  ])
})

t.test('writes the use of a link at a later sign-in, and not for a new user', async (t) => {
  const store = memoryUserStore()
  const used: string[] = []
  const users = {
    ...store,
    useIdentity: async (...[identity, ...rest]: Parameters<typeof store.useIdentity>) => {
      used.push(identity.subject)
      await store.useIdentity(identity, ...rest)
    }
  }
  const test = await connectApp(t, { users })
  await test.through()
  await settled()
  t.strictSame(used, [])
  await test.through('', testBrowser(test.app))
  await settled()
  t.strictSame(used, ['ann-1'])
})

t.test('signs in the same user when the identity returns with another email address', async (t) => {
  const test = await connectApp(t)
  await test.through()
  const first = await test.who()
  test.fake.person = { subject: 'ann-1', email: 'else@example.com' }
  const other = testBrowser(test.app)
  t.equal((await test.through('', other)).statusCode, 303)
  t.equal(await test.who(other), first)
  t.equal(test.payloads('registered').length, 1)
})

t.test('generates a username if the provider sends no verified address', async (t) => {
  const users = memoryUserStore()
  const test = await connectApp(t, { users, fake: fakeUpstream({ subject: 'ann-1' }) })
  await test.through()
  const [registered] = test.payloads('registered')
  t.match(registered?.username, /^acme-[a-z0-9_-]{8}$/)
  t.notOk(Object.hasOwn((await users.findByUsername(String(registered?.username))) ?? {}, 'email'))
})

t.test('asks the owner of an account with the same address to sign in, then links', async (t) => {
  const users = memoryUserStore()
  const test = await connectApp(t, { users })
  const { sub } = await signUp(test.app, 'ann@example.com')
  const reply = await test.through('?return_to=/cart')
  t.equal(reply.headers.location, '/auth/connect/confirm')
  t.equal(await test.who(), null)
  t.match(test.payloads('link_required'), [{ connection: 'acme', userId: sub }])
  const page = await test.browser.get('/auth/connect/confirm')
  t.equal(page.statusCode, 200)
  t.match(page.body, 'You already have an account')
  const [, signInUrl = ''] = /class="actions"><a href="([^"]+)"/.exec(page.body) ?? []
  t.match(
    signInUrl,
    '/auth/login?return_to=%2Fauth%2Fconnect%2Fconfirm&amp;prompt=login&amp;login_hint=ann%40example.com'
  )
  const early = await test.browser.submit('/auth/connect/confirm', { decision: 'link' })
  t.match(early.body, 'You already have an account', 'nobody links who has not signed in')
  const signedIn = await test.browser.submit(signInUrl.replaceAll('&amp;', '&'), {
    username: 'ann@example.com',
    password: PASSWORD
  })
  t.equal(signedIn.headers.location, '/auth/connect/confirm')
  t.match((await test.browser.get('/auth/connect/confirm')).body, 'Connect Acme?')
  t.strictSame(await users.listIdentities(sub), [], 'a GET links nothing')
  const linked = await test.browser.submit('/auth/connect/confirm', { decision: 'link' })
  t.equal(linked.headers.location, '/cart')
  t.match(await users.listIdentities(sub), [{ subject: 'ann-1' }])
  t.notOk(test.browser.cookies.has(cookieName('link')))
  const other = testBrowser(test.app)
  await test.through('', other)
  t.equal(await test.who(other), sub)
})
