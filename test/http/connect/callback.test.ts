import { cookieName } from '../../support/cookies.ts'
import { randomBytes } from 'node:crypto'
import t, { type Test } from '../../support/tap.ts'
import { memoryUserStore } from '../../../lib/index.ts'
import { UpstreamError } from '../../../lib/errors.ts'
import type { LightMyRequestResponse } from '../../support/app.ts'
import { testBrowser } from '../../support/browser.ts'
import { fakeConnection, fakeUpstream, SECRET } from '../../support/fake-upstream.ts'
import { connectApp, type ConnectApp, CROSS, SAME } from './support.ts'

/**
 * Asserts the error page, that no user was signed in or created, and that one event has the reason.
 * `reason: null`: no event, because no limit applies to the request.
 */
async function refused(
  t: Test,
  test: ConnectApp,
  reply: LightMyRequestResponse,
  { status, code, reason }: { status: number; code: string; reason: string | null },
  message: string
): Promise<void> {
  t.equal(reply.statusCode, status, message)
  t.match(reply.body, `<code dir="ltr"`, message)
  t.match(reply.body, `>${code} · `, message)
  t.match(reply.headers['cache-control'], 'no-store', message)
  t.equal(await test.who(), null, `${message}: nobody is signed in`)
  t.strictSame(test.payloads('registered'), [], message)
  t.strictSame(
    test.payloads('connection_failed').map((payload) => payload.reason),
    reason === null ? [] : [reason],
    message
  )
}

t.test('FED-2 rejects a callback that matches no sign-in of this browser before asking the provider', async (t) => {
  const AGAIN = { status: 400, code: 'invalid_request', reason: null }
  const cases: Array<[string, (test: ConnectApp) => Promise<LightMyRequestResponse>]> = [
    [
      'no state',
      async (test) => {
        await test.start()
        return await test.browser.get('/auth/connect/acme/callback?code=good', CROSS)
      }
    ],
    [
      'an empty state',
      async (test) => {
        await test.start()
        return await test.back('')
      }
    ],
    [
      'a made-up state',
      async (test) => {
        await test.start()
        return await test.back('x'.repeat(43))
      }
    ],
    [
      'a huge state',
      async (test) => {
        await test.start()
        return await test.back('x'.repeat(5000))
      }
    ],
    [
      'another browser',
      async (test) => {
        const { state } = await test.start()
        return await test.back(state, { code: 'good' }, testBrowser(test.app))
      }
    ],
    [
      '600 s later',
      async (test) => {
        const { state } = await test.start()
        test.clock.step(600_000)
        return await test.back(state)
      }
    ],
    [
      'a second state',
      async (test) => {
        const { state } = await test.start()
        return await test.browser.get(`/auth/connect/acme/callback?state=${state}&code=good&state=${state}`, CROSS)
      }
    ],
    [
      'a second code',
      async (test) => {
        const { state } = await test.start()
        return await test.browser.get(`/auth/connect/acme/callback?state=${state}&code=bad&code=good`, CROSS)
      }
    ],
    [
      'a second iss',
      async (test) => {
        const { state } = await test.start()
        return await test.browser.get(`/auth/connect/acme/callback?state=${state}&code=good&iss=a&iss=b`, CROSS)
      }
    ],
    [
      'an error beside a second error',
      async (test) => {
        const { state } = await test.start()
        return await test.browser.get(`/auth/connect/acme/callback?state=${state}&error=a&error=b`, CROSS)
      }
    ],
    [
      'a cookie that is no cookie of ours',
      async (test) => {
        const { state } = await test.start()
        for (const name of test.browser.cookies.keys())
          if (name.includes('flow')) test.browser.cookies.set(name, 'v1.AAAAAAAA.AAAA.AAAA')
        return await test.back(state)
      }
    ],
    [
      'the cookie under the name of another flow',
      async (test) => {
        const first = await test.start()
        const own = [...test.browser.cookies.keys()].find((name) => name.includes('flow')) ?? ''
        const second = await test.start()
        const other = [...test.browser.cookies.keys()].find((name) => name.includes('flow') && name !== own) ?? ''
        test.browser.cookies.set(other, test.browser.cookies.get(own) ?? '')
        t.not(first.state, second.state)
        return await test.back(second.state)
      }
    ],
    [
      'a cookie for another purpose',
      async (test) => {
        const { state } = await test.start()
        const flow = [...test.browser.cookies.keys()].find((name) => name.includes('flow')) ?? ''
        test.browser.cookies.set(cookieName('link'), test.browser.cookies.get(flow) ?? '')
        t.equal((await test.browser.get('/auth/connect/confirm')).headers.location, '/auth/login')
        test.browser.cookies.delete(flow)
        return await test.back(state)
      }
    ]
  ]
  for (const [name, act] of cases) {
    const test = await connectApp(t)
    await refused(t, test, await act(test), AGAIN, name)
    t.strictSame(test.fake.answers, [], `${name}: the provider was not asked`)
  }
})

t.test('FED-2 accepts a callback once, within ten minutes of the start', async (t) => {
  const test = await connectApp(t)
  const { state } = await test.start()
  const kept = new Map(test.browser.cookies)
  test.clock.step(599_999)
  t.equal((await test.back(state)).statusCode, 303)
  const again = await test.back(state)
  t.equal(again.statusCode, 400, 'replayed: the cookie is gone')
  t.equal(test.fake.answers.length, 1)
  const header = [...kept].map(([name, value]) => `${name}=${value}`).join('; ')
  const twice = await test.app.inject({
    url: `/auth/connect/acme/callback?code=good&state=${state}`,
    headers: { ...CROSS, cookie: `${header}; ${header}` }
  })
  t.equal(twice.statusCode, 400, 'two cookies of one name')
  t.equal(test.fake.answers.length, 1)
})

t.test('rejects a callback that is repeated with a copy of the cookies', async (t) => {
  for (const responseMode of ['query', 'form_post'] as const) {
    const test = await connectApp(t, { connection: { responseMode } })
    const { state } = await test.start()
    if (responseMode === 'form_post') {
      const { cookies } = await test.app.inject({
        method: 'POST',
        url: '/auth/connect/acme/callback',
        headers: { ...CROSS, 'content-type': 'application/x-www-form-urlencoded' },
        payload: new URLSearchParams({ state, code: 'good' }).toString()
      })
      for (const { name, value } of cookies) test.browser.cookies.set(name, value)
    }
    const copy = testBrowser(test.app)
    for (const [name, value] of test.browser.cookies) copy.cookies.set(name, value)
    t.equal((await test.back(state)).statusCode, 303)
    t.equal(test.fake.answers.length, 1)
    const again = await test.back(state, { code: 'good' }, copy)
    t.equal(again.statusCode, 400)
    t.match(again.body, '>invalid_request · ')
    t.equal(await test.who(copy), null)
    t.equal(test.fake.answers.length, 1, 'the provider is not asked again')
  }
})

t.test('FED-2 names the cookie with the __Host- prefix on https', async (t) => {
  const test = await connectApp(t, { issuer: 'https://auth.example.com' })
  const browser = testBrowser(test.app, 'https://auth.example.com')
  const { reply, state } = await test.start('', browser)
  t.match(
    reply.headers['set-cookie'],
    /^__Host-authority_flow_[\w-]{8}_[\w-]{8}=[^;]+; Max-Age=600; Path=\/; HttpOnly; SameSite=Lax; Secure$/
  )
  const [name = '', value = ''] = [...browser.cookies].find(([name]) => name.includes('flow')) ?? []
  browser.cookies.delete(name)
  browser.cookies.set(name.replace('__Host-', ''), value)
  t.equal((await test.back(state, { code: 'good' }, browser)).statusCode, 400, 'a plain name is not read')
})

t.test('FED-3 rejects the answer of one connection at the callback of another', async (t) => {
  const evil = fakeUpstream({ subject: 'ann-1', email: 'ann@example.com' })
  const honest = fakeUpstream({ subject: 'ann-1', email: 'ann@example.com' })
  const test = await connectApp(t, {
    connections: [fakeConnection(honest), fakeConnection(evil, { id: 'evil', issuer: 'https://evil.example.com' })]
  })
  const { state } = await test.start('', test.browser, 'evil')
  t.equal(
    evil.begun[0]?.flow.redirectUri,
    'http://localhost:3000/auth/connect/evil/callback',
    'each connection has a redirect URI of its own'
  )
  await refused(
    t,
    test,
    await test.back(state, { code: 'good' }, test.browser, 'acme'),
    { status: 400, code: 'invalid_request', reason: null },
    'mix-up'
  )
  t.strictSame([honest.answers, evil.answers], [[], []])
})

t.test('FED-18 links to the sign-in page after a provider error, and neither shows nor logs its text', async (t) => {
  const canary = '<b>canary</b>'
  const test = await connectApp(t)
  const { state } = await test.start('?return_to=/cart')
  const reply = await test.back(state, {
    error: 'access_denied',
    error_description: canary,
    error_uri: 'https://evil.example.com'
  })
  await refused(t, test, reply, { status: 400, code: 'connection_denied', reason: 'denied' }, 'denied')
  t.match(reply.body, 'href="/auth/login?return_to=%2Fcart"', 'the way back has the journey')
  t.notMatch(reply.body + test.lines.join('') + JSON.stringify(test.events), 'canary')
  const wrong = await test.back('x'.repeat(43), { error: 'access_denied' })
  t.match(wrong.body, '>invalid_request · ', 'an error with a state of nobody says nothing')
})

t.test('FED-17 answers 503 to sign-ins at a provider that is down, and still shows the sign-in page', async (t) => {
  const test = await connectApp(t)
  const { state } = await test.start()
  test.fake.down = true
  await refused(
    t,
    test,
    await test.back(state),
    { status: 503, code: 'temporarily_unavailable', reason: 'outage' },
    'at the callback'
  )
  const { reply } = await test.start()
  t.equal(reply.statusCode, 503)
  t.equal(reply.headers['retry-after'], '5')
  t.equal((await test.browser.get('/auth/login')).statusCode, 200)
})

t.test('answers 502 for a code that the provider refuses, and logs the error once', async (t) => {
  const test = await connectApp(t)
  const { state } = await test.start()
  await refused(
    t,
    test,
    await test.back(state, { code: 'bad' }),
    { status: 502, code: 'connection_failed', reason: 'exchange' },
    'a bad code'
  )
  const said = test.lines.filter((line) => line.includes('FST_AUTHORITY_CONNECTION_FAILED'))
  t.equal(said.length, 1)
  t.match(JSON.parse(said[0] ?? '{}'), {
    level: 50,
    detail: 'connection acme: exchange',
    err: { type: 'UpstreamError' }
  })
})

t.test('FED-16 rejects a disabled connection or user, and a new user when registration is closed', async (t) => {
  let on = true
  const off = await connectApp(t, { connection: { enabled: () => on } })
  const { state } = await off.start()
  on = false
  off.clock.step(1000)
  await refused(t, off, await off.back(state), { status: 403, code: 'access_denied', reason: null }, 'the connection')
  t.strictSame(off.fake.answers, [])
  t.equal((await off.start()).reply.statusCode, 404)
  t.notMatch((await off.browser.get('/auth/login')).body, 'Acme')

  const users = memoryUserStore()
  const test = await connectApp(t, { users })
  await test.through()
  const user = await users.findByUsername('ann@example.com')
  await users.update(user?.id ?? '', { disabled: true })
  const browser = testBrowser(test.app)
  const reply = await test.through('', browser)
  t.equal(reply.statusCode, 403)
  t.match(test.payloads('connection_failed'), [{ reason: 'disabled' }])
  t.equal(await test.who(browser), null)

  const closed = await connectApp(t, { connection: { registration: false } })
  await refused(
    t,
    closed,
    await closed.through(),
    { status: 403, code: 'access_denied', reason: 'closed' },
    'registration'
  )
})

t.test('FED-16 ends a session whose user is disabled, unlinked or removed while it begins', async (t) => {
  for (const change of ['disable', 'unlink', 'remove'] as const) {
    const store = memoryUserStore()
    let looks = 0
    const users = {
      ...store,
      async findByIdentity(identity: { issuer: string; subject: string }) {
        const user = await store.findByIdentity(identity)
        // The second read comes after the commit.
        if (user !== null && ++looks === 2) {
          if (change === 'disable') return { ...user, disabled: true }
          if (change === 'remove') await store.remove(user.id)
          return null
        }
        return user
      }
    }
    const test = await connectApp(t, { users })
    await store.createWithIdentity(
      { username: 'ann@example.com', passwordHash: null, email: 'ann@example.com', emailVerified: true },
      { issuer: 'https://sso.example.com', subject: 'ann-1', connection: 'acme', linkedAt: 0, lastUsedAt: 0 }
    )
    const reply = await test.through()
    t.equal(reply.statusCode, 403, change)
    t.strictSame([await test.who(), test.payloads('authenticated')], [null, []], change)
    t.match(test.payloads('logged_out'), [{ by: 'undone' }], change)
  }
})

t.test('FED-19 keeps the secrets and names of a provider sign-in out of logs, events and redirects', async (t) => {
  const fake = fakeUpstream({ subject: 'subject-canary', email: 'address-canary@example.com' })
  const test = await connectApp(t, {
    fake,
    connection: {
      onSignIn: ({ tokens }) => {
        throw new Error(`can not store ${tokens.accessToken}`)
      }
    }
  })
  const { state, reply } = await test.start('?return_to=/cart')
  const flow = fake.begun[0]?.flow
  const back = await test.back(state, { code: 'good' })
  await test.back(state, { code: 'code-canary' })
  await new Promise((resolve) => {
    setImmediate(resolve)
  })
  const told = JSON.stringify([
    test.lines.filter((line) => !line.includes('the callback URL')),
    test.events.filter(({ name }) => name !== 'registered'),
    back.headers.location
  ])
  for (const secret of [
    state,
    flow?.nonce,
    flow?.codeVerifier,
    'code-canary',
    'upstream-access-token-canary',
    'upstream-refresh-token-canary',
    'subject-canary',
    'address-canary'
  ])
    t.notMatch(told, String(secret))
  t.match(test.lines.join(''), 'onSignIn of the connection')
  t.notMatch(String(reply.headers['set-cookie']), 'subject-canary')
})

t.test('FED-20 keeps at most two flow cookies, and sets none for a prefetch or above the size limit', async (t) => {
  const test = await connectApp(t, { clients: [{ clientId: 'spa', redirectUris: ['https://spa.example/cb'] }] })
  const flows = (): string[] => [...test.browser.cookies.keys()].filter((name) => name.includes('flow'))
  const states: string[] = []
  for (let count = 0; count < 4; count++) {
    states.push((await test.start()).state)
    test.clock.step(1000)
  }
  t.equal(flows().length, 2)
  t.equal((await test.back(states[1] ?? '')).statusCode, 400, 'the oldest made room')
  t.equal((await test.back(states[2] ?? '')).statusCode, 303, 'any of the others goes on')
  t.equal(flows().length, 1)
  test.browser.cookies.clear()
  for (const headers of [
    { 'sec-purpose': 'prefetch' },
    { 'sec-purpose': 'prefetch;prerender' },
    { purpose: 'prefetch' }
  ]) {
    const reply = await test.browser.get('/auth/connect/acme', { ...SAME, ...headers })
    t.equal(reply.statusCode, 503)
    t.notOk(reply.headers['set-cookie'])
  }
  const journey = (state: string): string =>
    `?${new URLSearchParams({ client_id: 'spa', redirect_uri: 'https://spa.example/cb', response_type: 'code', scope: 'openid', code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM', code_challenge_method: 'S256', state }).toString()}`
  const fits = await test.start(journey(randomBytes(600).toString('hex')))
  t.equal(fits.reply.statusCode, 303)
  t.ok(String(fits.reply.headers['set-cookie']).indexOf(';') <= 3800)
  const long = await test.start(
    `${journey('s')}&claims=${encodeURIComponent(JSON.stringify({ userinfo: { [randomBytes(3000).toString('base64url')]: null } }))}`
  )
  t.equal(long.reply.statusCode, 400)
  t.match(long.reply.body, 'needs more room than a browser has', 'the page says why')
  t.notOk(long.reply.headers['set-cookie'])
})

t.test('FED-20 removes flow cookies that it cannot open at the next start', async (t) => {
  const test = await connectApp(t)
  test.browser.cookies.set(`${cookieName('flow')}_AAAAAAAA`, 'v1.x.y.z')
  test.browser.cookies.set(`${cookieName('flow')}_BBBBBBBB`, 'garbage')
  await test.start()
  t.equal([...test.browser.cookies.keys()].filter((name) => name.includes('flow')).length, 1)
})

t.test('FED-21 redirects to the sign-in page when another site or a typed URL starts a provider sign-in', async (t) => {
  const test = await connectApp(t)
  for (const headers of [CROSS, { 'sec-fetch-site': 'none' }, { 'sec-fetch-site': 'same-site' }] as Array<
    Record<string, string>
  >) {
    const reply = await test.browser.get('/auth/connect/acme?return_to=/cart', headers)
    t.equal(reply.headers.location, '/auth/login?return_to=%2Fcart', JSON.stringify(headers))
    t.notOk(reply.headers['set-cookie'])
  }
  const old = async (headers: Record<string, string>): Promise<string | undefined> =>
    (await test.app.inject({ url: '/auth/connect/acme', headers })).headers.location
  t.equal(await old({}), '/auth/login')
  t.equal(await old({ referer: 'https://evil.example/http://localhost:3000/' }), '/auth/login')
  t.equal(await old({ referer: 'nonsense' }), '/auth/login')
  t.match(
    await old({ referer: 'http://localhost:3000/auth/login' }),
    'https://sso.example.com/',
    'a browser that does not say where from, with the page as referrer'
  )
  t.equal((await test.start('', test.browser, 'nobody')).reply.statusCode, 404)
})

t.test('form_post: checks the answer of the provider only after the browser follows the redirect', async (t) => {
  const test = await connectApp(t, { connection: { responseMode: 'form_post' } })
  const post = async (body: Record<string, string>): Promise<LightMyRequestResponse> =>
    await test.app.inject({
      method: 'POST',
      url: '/auth/connect/acme/callback',
      headers: { ...CROSS, origin: 'https://sso.example.com', 'content-type': 'application/x-www-form-urlencoded' },
      payload: new URLSearchParams(body).toString()
    })
  const { state } = await test.start('?return_to=/cart')
  const reply = await post({ state, code: 'good', user: '{"name":"canary"}' })
  t.equal(reply.statusCode, 303)
  t.equal(reply.headers.location, `/auth/connect/acme/callback?state=${state}`)
  t.match(reply.headers['set-cookie'], /^authority_answer_[\w-]{8}=\.\.v1\.[^;]+; Max-Age=60;/)
  for (const cookie of reply.cookies) test.browser.cookies.set(cookie.name, cookie.value)
  const kept = new Map(test.browser.cookies)
  const back = await test.browser.get(reply.headers.location ?? '', CROSS)
  t.equal(back.headers.location, '/cart')
  t.match(test.fake.answers, [/user=/])
  t.notMatch(test.lines.join(''), 'canary')
  t.equal([...test.browser.cookies.keys()].filter((name) => /flow|answer/.test(name)).length, 0)

  const query = await test.start()
  t.equal((await test.back(query.state)).statusCode, 400, 'an answer by query is none')
  t.equal((await post({ code: 'good' })).statusCode, 400, 'no state')
  t.equal((await post({ state: 'short', code: 'good' })).statusCode, 400)
  t.equal((await post({ state, code: randomBytes(4500).toString('hex') })).statusCode, 400, 'too long for a cookie')
  const late = await test.start()
  for (const cookie of (await post({ state: late.state, code: 'good' })).cookies)
    test.browser.cookies.set(cookie.name, cookie.value)
  test.clock.step(60_000)
  t.equal(
    (await test.browser.get(`/auth/connect/acme/callback?state=${late.state}`, CROSS)).statusCode,
    400,
    'a minute later'
  )
  t.equal(test.fake.answers.length, 1)
  t.ok(kept.size > 0)
  const plain = await connectApp(t)
  const begun = await plain.start()
  t.equal(
    (
      await plain.app.inject({
        method: 'POST',
        url: '/auth/connect/acme/callback',
        headers: { ...CROSS, 'content-type': 'application/x-www-form-urlencoded' },
        payload: `state=${begun.state}&code=good`
      })
    ).statusCode,
    400,
    'a connection whose answers come by query'
  )
})

// covers FED-20
t.test('form_post: limits the cookies that forged answers leave, and keeps the pending sign-in', async (t) => {
  const test = await connectApp(t, { connection: { responseMode: 'form_post' } })
  const post = async (body: Record<string, string>): Promise<LightMyRequestResponse> =>
    await test.app.inject({
      method: 'POST',
      url: '/auth/connect/acme/callback',
      headers: { ...CROSS, origin: 'https://evil.example', 'content-type': 'application/x-www-form-urlencoded' },
      payload: new URLSearchParams(body).toString()
    })
  const keep = ({ cookies }: LightMyRequestResponse): void => {
    for (const cookie of cookies) test.browser.cookies.set(cookie.name, cookie.value)
  }
  const { state } = await test.start('?return_to=/cart')
  for (let count = 0; count < 200; count++)
    keep(await post({ state: randomBytes(32).toString('base64url'), code: randomBytes(500).toString('base64url') }))
  t.equal(
    (await post({ state, code: randomBytes(1500).toString('base64url') })).statusCode,
    400,
    'more than any provider sends'
  )
  const answers = [...test.browser.cookies].filter(([name]) => name.includes('answer'))
  t.equal(answers.length, 1)
  t.ok(answers.every(([name, value]) => name.length + value.length <= 2048))
  const reply = await post({
    state,
    code: 'good',
    user: JSON.stringify({
      name: { firstName: 'A'.repeat(100), lastName: 'B'.repeat(100) },
      email: 'ann@example.com'
    })
  })
  keep(reply)
  t.equal((await test.browser.get(reply.headers.location ?? '', CROSS)).headers.location, '/cart')
  t.equal(test.fake.answers.length, 1, 'and of what was made up nothing was asked')
})

t.test('form_post: accepts a code of 1,700 characters, and stores only the parameters that it reads', async (t) => {
  const test = await connectApp(t, { connection: { responseMode: 'form_post' } })
  const { state } = await test.start()
  const code = randomBytes(1275).toString('base64url')
  const reply = await test.app.inject({
    method: 'POST',
    url: '/auth/connect/acme/callback',
    headers: { ...CROSS, 'content-type': 'application/x-www-form-urlencoded' },
    payload: new URLSearchParams({ state, code, session_state: randomBytes(3000).toString('hex') }).toString()
  })
  t.equal(reply.statusCode, 303)
  for (const cookie of reply.cookies) test.browser.cookies.set(cookie.name, cookie.value)
  await test.browser.get(reply.headers.location ?? '', CROSS)
  t.match(test.fake.answers, [`code=${code}`])
  t.notMatch(test.fake.answers, [/session_state/])
})

t.test('FED-23 asks the provider for a fresh sign-in, and rejects an answer with an older sign-in', async (t) => {
  const client = { clientId: 'spa', redirectUris: ['https://spa.example/cb'] }
  const journey = `?${new URLSearchParams({ client_id: 'spa', redirect_uri: 'https://spa.example/cb', response_type: 'code', scope: 'openid', code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM', code_challenge_method: 'S256' }).toString()}`
  const test = await connectApp(t, { clients: [client], more: { provesFreshness: true } })
  await test.start(`${journey}&prompt=login&ui_locales=de&login_hint=ann&acr_values=x`)
  t.strictSame(test.fake.begun.at(-1)?.wishes, { loginHint: 'ann', uiLocales: 'de', prompt: 'login', maxAge: 0 })
  await test.start(`${journey}&max_age=300`)
  t.strictSame(
    test.fake.begun.at(-1)?.wishes,
    { loginHint: undefined, uiLocales: undefined, prompt: undefined, maxAge: 300 },
    'nobody is signed in here: what they have there will do'
  )
  await test.start(`${journey}&prompt=select_account`)
  t.match(test.fake.begun.at(-1)?.wishes, { prompt: 'select_account', maxAge: undefined })

  for (const [asked, age, status] of [
    ['prompt=login', 61_000, 400],
    ['prompt=login', 60_000, 200],
    ['max_age=300', 361_000, 400],
    ['max_age=300', 359_000, 200]
  ] as const) {
    const { state } = await test.start(`${journey}&${asked}`, testBrowser(test.app))
    const browser = testBrowser(test.app)
    const again = await test.start(`${journey}&${asked}`, browser)
    test.fake.person = { subject: 'ann-1', email: 'ann@example.com', authenticatedAt: test.clock.now() - age }
    const reply = await test.back(again.state, { code: 'good' }, browser)
    t.equal(reply.statusCode, status, `${asked}, ${age} ms ago`)
    t.ok(state)
  }
  test.fake.person = { subject: 'ann-1', email: 'ann@example.com' }
  const { state } = await test.start(`${journey}&prompt=login`)
  const silent = await test.back(state)
  t.equal(silent.statusCode, 400, 'a provider that proves it has said nothing')
  t.match(silent.body, 'ask you to sign in again')
  const other = await connectApp(t, { clients: [client] })
  const without = await other.start(`${journey}&prompt=login`)
  t.match(other.fake.begun[0]?.wishes, { prompt: 'login', maxAge: undefined })
  t.equal((await other.back(without.state)).statusCode, 200, 'one that can not counts as of now')
})

t.test('rate limit: counts failed callbacks only in a browser that began a sign-in', async (t) => {
  const test = await connectApp(t, { rateLimit: { connect: { max: 2 } } })
  for (let count = 0; count < 5; count++) t.equal((await test.back('x'.repeat(43))).statusCode, 400)
  t.equal((await test.through()).statusCode, 303)
  for (let count = 0; count < 2; count++)
    t.equal((await test.back((await test.start()).state, { code: 'bad' })).statusCode, 502)
  const { state } = await test.start()
  t.equal((await test.back(state)).statusCode, 429)
  t.match(test.payloads('rate_limited'), [{ rule: 'connect' }])
})

// covers FED-17
t.test('rate limit: does not count attempts during a provider outage, and limits parallel attempts', async (t) => {
  const test = await connectApp(t, { rateLimit: { connect: { max: 2 } } })
  test.fake.person = async () => {
    throw new UpstreamError('outage', 'It can not be reached.')
  }
  for (let count = 0; count < 5; count++)
    t.equal(
      (await test.back((await test.start('', testBrowser(test.app))).state, { code: 'good' }, test.browser)).statusCode,
      400,
      'another browser'
    )
  for (let count = 0; count < 5; count++) t.equal((await test.through()).statusCode, 503)
  const waiting: Array<() => void> = []
  test.fake.person = async () => {
    await new Promise<void>((resolve) => {
      waiting.push(resolve)
    })
    throw new UpstreamError('outage', 'It did not answer in time.')
  }
  const states = [(await test.start()).state, (await test.start()).state]
  const third = testBrowser(test.app)
  const { state } = await test.start('', third)
  const pending = states.map(async (state) => await test.back(state))
  while (waiting.length < 2)
    await new Promise((resolve) => {
      setImmediate(resolve)
    })
  t.equal((await test.back(state, { code: 'good' }, third)).statusCode, 429, 'two wait already')
  for (const end of waiting) end()
  t.strictSame(
    (await Promise.all(pending)).map(({ statusCode }) => statusCode),
    [503, 503]
  )
  test.fake.person = { subject: 'ann-1', email: 'ann@example.com' }
  t.equal((await test.through()).statusCode, 303)
})

t.test('registers no routes without connections, and does not start without a secret', async (t) => {
  const none = await connectApp(t, { connections: [] })
  for (const url of ['/auth/connect/acme', '/auth/connect/acme/callback', '/auth/connect/confirm'])
    t.equal((await none.browser.get(url, SAME)).statusCode, 404)
  t.notMatch((await none.browser.get('/auth/login')).body, 'class="connect"')
  t.strictSame(await none.app.authority.connections({ url: '/', headers: {} } as never), [])
  await t.rejects(connectApp(t, { secret: undefined as never }), { code: 'FST_AUTHORITY_INVALID_OPTIONS' })
  t.ok(SECRET)
})

t.test(
  'counts sign-ups of one IP address under connect, and under register unless the provider is authoritative',
  async (t) => {
    for (const [connection, authoritative, passes] of [
      [{}, false, 2],
      [{ domains: ['example.com'] }, false, 4],
      [{}, true, 4]
    ] as Array<[{ domains?: string[] }, boolean, number]>) {
      const test = await connectApp(t, {
        connection,
        rateLimit: { register: { max: 2 }, connect: { max: 5 } }
      })
      const signUpAs = async (name: string): Promise<number> => {
        test.fake.person = {
          subject: name,
          email: `${name}@example.com`,
          ...(authoritative ? { emailAuthoritative: true } : {})
        }
        return (await test.through('', testBrowser(test.app))).statusCode
      }
      const statuses: number[] = []
      for (let i = 0; i < 6; i++) statuses.push(await signUpAs(`person-${i}`))
      t.strictSame(
        statuses,
        Array.from({ length: 6 }, (_, index) => (index < passes ? 303 : 429)),
        `${JSON.stringify(connection)} ${authoritative}`
      )
      t.equal(test.payloads('registered').length, passes)
      if (passes === 2) t.equal(await signUpAs('person-0'), 303, 'who has an account still signs in')
    }
  }
)
