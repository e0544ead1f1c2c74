/** A user who signs in at a provider and has a second factor here is asked for it too. */
import t from '../../support/tap.ts'
import { memoryFactorStore, memoryUserStore, renderMessage } from '../../../lib/index.ts'
import { testBrowser } from '../../support/browser.ts'
import { codeFor, enrol, logIn, signedInAnywhere } from '../../support/factors.ts'
import { giveSecondFactor } from '../../support/second-factor.ts'
import { signUp } from '../../support/app.ts'
import { connectApp } from '../../http/connect/support.ts'

// covers SF-01 BA-9552
t.test('begins no session after a sign-in at a provider until the second factor is given', async (t) => {
  const told: boolean[] = []
  const test = await connectApp(t, {
    factors: memoryFactorStore(),
    connection: {
      onSignIn: ({ isNew }) => {
        told.push(isNew)
      }
    }
  })
  t.equal((await test.through()).statusCode, 303)
  t.same(told, [true])
  const sub = await test.who()
  t.ok(sub)
  const { secret, codes } = await enrol(test, test.browser)
  test.clock.step(30_000)

  const browser = testBrowser(test.app)
  const asked = await test.through('?return_to=%2Fauth%2Faccount', browser)
  t.equal(asked.statusCode, 303)
  t.match(asked.headers.location, /^\/auth\/second-factor\?/)
  t.equal(await test.who(browser), null)
  t.strictSame(await signedInAnywhere(browser), [])
  t.same(told, [true], 'a host is told of nobody who is not signed in')
  const query = String(asked.headers.location).replace('/auth/second-factor', '')

  const wrong = await browser.submit(`/auth/second-factor${query}`, { code: '000000' })
  t.equal(wrong.statusCode, 400)
  t.equal(await test.who(browser), null)
  const done = await browser.submit(`/auth/second-factor${query}`, { code: codeFor(secret, test.clock.now()) })
  t.equal(done.statusCode, 303)
  t.equal(done.headers.location, '/auth/account', 'the journey goes on')
  t.equal(await test.who(browser), sub)
  t.match(test.payloads('authenticated').at(-1), {
    userId: sub,
    method: 'connection',
    connection: 'acme',
    methods: ['connection', 'otp']
  })

  // Both together are the full proof with which a user without a password can manage factors.
  const { headers } = await browser.get('/auth/security/totp')
  t.equal(headers.location, undefined, 'fresh enough')
  const recovery = testBrowser(test.app)
  const again = await test.through('', recovery)
  t.equal((await recovery.submit(String(again.headers.location), { recovery_code: codes[0] ?? '' })).statusCode, 303)
  t.equal(await test.who(recovery), sub)
})

t.test('rejects the second step of a provider sign-in after a reset of the factors', async (t) => {
  const test = await connectApp(t, { factors: memoryFactorStore() })
  await test.through()
  const sub = (await test.who()) ?? ''
  const { secret } = await enrol(test, test.browser)
  test.clock.step(30_000)
  const browser = testBrowser(test.app)
  const asked = await test.through('', browser)
  await test.app.authority.resetFactors(sub)
  const late = await browser.submit(String(asked.headers.location), { code: codeFor(secret, test.clock.now()) })
  t.match(late.headers.location, /^\/auth\/login/, 'the factors were reset meanwhile')
  t.equal(await test.who(browser), null)
})

t.test('rejects a provider sign-in while the factors of the user cannot be read', async (t) => {
  const store = memoryFactorStore()
  let isDown = false
  const test = await connectApp(t, {
    factors: {
      ...store,
      findFactors: async (userId) => {
        if (isDown) throw Object.assign(new Error('gone'), { code: 'ECONNREFUSED' })
        return await store.findFactors(userId)
      }
    }
  })
  await test.through()
  const browser = testBrowser(test.app)
  isDown = true
  const reply = await test.through('', browser)
  t.equal(reply.statusCode, 503)
  isDown = false
  t.equal(await test.who(browser), null)
})

t.test('answers 503 to linking while the factor store is down, and asks for no new sign-in', async (t) => {
  const store = memoryFactorStore()
  let isDown = false
  const test = await connectApp(t, {
    factors: {
      ...store,
      findFactors: async (userId) => {
        if (isDown) throw Object.assign(new Error('gone'), { code: 'ECONNREFUSED' })
        return await store.findFactors(userId)
      }
    }
  })
  await signUp(test.app)
  await logIn(test.browser)
  isDown = true
  const reply = await test.browser.submit('/auth/connect/acme/link', {})
  t.equal(reply.statusCode, 503)
  t.equal(reply.headers.location, undefined)
  isDown = false
  t.equal((await test.browser.submit('/auth/connect/acme/link', {})).statusCode, 200)
})

t.test('keeps the app, but removes the password and links, when a connection takes over an account', async (t) => {
  const users = memoryUserStore()
  const test = await connectApp(t, {
    users,
    factors: memoryFactorStore(),
    connection: { domains: ['example.com'], enforce: true }
  })
  const ann = { username: 'ann@example.com', email: 'ann@example.com', emailVerified: true }
  const { id: sub } = await users.create({ ...ann, passwordHash: 'the hash of a password' })
  const { give } = await giveSecondFactor(test, sub)
  const old = { issuer: 'https://old.example', subject: 'x', connection: 'old', linkedAt: 0, lastUsedAt: 0 }
  await users.linkIdentity(sub, old)
  const before = (await users.findById(sub))?.passwordHash
  test.fake.person = { subject: 'ann-1', email: 'ann@example.com', emailAuthoritative: true }
  await test.through()
  t.equal(await test.who(), null)
  t.equal((await users.findById(sub))?.passwordHash, before)
  await give(test.browser)
  t.equal(await test.who(), sub)
  t.match(await users.listIdentities(sub), [{ subject: 'ann-1', connection: 'acme' }])
  t.equal((await users.listIdentities(sub)).length, 1, 'the other link is gone')
  t.not((await users.findById(sub))?.passwordHash, before, 'and the password')
  t.equal((await test.app.authority.factors(sub)).factors.length, 1, 'the app stays')
  const message = await test.messages.next('identity_linked')
  t.match(message, { user: { email: 'ann@example.com' }, tookOver: true })
  t.match(renderMessage(message, { title: '' }).text, /sign in only through it[^]*An authenticator app stays/)
})
