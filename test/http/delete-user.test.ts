/** `app.authority.deleteUser`, and the administrator that a host names for a reset of a user's factors. */
import t from '../support/tap.ts'
import { memoryFactorStore, memoryState, memoryUserStore } from '../../lib/index.ts'
import { delayed } from '../../lib/testing/index.ts'
import { bearer, signIn, signUp, testApp, type TestApp } from '../support/app.ts'
import { testBrowser } from '../support/browser.ts'
import { logIn } from '../support/factors.ts'
import { giveSecondFactor, secondFactorOf } from '../support/second-factor.ts'

/** The refusal of a removal that comes after another one. */
const notFound = (error: { error?: string }): void => {
  if (error.error !== 'not_found') throw error as Error
}

const own = async (app: TestApp['app'], token: string) =>
  await app.inject({ method: 'DELETE', url: '/auth/account', headers: bearer(token) })

t.test('deleteUser removes an account with its sessions, tokens and second factors', async (t) => {
  const factors = memoryFactorStore()
  const users = memoryUserStore()
  const test = await testApp({ factors, users })
  const { app, events, messages } = test
  t.teardown(test.close)
  const { sub } = await signUp(app, 'ann@example.com')
  await users.setEmailVerified?.(sub, 'ann@example.com')
  await signUp(app, 'bob')
  const browser = testBrowser(app)
  await logIn(browser, 'ann@example.com')
  const tokens = await signIn(app, 'ann@example.com')
  const bob = await signIn(app, 'bob')
  await secondFactorOf(test, browser)
  events.length = 0
  t.equal(await app.authority.deleteUser(sub), true)
  t.match(events.find(({ name }) => name === 'account_removed')?.payload, { userId: sub, sid: null })
  t.match(await messages.next('account_removed'), { by: 'host', user: { email: 'ann@example.com' } })
  t.same(await app.authority.sessions(sub), [])
  t.match(await factors.findFactors(sub), { totp: [], passkeys: [], recoveryCodesLeft: 0 })
  t.equal((await app.inject({ url: '/me', headers: bearer(tokens.access_token) })).statusCode, 401)
  t.equal(
    (await app.inject({ method: 'POST', url: '/auth/refresh', headers: bearer(tokens.refresh_token) })).statusCode,
    401
  )
  t.match((await logIn(testBrowser(app), 'ann@example.com')).statusCode, 400)
  t.equal(
    (await app.inject({ url: '/me', headers: bearer(bob.access_token) })).statusCode,
    200,
    'nobody else is touched'
  )
  events.length = 0
  t.equal(await app.authority.deleteUser(sub), false, 'a repeat finds nobody')
  t.same(events, [])
  t.equal(await app.authority.deleteUser('nobody\0at all'), false)
})

t.test('reports one removal for ten parallel requests of the host, of administrators and of the user', async (t) => {
  const ways: Record<string, (test: TestApp, sub: string, token: string) => Promise<unknown>> = {
    deleteUser: async ({ app }, sub) => await app.authority.deleteUser(sub),
    'users.remove': async ({ app }, sub) => await app.authority.users.remove(sub).catch(notFound),
    'DELETE /auth/account': async ({ app }, _sub, token) => await own(app, token),
    'all at once': async ({ app }, sub, token) =>
      await Promise.all([
        app.authority.deleteUser(sub),
        app.authority.users.remove(sub).catch(notFound),
        own(app, token)
      ])
  }
  for (const [way, remove] of Object.entries(ways)) {
    const test = await testApp({ users: delayed(memoryUserStore()), state: delayed(memoryState()) })
    t.teardown(test.close)
    const { sub } = await signUp(test.app, 'ann@example.com')
    const { access_token: token } = await signIn(test.app, 'ann@example.com')
    await Promise.all(Array.from({ length: 10 }, async () => await remove(test, sub, token)))
    await test.messages.next('account_removed')
    t.equal(await test.app.authority.deleteUser(sub), false, way)
    t.equal(test.events.filter(({ name }) => name === 'account_removed').length, 1, way)
    t.equal(test.messages.messages.filter(({ kind }) => kind === 'account_removed').length, 1, way)
  }
})

// covers SS-06
t.test('removes the second factors at the next deleteUser call after the factor store failed', async (t) => {
  const factors = memoryFactorStore()
  let isDown = true
  const { app, close } = await testApp({
    factors: new Proxy(factors, {
      get: (target, name, receiver) =>
        name === 'removeFactorsOfUser' && isDown
          ? async () => {
              throw new Error('down')
            }
          : (Reflect.get(target, name, receiver) as unknown)
    })
  })
  t.teardown(close)
  const { sub } = await signUp(app)
  await factors.replaceRecoveryCodes(sub, [])
  await factors.addTotp({
    userId: sub,
    limit: 10,
    factor: {
      id: 'app',
      sealedSecret: 'x',
      lastStep: 0,
      failures: 0,
      knownFailures: 0,
      disabled: false,
      name: null,
      createdAt: 0,
      lastUsedAt: null,
      provisional: true
    }
  })
  t.equal(await app.authority.deleteUser(sub), true, 'the user is gone')
  t.equal((await factors.findFactors(sub)).totp.length, 1)
  isDown = false
  t.equal(await app.authority.deleteUser(sub), false)
  t.equal((await factors.findFactors(sub)).totp.length, 0)
})

t.test('keeps the account when the user store does not support removal', async (t) => {
  const { remove: _, ...users } = memoryUserStore()
  const { app, close } = await testApp({ users })
  t.teardown(close)
  const { sub } = await signUp(app)
  const tokens = await signIn(app)
  await t.rejects(app.authority.deleteUser(sub), { name: 'OAuthError', error: 'server_error' } as unknown as Error)
  t.equal((await app.inject({ url: '/me', headers: bearer(tokens.access_token) })).statusCode, 200)
})

t.test('names the admin of the host in the events of a reset and a removal, and rejects an invalid name', async (t) => {
  const test = await testApp({ factors: memoryFactorStore() })
  const { app, events } = test
  t.teardown(test.close)
  const { sub } = await signUp(app)
  const resetApp = async (options: { by: string | undefined }) => {
    await giveSecondFactor(test, sub)
    await app.authority.resetFactors(sub, options)
    // The event of a sent message may come after it.
    return events.findLast(({ name }) => name === 'factor_removed')
  }
  t.match(await resetApp({ by: 'admin-7' }), {
    name: 'factor_removed',
    payload: { userId: sub, factorId: null, by: 'host', admin: 'admin-7' }
  })
  t.notOk('admin' in ((await resetApp({ by: undefined }))?.payload ?? {}))
  t.equal(events.filter(({ name }) => name === 'factor_removed').length, 2)
  for (const odd of [
    { by: 5 },
    { by: '' },
    { by: 'x'.repeat(129) },
    { by: 'a\0b' },
    { admin: 'admin-7' },
    { by: null }
  ] as unknown as Array<{ by: string }>) {
    await t.rejects(app.authority.resetFactors(sub, odd), TypeError)
    await t.rejects(app.authority.deleteUser(sub, odd), TypeError)
  }
  t.equal(await app.authority.deleteUser(sub, { by: 'admin-7' }), true)
  t.match(
    events.find(({ name }) => name === 'account_removed'),
    { payload: { admin: 'admin-7' } }
  )
})
