/** Requests with a current password from a user who has none. */
import t from '../support/tap.ts'
import { memoryUserStore } from '../../lib/index.ts'
import { bearer, PASSWORD, testApp } from '../support/app.ts'

t.test('answers invalid_grant with the reason when a user without a password sends a current password', async (t) => {
  const users = memoryUserStore([{ id: 'ann', username: 'ann', email: 'ann@example.com', passwordHash: null }])
  const test = await testApp({ users })
  t.teardown(test.close)
  const { access_token: token } = await test.app.authority.issueTokens('ann')
  for (const [method, url, payload] of [
    ['POST', '/auth/password', { current_password: PASSWORD, new_password: `${PASSWORD} again` }],
    ['POST', '/auth/email', { email: 'new@example.com', password: PASSWORD }],
    ['DELETE', '/auth/account', { password: PASSWORD }]
  ] as const) {
    const reply = await test.app.inject({ method, url, headers: bearer(token), payload })
    t.equal(reply.statusCode, 400, url)
    t.match(reply.json(), { error: 'invalid_grant', error_description: /^The account has no password\./ }, url)
    t.match(test.events.at(-1), { name: 'login_failed', payload: { reason: 'no_password', username: 'ann' } }, url)
  }
})
