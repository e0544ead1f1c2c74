/** The first step of a rolling update that turns second factors on. */
import t from '../../support/tap.ts'
import { memoryFactorStore, memoryUserStore } from '../../../lib/index.ts'
import { testApp } from '../../support/app.ts'
import { testBrowser } from '../../support/browser.ts'
import { factorApp, logIn } from '../../support/factors.ts'

t.test('asks for the factors that there are, and lets nobody set one up, without methods', async (t) => {
  const shared = {
    users: memoryUserStore(),
    factors: memoryFactorStore(),
    secret: 'the secret of both, of 32 bytes or more'
  }
  await factorApp(t, shared)
  const { app, close } = await testApp({ ...shared, mfa: { methods: [] } })
  t.teardown(close)
  const ann = testBrowser(app)
  t.equal((await logIn(ann)).headers.location, '/auth/second-factor')
  await app.inject({
    method: 'POST',
    url: '/auth/register',
    payload: { username: 'bob', password: 'a password of bob that is long' }
  })
  const bob = testBrowser(app)
  t.equal((await logIn(bob, 'bob', 'a password of bob that is long')).statusCode, 303)
  t.equal((await bob.get('/auth/security')).statusCode, 200)
  t.equal((await bob.get('/auth/security/totp')).statusCode, 404)
})
