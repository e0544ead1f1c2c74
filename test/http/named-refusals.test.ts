/** What a log or an answer names, so that a developer need not guess. */
import t from '../support/tap.ts'
import { memoryUserStore } from '../../lib/index.ts'
import { PASSWORD, testApp } from '../support/app.ts'
import { logLines } from '../support/log-lines.ts'
import { openidApp } from '../support/openid.ts'

t.test('names the call of a store that failed, and what it threw', async (t) => {
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

t.test('names the grant type and the content type that it refuses, and those that it takes', async (t) => {
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
    /^The grant type 'implicit' is not supported here\. There are: password, authorization_code, refresh_token/
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
