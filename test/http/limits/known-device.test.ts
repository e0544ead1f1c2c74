import { cookieName } from '../../support/cookies.ts'
import t from '../../support/tap.ts'
import { limitedApp } from './support/limited-app.ts'

const NAME = cookieName('device', 'https://auth.example.com')
const BROWSER = { 'sec-fetch-site': 'same-origin' }
const cookies = (header: unknown): string[] => [header ?? []].flat() as string[]
const deviceOf = (header: unknown): string =>
  cookies(header).find((cookie) => cookie.includes('authority_device_')) ?? ''

// covers RL-24
t.test('signs a user in from a known browser while strangers exceed the account limit', async (t) => {
  const { login, statuses } = await limitedApp(t, { login: false, account: { max: 2 } })
  const signedIn = await login({ username: 'ann', as: 'success' }, { headers: BROWSER })
  const cookie = deviceOf(signedIn.headers['set-cookie']).split(';')[0] ?? ''
  t.same(await statuses(3, { username: 'ann' }), [400, 400, 429], 'strangers are out')
  t.equal((await login({ username: 'ann', as: 'success' })).statusCode, 429)
  const known = { headers: { ...BROWSER, cookie: `a=b; ${cookie}; c=d` } }
  t.equal((await login({ username: 'ann', as: 'success' }, known)).statusCode, 200)
  t.same(await statuses(3, { username: 'ann' }, known), [400, 400, 429], 'its own allowance is one too')
  t.same(await statuses(3, { username: 'bob' }, known), [400, 400, 429])
  t.equal((await login({ username: 'bob' })).statusCode, 429, 'for other accounts it is a stranger')
})

// covers RL-24
t.test('treats a made-up cookie as an unknown browser', async (t) => {
  const { login, statuses } = await limitedApp(t, { login: false, account: { max: 1 } })
  await statuses(1, { username: 'ann' })
  for (const value of ['', 'x', `${'a'.repeat(22)}.${'b'.repeat(22)}`, 'x'.repeat(4000)]) {
    t.equal((await login({ username: 'ann' }, { headers: { cookie: `${NAME}=${value}` } })).statusCode, 429)
  }
})

// covers RL-24
t.test('sets the device cookie with its attributes, and only in a browser that signed in', async (t) => {
  const { login } = await limitedApp(t)
  const { headers } = await login({ username: 'ann', as: 'success' }, { headers: BROWSER })
  t.equal(cookies(headers['set-cookie'])[0], 'theirs=1')
  t.match(
    deviceOf(headers['set-cookie']),
    /^__Host-authority_device_[\w-]{8}=[\w-]{22}\.[\w-]{22}; Max-Age=15552000; Path=\/; HttpOnly; SameSite=Lax; Secure$/
  )
  const none: Array<[string, Parameters<typeof login>]> = [
    ['no browser', [{ username: 'ann', as: 'success' }]],
    ['no account', [{ as: 'success' }, { headers: BROWSER }]],
    ['no success', [{ username: 'ann' }, { headers: BROWSER }]]
  ]
  for (const [name, args] of none) t.equal(deviceOf((await login(...args)).headers['set-cookie']), '', name)
  const off = await limitedApp(t, { account: false })
  t.equal(
    deviceOf((await off.login({ username: 'ann', as: 'success' }, { headers: BROWSER })).headers['set-cookie']),
    '',
    'no account rule'
  )
})

// covers RL-24
t.test('gives the device cookie a name without prefix for an http loopback issuer', async (t) => {
  const { login } = await limitedApp(t, {}, { secureCookies: false })
  const { headers } = await login({ username: 'ann', as: 'success' }, { headers: BROWSER })
  t.match(
    deviceOf(headers['set-cookie']),
    /^authority_device_[\w-]{8}=[\w.-]{45}; Max-Age=15552000; Path=\/; HttpOnly; SameSite=Lax$/
  )
})
