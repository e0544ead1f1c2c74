/** Logs and answers name the cause, so that a developer need not guess. */
import t from '../support/tap.ts'
import { memoryFactorStore, memoryUserStore } from '../../lib/index.ts'
import { PASSWORD, testApp } from '../support/app.ts'
import { logLines } from '../support/log-lines.ts'
import { openidApp } from '../support/openid.ts'

t.test('names the store call that failed, and its error', async (t) => {
  const lines = logLines()
  const users = memoryUserStore()
  const { app, close } = await testApp(
    {
      users: {
        ...users,
        async create() {
          throw new Error('column "nickname" does not exist')
        }
      }
    },
    { logger: { level: 'error', stream: lines.stream } }
  )
  t.teardown(close)
  const payload = { username: 'ann@example.com', password: PASSWORD }
  t.equal((await app.inject({ method: 'POST', url: '/auth/register', payload })).statusCode, 503)
  t.match(lines.lines, [
    {
      code: 'FST_AUTHORITY_UNAVAILABLE',
      msg: /users\.create failed\./,
      err: { message: 'column "nickname" does not exist' }
    }
  ])
})

t.test('names the grant type or the content type that it rejects, and the supported ones', async (t) => {
  const { app, close } = await openidApp()
  t.teardown(close)
  const ask = async (url: string, type: string, payload: string): Promise<[number, unknown]> => {
    const reply = await app.inject({ method: 'POST', url, headers: { 'content-type': type }, payload })
    return [reply.statusCode, reply.json<{ error_description: string }>().error_description]
  }
  const json = 'application/json'
  const form = 'application/x-www-form-urlencoded'
  t.match(await ask('/auth/token', json, '{"grant_type":"implicit"}'), [
    400,
    /^The grant type is not supported here\. There are: password, authorization_code, refresh_token/
  ])
  t.strictSame(await ask('/auth/token', 'text/plain', 'x'), [
    415,
    `The content type 'text/plain' is not supported here: send ${json} or ${form}.`
  ])
  t.strictSame(await ask('/auth/register', form, 'x=1'), [
    415,
    `The content type '${form}' is not supported here: send ${json}.`
  ])
})

t.test('names missing and unknown fields of a body, and the accepted fields', async (t) => {
  const { app, close } = await testApp({ rateLimit: false })
  t.teardown(close)
  const register = async (payload: object): Promise<unknown> =>
    (await app.inject({ method: 'POST', url: '/auth/register', payload })).json<{ error_description: string }>()
      .error_description
  t.equal(await register({ password: PASSWORD }), 'username: it is required.')
  t.equal(
    await register({ username: 'ann', password: PASSWORD, nick: 'x' }),
    'nick: there is no such field. There are: username, password.'
  )
  const refreshed = await app.inject({ method: 'POST', url: '/auth/refresh', payload: { refresh_token: 'x' } })
  t.equal(refreshed.statusCode, 401)
  t.match(refreshed.json(), { error_description: /Send the refresh token as Authorization: Bearer/ })
})

t.test('app.authority names the value it got for an id, a token or an event', async (t) => {
  const { app, close } = await testApp({ factors: memoryFactorStore() })
  t.teardown(close)
  const { authority } = app
  const nothing = undefined as unknown as string
  const user = { id: '1' } as unknown as string
  const calls: Array<() => Promise<unknown>> = [
    async () => await authority.issueTokens(user),
    async () => {
      await authority.revokeUser(user)
    },
    async () => await authority.sessions(user),
    async () => await authority.revokeSession(user, 's'),
    async () => await authority.consents(user),
    async () => await authority.revokeConsent(user, 'web'),
    async () => await authority.identities(user),
    async () => await authority.linkIdentity(user, { issuer: 'https://sso.example', subject: '1', connection: 'sso' }),
    async () => await authority.unlinkIdentity(user, 'l'),
    async () => {
      await authority.changePassword(user, PASSWORD)
    },
    async () => {
      await authority.startPasswordReset(user)
    },
    async () => await authority.factors(user),
    async () => {
      await authority.forgetDevices(user)
    },
    async () => await authority.deleteUser(user)
  ]
  for (const call of calls)
    await t.rejects(call() as Promise<void>, {
      name: 'TypeError',
      message: 'takes the id of a user, such as user.id, and got an object.'
    })
  await t.rejects(authority.revokeUser(nothing), { message: /and got nothing\.$/ })
  await t.rejects(authority.verify(nothing), { statusCode: 401, message: /app\.authority\.verify got none/ })
  await t.rejects(authority.verify('Bearer x'), { statusCode: 401, message: /the token without its scheme/ })
  t.throws(() => {
    authority.on('login' as 'authenticated', () => {})
  }, /There is no event "login"\. There are: .*authenticated/)
})
