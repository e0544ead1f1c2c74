import t from '../../support/tap.ts'
import { memoryUserStore } from '../../../lib/index.ts'
import { PASSWORD, signIn, signUp } from '../../support/app.ts'
import { testBrowser } from '../../support/browser.ts'
import { PROVIDER } from '../../support/fake-upstream.ts'
import { connectApp, onward, SAME } from './support.ts'

const DOMAIN = { domains: ['example.com'] }

t.test('FED-24 redirects an address of the domain to its connection without a user lookup', async (t) => {
  let looks = 0
  const store = memoryUserStore()
  const users = {
    ...store,
    async findByUsername(name: string) {
      looks++
      return await store.findByUsername(name)
    }
  }
  const test = await connectApp(t, { users, connection: DOMAIN, rateLimit: { login: { max: 2 } } })
  const ann = await store.create({ username: 'ann@example.com', passwordHash: 'x' })
  await store.update(ann.id, { disabled: true })
  const answers = new Map<string, unknown>()
  for (const username of ['ann@example.com', 'bob@example.com', 'eve@example.com', 'ANN@EXAMPLE.COM']) {
    const reply = await test.browser.submit('/auth/login?return_to=/cart', { username, password: PASSWORD })
    t.equal(reply.statusCode, 200)
    t.equal(
      reply.headers.refresh,
      `0;url=/auth/connect/acme?return_to=%2Fcart&login_hint=${encodeURIComponent(username.toLowerCase())}`
    )
    answers.set(username, [
      reply.body.replaceAll(/ann|bob|eve/gi, 'who'),
      Object.keys(reply.headers).toSorted((a, b) => a.localeCompare(b))
    ])
  }
  t.equal(new Set([...answers.values()].map((answer) => JSON.stringify(answer))).size, 1, 'to the byte')
  t.equal(looks, 0)
  t.strictSame(test.payloads('login_failed'), [])
  for (const username of [
    'ann@sub.example.com',
    'ann@notexample.com',
    'ann@example.com.evil.com',
    'example.com',
    'ann@example.co'
  ]) {
    t.not(
      (await test.browser.submit('/auth/login', { username, password: 'wrong' })).headers.refresh?.includes('connect'),
      true,
      username
    )
  }
  const go = await test.browser.get('/auth/connect/acme?return_to=%2Fcart&login_hint=ann%40example.com', SAME)
  t.match(go.headers.location, PROVIDER)
  t.match(test.fake.begun[0]?.wishes, { loginHint: 'ann@example.com' })
  t.equal(
    (await test.browser.submit('/auth/login', { username: 'zoe@example.com', password: '' })).statusCode,
    200,
    'no password is needed'
  )
  t.match(
    (await test.browser.get('/auth/login')).body,
    /<input id="password" name="password" type="password" autocomplete/,
    'and the browser asks for none'
  )
})

t.test('FED-24 enforce: rejects passwords for accounts of the domain at sign-in, reset and sign-up', async (t) => {
  const users = memoryUserStore()
  const test = await connectApp(t, { users, connection: { ...DOMAIN, enforce: true } })
  const open = await connectApp(t, { users: memoryUserStore() })
  const hash = await (await signUp(open.app, 'x-user'),
  open.hasher.hash(PASSWORD, { memoryCost: 64, timeCost: 1, parallelism: 1 }))
  const ann = await users.create({
    username: 'ann@example.com',
    passwordHash: hash,
    email: 'ann@example.com',
    emailVerified: true
  })
  await users.create({ username: 'bob', passwordHash: hash, email: 'bob@example.com', emailVerified: true })
  await users.create({ username: 'zoe', passwordHash: hash })
  await t.resolves(signIn(test.app, 'zoe'))
  for (const username of ['ann@example.com', 'bob'])
    await t.rejects(signIn(test.app, username), /token: 400/, `password grant: ${username}`)
  t.match(
    test.payloads('login_failed').map(({ reason }) => reason),
    ['connection_only', 'connection_only']
  )
  t.equal(
    (await test.browser.submit('/auth/login', { username: 'bob', password: PASSWORD })).statusCode,
    400,
    'page, by a name that is no address'
  )
  t.equal(await test.app.authority.verifyPassword('bob', PASSWORD), null)
  for (const username of ['ann@example.com', 'bob'])
    t.equal(
      (await test.app.inject({ method: 'POST', url: '/auth/password-reset', payload: { username } })).statusCode,
      202
    )
  await test.browser.submit('/auth/forgot-password', { username: 'ann@example.com' })
  t.strictSame(test.payloads('password_reset_requested'), [], 'reset')
  const registered = await test.app.inject({
    method: 'POST',
    url: '/auth/register',
    payload: { username: 'new@example.com', password: PASSWORD }
  })
  t.equal(registered.statusCode, 400)
  t.equal(await users.findByUsername('new@example.com'), null, 'sign-up')
  t.match(
    (await test.browser.submit('/auth/signup', { username: 'new@example.com', password: PASSWORD })).headers.refresh,
    '/auth/connect/acme'
  )
  await users.linkIdentity(ann.id, {
    issuer: PROVIDER,
    subject: 'ann-1',
    connection: 'acme',
    linkedAt: 0,
    lastUsedAt: 0
  })
  await test.through()
  t.equal(await test.who(), ann.id, 'and the connection does')
})

t.test('FED-21 redirects to the provider of the parameter connection, but not with prompt=none', async (t) => {
  const test = await connectApp(t, { clients: [{ clientId: 'spa', redirectUris: ['https://spa.example/cb'] }] })
  const request = (more: Record<string, string> = {}): string =>
    `/auth/authorize?${new URLSearchParams({ client_id: 'spa', redirect_uri: 'https://spa.example/cb', response_type: 'code', scope: 'openid', state: 'client-state', code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM', code_challenge_method: 'S256', connection: 'acme', ...more }).toString()}`
  t.match((await test.browser.get(request({ prompt: 'none' }))).headers.location, 'error=login_required')
  t.match((await test.browser.get(request({ connection: 'nobody' }))).headers.location, /^\/auth\/login\?/)
  t.match((await test.browser.get(request({ redirect_uri: 'https://evil.example/cb' }))).statusCode, 400)
  t.match((await test.browser.get(request(), { 'sec-purpose': 'prefetch' })).headers.location, /^\/auth\/login\?/)
  t.equal(test.fake.begun.length, 0)
  const reply = await test.browser.get(request({ login_hint: 'ann@example.com' }), { 'sec-fetch-site': 'cross-site' })
  t.match(reply.headers.location, PROVIDER)
  t.match(test.fake.begun[0]?.wishes, { loginHint: 'ann@example.com' })
  const back = await test.back(test.fake.begun[0]?.flow.state ?? '')
  const code = await test.browser.get(onward(back))
  t.match(code.headers.location, /^https:\/\/spa\.example\/cb\?code=.*&state=client-state/, 'and back at the client')
  t.equal(test.fake.begun.length, 1)
  t.match(
    (await test.browser.get(request())).headers.location,
    'https://spa.example/cb?code=',
    'who is signed in goes nowhere'
  )
  for (const prompt of ['login', 'select_account']) {
    t.match(
      (await test.browser.get(request({ prompt }), { 'sec-fetch-site': 'cross-site' })).headers.location,
      /^\/auth\/login\?/,
      'where a user is signed in, another site leads to the sign-in page'
    )
    t.match((await test.browser.get(request({ prompt }), SAME)).headers.location, PROVIDER, 'and a page of ours on')
  }
  t.match(
    (await test.browser.get(request({ acr_values: 'password' }))).headers.location,
    /^\/auth\/login\?/,
    'what the connection can not prove is asked for once, on the page'
  )
  test.fake.down = true
  t.equal((await testBrowser(test.app).get(request())).statusCode, 503)
})

t.test('sets acr, amr and auth_time in the ID token from the sign-in at the provider', async (t) => {
  const test = await connectApp(t, {
    clients: [{ clientId: 'spa', redirectUris: ['https://spa.example/cb'] }],
    connection: { assurance: ({ loa }) => (loa === 2 ? { acr: 'mfa', amr: ['hwk'] } : {}) }
  })
  const verifier = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk'
  const claimsAfter = async (): Promise<Record<string, unknown>> => {
    const browser = testBrowser(test.app)
    const query = `?${new URLSearchParams({ client_id: 'spa', redirect_uri: 'https://spa.example/cb', response_type: 'code', scope: 'openid', code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM', code_challenge_method: 'S256' }).toString()}`
    const back = await test.through(query, browser)
    const code = new URL((await browser.get(onward(back))).headers.location ?? '').searchParams.get('code') ?? ''
    const tokens = await test.app.inject({
      method: 'POST',
      url: '/auth/token',
      payload: {
        grant_type: 'authorization_code',
        code,
        client_id: 'spa',
        redirect_uri: 'https://spa.example/cb',
        code_verifier: verifier
      }
    })
    return JSON.parse(
      Buffer.from(tokens.json<{ id_token: string }>().id_token.split('.')[1] ?? '', 'base64url').toString()
    ) as Record<string, unknown>
  }
  const plain = await claimsAfter()
  t.equal(plain.acr, 'connection')
  t.notOk(plain.amr)
  const authenticatedAt = test.clock.now() - 100_000
  test.fake.person = { subject: 'ann-1', email: 'ann@example.com', authenticatedAt }
  t.equal((await claimsAfter()).auth_time, Math.floor(authenticatedAt / 1000), 'when they signed in there')
  test.fake.person = { subject: 'ann-1', email: 'ann@example.com', authenticatedAt: test.clock.now() + 9_000_000 }
  t.equal((await claimsAfter()).auth_time, Math.floor(test.clock.now() / 1000), 'a clock that is ahead is none')
  test.fake.claims = { loa: 2 }
  t.match(await claimsAfter(), { acr: 'mfa', amr: ['hwk'] })
})

t.test('lists the connections for the host, and calls onSignIn per sign-in without delaying the answer', async (t) => {
  const heard: unknown[] = []
  const test = await connectApp(t, {
    connection: {
      onSignIn: async (event) => {
        heard.push(event)
        await new Promise(() => {})
      }
    }
  })
  const app = test.app
  const reply = await app.inject({ url: '/who?return_to=%2Fcart' })
  t.equal(reply.statusCode, 200)
  t.strictSame(await app.authority.connections({ url: '/signin?return_to=%2Fcart', headers: {}, raw: {} } as never), [
    { id: 'acme', name: 'Acme', url: '/auth/connect/acme?return_to=%2Fcart' }
  ])
  t.strictSame(
    await app.authority.connections({ url: '/signin?return_to=https://evil.example', headers: {} } as never),
    [{ id: 'acme', name: 'Acme', url: '/auth/connect/acme' }]
  )
  t.equal((await test.through()).statusCode, 303)
  t.match(heard, [
    {
      isNew: true,
      user: { username: 'ann@example.com' },
      claims: { sub: 'ann-1' },
      tokens: { accessToken: 'upstream-access-token-canary' }
    }
  ])
  await test.through('', testBrowser(app))
  t.match(heard[1], { isNew: false })
  test.fake.person = { subject: 'other', email: 'x@y' }
  await test.back((await test.start()).state, { code: 'bad' })
  t.equal(heard.length, 2, 'and of none that failed')
})

t.test('FED-24 enforce: sends no email code to an address of the domain under any username', async (t) => {
  const users = memoryUserStore()
  const test = await connectApp(t, { users, emailSignIn: {}, connection: { ...DOMAIN, enforce: true } })
  await users.create({ username: 'bob', passwordHash: null, email: 'bob@example.com', emailVerified: true })
  await users.create({ username: 'zoe', passwordHash: null, email: 'zoe@mail.example', emailVerified: true })
  for (const username of ['bob', 'zoe'])
    t.match(await test.browser.submit('/auth/email-code', { username }), {
      statusCode: 303,
      headers: { location: '/auth/email-code' }
    })
  t.equal((await test.messages.next('sign_in_code')).user.username, 'zoe', 'the first message is the other one')
})
