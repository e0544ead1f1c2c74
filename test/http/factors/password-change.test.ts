/** The current password alone does not change the password of an account with a second factor. */
import t from '../../support/tap.ts'
import { memoryFactorStore, memoryUserStore } from '../../../lib/index.ts'
import { authAs, sessionAs } from '../../../lib/testing/index.ts'
import { PASSWORD, signIn, signUp, testApp } from '../../support/app.ts'
import { giveSecondFactor } from '../../support/second-factor.ts'

const NEXT = 'staple and a new one'

t.test('requires a fresh sign-in with the second factor for a change of the password', async (t) => {
  const users = memoryUserStore()
  const test = await testApp({
    users,
    factors: memoryFactorStore(),
    secret: 'a secret of at least 32 characters, for this test'
  })
  t.teardown(test.close)
  const { app } = test
  const { sub: id } = await signUp(app, 'ann@example.com')
  const change = async (headers: Record<string, string>) =>
    await app.inject({
      method: 'POST',
      url: '/auth/password',
      headers,
      payload: { current_password: PASSWORD, new_password: NEXT }
    })
  await users.setEmailVerified(id, 'ann@example.com')
  await giveSecondFactor(test, id)
  const refused = await change(await authAs(app, { id }, { acr: 'password' }))
  t.equal(refused.statusCode, 401)
  t.equal(refused.json().error, 'insufficient_user_authentication')
  const cookie = await sessionAs(app, { id }, { acr: 'password' })
  const page = await app.inject({ url: '/auth/account/password', headers: { ...cookie, 'sec-fetch-site': 'none' } })
  t.notMatch(page.body, /name="current_password"/, 'the page leads to the sign-in first')
  t.equal((await change(await authAs(app, { id }, { acr: 'mfa' }))).statusCode, 204)
})

t.test('accepts the current password alone if the user has no second factor', async (t) => {
  const test = await testApp({ users: memoryUserStore() })
  t.teardown(test.close)
  await signUp(test.app, 'ann@example.com')
  const { access_token: token } = await signIn(test.app, 'ann@example.com')
  const reply = await test.app.inject({
    method: 'POST',
    url: '/auth/password',
    headers: { authorization: `Bearer ${token}` },
    payload: { current_password: PASSWORD, new_password: NEXT }
  })
  t.equal(reply.statusCode, 204)
})
