/** Facts about a request in events are bounded for any input. A sign-up on the page is reported like a sign-in. */
import t from '../support/tap.ts'
import { PASSWORD, testApp } from '../support/app.ts'
import { testBrowser } from '../support/browser.ts'
import { authorizePath, openidApp } from '../support/openid.ts'

const HOST = { requestIdHeader: 'x-request-id', trustProxy: true }
const UUID = '0f8fad5b-d9cb-469f-a165-70867728950e'

t.test('reports a request id from the client with at most 128 visible ASCII characters', async (t) => {
  const { app, events, close } = await testApp({ rateLimit: { login: { max: 8 } } }, HOST)
  t.teardown(close)
  const told = async (id: string): Promise<unknown> => {
    await app.inject({
      method: 'POST',
      url: '/auth/token',
      headers: { 'x-request-id': id },
      payload: { grant_type: 'password', username: 'nobody', password: 'wrong' }
    })
    return events.at(-1)?.payload['requestId']
  }
  const asTheyAre = [
    UUID,
    '1-67891233-abcdef012345678912345678',
    '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
    'a/b+c=.:~!',
    'x'.repeat(128)
  ]
  for (const id of asTheyAre) t.equal(await told(id), id)
  t.equal(await told('x'.repeat(15_000)), 'x'.repeat(128))
  t.equal(await told('a b\t<\u00e9\u200b>'), 'a_b_<__>')
  t.equal(await told(`${UUID} {"level":60}`), `${UUID}_{"level":60}`)
  t.equal(events.at(-1)?.name, 'login_failed')
  t.equal(await told('y'.repeat(200)), 'y'.repeat(128))
  t.equal(events.at(-1)?.name, 'rate_limited')
})

t.test('bounds the address and the user agent in events', async (t) => {
  const { app, events, close } = await testApp({}, HOST)
  t.teardown(close)
  await app.inject({
    method: 'POST',
    url: '/auth/token',
    headers: { 'x-forwarded-for': 'z'.repeat(5000), 'user-agent': 'u'.repeat(5000) },
    payload: { grant_type: 'password', username: 'nobody', password: 'wrong' }
  })
  const { ip, userAgent } = (events.at(-1)?.payload ?? {}) as { ip: string; userAgent: string }
  t.ok(ip.length <= 64)
  t.equal(userAgent, 'u'.repeat(256))
})

t.test('shows at most 128 characters of a request id on an error page', async (t) => {
  const { app, close } = await testApp({}, HOST)
  t.teardown(close)
  const { body } = await app.inject({
    url: '/auth/reset-password?token=',
    headers: { 'x-request-id': 'q'.repeat(9000), accept: 'text/html' }
  })
  t.notOk(body.includes('q'.repeat(129)))
})

t.test('emits registered and authenticated when a sign-up on the page signs the user in', async (t) => {
  const { app, events, close } = await openidApp()
  t.teardown(close)
  for (const [path, clientId, username] of [
    ['/auth/signup', null, 'eve'],
    [authorizePath({ prompt: 'create' }), 'spa', 'carl']
  ] as const) {
    const browser = testBrowser(app)
    const first = await browser.get(path)
    const page = first.statusCode === 303 ? String(first.headers.location) : path
    events.length = 0
    const reply = await browser.submit(page, { username, password: PASSWORD })
    t.equal(reply.statusCode, 303)
    t.same(events.map(({ name }) => name).slice(0, 2), ['registered', 'authenticated'])
    const [registered, authenticated] = events
    t.match(authenticated?.payload, {
      userId: registered?.payload['userId'],
      sid: /^[\w-]{16,}$/,
      clientId,
      method: 'password',
      requestId: registered?.payload['requestId']
    })
  }
})

t.test('emits no sign-in event for a sign-up that signs nobody in', async (t) => {
  const { app, events, close } = await testApp({ registration: { username: 'email', verifyEmail: true } })
  t.teardown(close)
  await testBrowser(app).submit('/auth/signup', { username: 'eve@mail.example', password: PASSWORD })
  await app.inject({
    method: 'POST',
    url: '/auth/register',
    payload: { username: 'fay@mail.example', password: PASSWORD }
  })
  t.ok(events.some(({ name }) => name === 'registered'))
  t.notOk(events.some(({ name }) => name === 'authenticated'))
})
