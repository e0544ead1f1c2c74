import t from '../../support/tap.ts'
import { memoryUserStore } from '../../../lib/adapters/memory/user-store.ts'
import { capturedMessages } from '../../../lib/testing/index.ts'
import { bearer, PASSWORD, signIn, signUp, testApp, type TestApp } from '../../support/app.ts'

const BROWSER = { 'sec-fetch-site': 'same-origin' }
const NEXT = 'a wholly new password'

/** An app that allows three wrong guesses per account, and the cookie of a browser that signed in. */
async function known() {
  const users = memoryUserStore()
  const messages = capturedMessages()
  const test = await testApp({
    users,
    sendMessage: messages.send,
    rateLimit: { login: false, passwordReset: false, refresh: false, account: { max: 3 } }
  })
  await signUp(test.app, 'ann@example.com')
  const guess = async (password: string, cookie?: string) =>
    await test.app.inject({
      method: 'POST',
      url: '/auth/token',
      headers: { ...BROWSER, ...(cookie === undefined ? {} : { cookie }) },
      payload: { grant_type: 'password', username: 'ann@example.com', password }
    })
  const cookieOf = (reply: Awaited<ReturnType<typeof guess>>): string =>
    String(reply.headers['set-cookie'] ?? '').split(';')[0] ?? ''
  const thiefs = cookieOf(await guess(PASSWORD))
  return { ...test, messages, guess, cookieOf, thiefs, users }
}

async function reset({ app, messages }: Pick<TestApp, 'app'> & { messages: TestApp['messages'] }): Promise<void> {
  await app.inject({ method: 'POST', url: '/auth/password-reset', payload: { username: 'ann@example.com' } })
  const { token } = await messages.next('password_reset')
  const reply = await app.inject({
    method: 'POST',
    url: '/auth/password-reset/confirm',
    payload: { token, password: NEXT }
  })
  if (reply.statusCode !== 204) throw new Error(reply.body)
}

async function change({ app }: Pick<TestApp, 'app'>): Promise<string> {
  const { access_token: token } = await signIn(app, 'ann@example.com')
  const reply = await app.inject({
    method: 'POST',
    url: '/auth/password',
    headers: { ...BROWSER, ...bearer(token) },
    payload: { current_password: PASSWORD, new_password: NEXT }
  })
  if (reply.statusCode !== 204) throw new Error(reply.body)
  return String(reply.headers['set-cookie']).split(';')[0] ?? ''
}

// covers A9
t.test('gives a known browser its own guesses until the password changes', async (t) => {
  for (const [how, act] of [
    ['reset', reset],
    ['change', change]
  ] as const) {
    const world = await known()
    const { guess, thiefs, close } = world
    t.not(thiefs, '')
    for (let time = 0; time < 3; time++) await guess('wrong')
    t.equal((await guess('wrong')).statusCode, 429, 'a stranger is locked out')
    t.equal((await guess('wrong', thiefs)).statusCode, 400, 'a known browser is not')
    world.clock.step(900_000)
    await act(world)
    for (let time = 0; time < 3; time++) await guess('wrong')
    t.equal((await guess('wrong', thiefs)).statusCode, 429, how)
    t.equal((await guess(NEXT, thiefs)).statusCode, 429, how)
    await close()
  }
})

// covers A9
t.test('recognizes the browser that changed the password by its new cookie', async (t) => {
  const world = await known()
  const own = await change(world)
  for (let time = 0; time < 3; time++) await world.guess('wrong')
  t.equal((await world.guess(NEXT)).statusCode, 429)
  t.equal((await world.guess(NEXT, own)).statusCode, 200)
  await world.close()
})

// covers A9
t.test('completes the sign-in when the user store fails while the browser is remembered', async (t) => {
  const { app, close } = await testApp({ users: failingLast(), rateLimit: { login: false, register: false } })
  await signUp(app, 'ann@example.com')
  const reply = await app.inject({
    method: 'POST',
    url: '/auth/token',
    headers: BROWSER,
    payload: { grant_type: 'password', username: 'ann@example.com', password: PASSWORD }
  })
  t.equal(reply.statusCode, 200)
  t.equal(reply.headers['set-cookie'], undefined)
  await close()

  function failingLast() {
    const users = memoryUserStore()
    let lookUps = 0
    return {
      ...users,
      findByUsername: async (name: string) =>
        await (++lookUps > 1 ? Promise.reject(new Error('down')) : users.findByUsername(name))
    }
  }
})
