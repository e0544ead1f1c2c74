/** Browsers send a host's cookies to all of its ports. Two services there neither read nor overwrite each other's. */
import t from '../support/tap.ts'
import { memoryFactorStore, memoryUserStore } from '../../lib/index.ts'
import { PASSWORD, testApp } from '../support/app.ts'
import { testBrowser } from '../support/browser.ts'
import { cookieName } from '../support/cookies.ts'
import { codeFor, enrol, formOf, logIn, unsealed } from '../support/factors.ts'

const SECRET = 'one secret of two services, of 32 bytes or more'
const [A, B] = ['http://localhost:3000', 'http://localhost:3001']
const KINDS = ['session', 'device', 'trusted', 'step'] as const

t.test('keeps a user signed in to one service after sign-in to another on the same host', async (t) => {
  const services = [await testApp({ issuer: A }), await testApp({ issuer: B })]
  for (const { close } of services) t.teardown(close)
  const [a, b] = services.map(({ app }, index) => testBrowser(app, index === 0 ? A : B))
  if (a === undefined || b === undefined) throw new Error('two of them')
  Object.assign(b, { cookies: a.cookies })
  for (const { app } of services)
    await app.inject({ method: 'POST', url: '/auth/register', payload: { username: 'ann', password: PASSWORD } })
  const jar = new Map<string, string>()
  for (const browser of [a, b]) {
    for (const [name, value] of jar) browser.cookies.set(name, value)
    t.equal((await browser.submit('/auth/login', { username: 'ann', password: PASSWORD })).statusCode, 303)
    for (const [name, value] of browser.cookies) jar.set(name, value)
  }
  for (const browser of [a, b]) {
    for (const [name, value] of jar) browser.cookies.set(name, value)
    t.equal((await browser.get('/auth/account')).statusCode, 200)
  }
})

t.test('rejects the cookies of another service with the same secret and users', async (t) => {
  const users = memoryUserStore()
  const factors = unsealed(memoryFactorStore())
  const options = { users, factors, secret: SECRET, mfa: { rememberDevice: {} } }
  const [a, b] = [await testApp({ ...options, issuer: A }), await testApp({ ...options, issuer: B })]
  for (const { close } of [a, b]) t.teardown(close)
  await a.app.inject({ method: 'POST', url: '/auth/register', payload: { username: 'ann', password: PASSWORD } })
  const atA = testBrowser(a.app, A)
  await logIn(atA)
  const { secret } = await enrol(a, atA)
  a.clock.step(30_000)
  const person = testBrowser(a.app, A)
  await logIn(person)
  const step = person.cookies.get(cookieName('step', A)) ?? ''
  const page = formOf((await person.get('/auth/second-factor')).body)
  const done = await person.submit(page.action, { code: codeFor(secret, a.clock.now()), remember: 'on' })
  t.equal(done.statusCode, 303)
  const given = new Map([...person.cookies, [cookieName('step', A), step]])
  // Unchanged, and under the other service's cookie names.
  for (const rename of [false, true]) {
    const thief = testBrowser(b.app, B)
    for (const kind of KINDS) {
      const value = given.get(cookieName(kind, A))
      t.ok(value, kind)
      thief.cookies.set(cookieName(kind, rename ? B : A), value ?? '')
    }
    t.match((await thief.get('/auth/account')).headers.location, /^\/auth\/login/, 'session')
    t.match((await thief.get('/auth/second-factor')).headers.location, /^\/auth\/login/, 'step')
    thief.cookies.delete(cookieName('step', B))
    const reply = await logIn(thief)
    t.match(reply.headers.location, /^\/auth\/second-factor/, 'the browser is remembered at the other service alone')
  }
})
