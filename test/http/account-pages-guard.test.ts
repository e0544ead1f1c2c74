import { Type } from '@sinclair/typebox'
import t from '../support/tap.ts'
import { OAuthError } from '../../lib/errors.ts'
import { NEXT_PASSWORD, PASSWORD } from '../unit/accounts/world.ts'
import { ORIGIN, OWN, pagesApp, type PagesApp } from './support/account-pages-app.ts'

const POSTS = ['signup', 'forgot-password', 'reset-password', 'verify-email'] as const

/** A valid form for each page. */
async function forms(test: PagesApp): Promise<Record<(typeof POSTS)[number], Record<string, string>>> {
  const user = await test.w.addUser({ emailVerified: false })
  return {
    signup: { username: 'eve', password: PASSWORD },
    'forgot-password': { username: user.username },
    'verify-email': { token: await test.verifyToken(user.id) },
    'reset-password': { token: await test.resetToken(), password: NEXT_PASSWORD }
  }
}

// covers ASVS-3.5.1
t.test('rejects a form from another or an unknown origin with 403, and without an effect', async (t) => {
  const test = await pagesApp(t, { limits: { register: { max: 1 }, passwordReset: { max: 1 }, refresh: { max: 1 } } })
  const good = await forms(test)
  const told = test.w.told.length
  const messages = test.w.messages.length
  const table: Array<[string, Record<string, string>]> = [
    ['nothing is said', {}],
    ['cross-site', { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }],
    ['cross-site, our origin', { 'sec-fetch-site': 'cross-site', origin: ORIGIN }],
    ['a sibling', { 'sec-fetch-site': 'same-site', origin: 'https://evil.auth.example.com' }],
    ['a sibling, our origin', { 'sec-fetch-site': 'same-site', origin: ORIGIN }],
    ['an old browser, another origin', { origin: 'https://evil.example' }],
    ['an old browser, opaque origin', { origin: 'null' }],
    ['null and none', { 'sec-fetch-site': 'none', origin: 'null' }],
    ['none alone', { 'sec-fetch-site': 'none' }],
    ['another scheme', { origin: 'http://auth.example.com' }],
    ['another port', { origin: `${ORIGIN}:444` }],
    ['a longer host', { origin: `${ORIGIN}.evil.example` }],
    ['a referer is no origin', { referer: `${ORIGIN}/auth/signup` }],
    ['another spelling', { 'sec-fetch-site': 'Same-Origin' }],
    [
      'a cookie changes nothing',
      { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example', cookie: '__Host-session=x' }
    ]
  ]
  for (const name of POSTS) {
    for (const [what, headers] of table) {
      const reply = await test.post(`/auth/${name}`, good[name], headers)
      t.equal(reply.statusCode, 403, `${name}: ${what}`)
      t.match(test.last(), {
        page: 'error',
        content: { error: { error: 'access_denied', field: null } },
        settings: { statusCode: 403 }
      })
      t.equal(reply.headers['set-cookie'], undefined)
      t.equal(reply.headers['x-ratelimit-limit'], undefined, 'no limit is touched')
    }
    const unread = await test.post(`/auth/${name}`, '{', {
      'content-type': 'text/plain',
      'sec-fetch-site': 'cross-site'
    })
    t.equal(unread.statusCode, 403, 'the body is not even looked at')
  }
  await test.w.idle()
  t.equal(test.w.told.length, told)
  t.equal(test.w.messages.length, messages)
  t.strictSame(test.signedIn, [])
  // The order matters, because a reset confirms the address and a new link ends the former one.
  for (const [name, status] of [
    ['verify-email', 303],
    ['reset-password', 303],
    ['forgot-password', 303],
    ['signup', 303]
  ] as const)
    t.equal((await test.post(`/auth/${name}`, good[name])).statusCode, status, `the control: ${name}`)
})

// covers ASVS-3.5.1
t.test('accepts a form of our own page, also when one of its two origin headers is missing', async (t) => {
  const test = await pagesApp(t)
  const table: Array<[string, Record<string, string>]> = [
    ['today', OWN],
    ['from a page without referrer', { 'sec-fetch-site': 'same-origin', origin: 'null' }],
    ['without origin', { 'sec-fetch-site': 'same-origin' }],
    ['an old browser', { origin: ORIGIN }],
    ['sent again by the user', { 'sec-fetch-site': 'none', origin: ORIGIN }]
  ]
  for (const [what, headers] of table)
    t.equal((await test.post('/auth/forgot-password', { username: 'ada' }, headers)).statusCode, 303, what)
})

const json = async (test: PagesApp, url: string, payload: object): Promise<number> =>
  (await test.app.inject({ method: 'POST', url, payload })).statusCode

t.test('shares rate limits between the account pages and their JSON endpoints', async (t) => {
  const register = await pagesApp(t, { limits: {}, fields: Type.Object({ nickname: Type.Optional(Type.String()) }) })
  t.equal(await json(register, '/auth/register', { username: 'ada', password: PASSWORD }), 201)
  t.equal((await register.post('/auth/signup', { username: 'bob', password: PASSWORD, nickname: '' })).statusCode, 303)
  t.equal((await register.post('/auth/signup', { username: 'bob', password: PASSWORD })).statusCode, 409)
  const limited = await register.post('/auth/signup', { username: 'eve', password: PASSWORD, nickname: 'E' })
  t.equal(limited.statusCode, 429)
  t.equal(limited.headers['retry-after'], '3600')
  t.match(register.last(), {
    page: 'signup',
    content: { error: { error: 'too_many_requests', field: null }, username: 'eve', fields: [{ value: 'E' }] },
    settings: { statusCode: 429 }
  })
  t.equal(await json(register, '/auth/register', { username: 'eve', password: PASSWORD }), 429)
  t.equal((await register.get('/auth/signup')).statusCode, 200, 'to look is not limited')

  const reset = await pagesApp(t, { limits: {} })
  t.equal((await reset.post('/auth/forgot-password', { username: 'ada' })).statusCode, 303)
  for (let i = 0; i < 2; i++) t.equal(await json(reset, '/auth/password-reset', { username: 'ada' }), 202)
  t.equal((await reset.post('/auth/forgot-password', { username: 'ada' })).statusCode, 429)
  t.match(reset.last(), {
    page: 'forgot_password',
    content: { error: { error: 'too_many_requests' }, username: 'ada' }
  })

  const tokens = await pagesApp(t, { limits: { refresh: { max: 3 } } })
  await tokens.w.addUser()
  const token = await tokens.resetToken()
  const wrong = 'A'.repeat(59)
  t.equal((await tokens.post('/auth/reset-password', { token: wrong, password: NEXT_PASSWORD })).statusCode, 400)
  t.equal((await tokens.post('/auth/verify-email', { token: wrong })).statusCode, 400)
  t.equal(await json(tokens, '/auth/email/verify', { token: 'x' }), 400)
  t.equal(await json(tokens, '/auth/password-reset/confirm', { token: wrong, password: NEXT_PASSWORD }), 429)
  t.equal(await json(tokens, '/auth/email/verify', { token: wrong }), 429)
  for (const name of ['reset-password', 'verify-email']) {
    const posted = await tokens.post(`/auth/${name}`, { token: wrong, password: NEXT_PASSWORD })
    t.equal(posted.statusCode, 429)
    // The confirmation page shows who signed up, which is unknown for an invalid link.
    t.match(
      tokens.last(),
      name === 'verify-email'
        ? { page: 'error', content: { error: { error: 'too_many_requests' } } }
        : { page: 'reset_password', content: { error: { error: 'too_many_requests' }, token: wrong, done: false } }
    )
  }
  t.equal(
    (await tokens.post('/auth/reset-password', { token, password: 'password1' })).statusCode,
    400,
    'a holder of the link hears what is wrong with the password'
  )
  t.equal(
    (await tokens.post('/auth/reset-password', { token, password: NEXT_PASSWORD })).statusCode,
    303,
    'and is not refused for what others did'
  )
})

// covers A3
t.test('applies no limit to opening the link of a message, valid or not', async (t) => {
  const test = await pagesApp(t, { limits: { refresh: { max: 2 } } })
  await test.w.addUser()
  const token = await test.resetToken()
  const wrong = 'A'.repeat(59)
  for (let time = 0; time < 4; time++) {
    t.equal((await test.get(`/auth/reset-password?token=${wrong}`)).statusCode, 400)
    t.equal((await test.get(`/auth/verify-email?token=${wrong}`)).statusCode, 400)
  }
  for (let time = 0; time < 2; time++)
    t.equal(await json(test, '/auth/email/verify', { token: 'x' }), 400, 'nothing was counted')
  t.equal(await json(test, '/auth/email/verify', { token: 'x' }), 429)
  t.equal((await test.get(`/auth/reset-password?token=${token}`)).statusCode, 200)
  t.equal((await test.get(`/auth/verify-email?token=${wrong}`)).statusCode, 400)
})

t.test('sends the body of onLimit instead of the page, and the page when onLimit returns no body', async (t) => {
  const bodies: Array<[unknown, string | RegExp | undefined]> = [
    [{ wait: true }, '{"wait":true}'],
    ['slow down', 'slow down'],
    [undefined, undefined]
  ]
  for (const [body, expected] of bodies) {
    const test = await pagesApp(t, {
      limits: {
        passwordReset: { max: 1, windowMs: 60_000 },
        onLimit(_request, reply) {
          reply.code(420).header('x-host', '1')
          return body
        }
      }
    })
    await test.post('/auth/forgot-password', { username: 'ada' })
    const pages = test.sent.length
    const reply = await test.post('/auth/forgot-password', { username: 'ada' })
    t.equal(reply.statusCode, 420)
    t.equal(reply.headers['x-host'], '1')
    t.equal(reply.headers['retry-after'], '60')
    if (expected !== undefined) t.equal(reply.body, expected)
    t.equal(test.sent.length, expected === undefined ? pages + 1 : pages)
  }
})

// covers ASVS-2.2.2
t.test('answers hostile bodies with 400, 413 or 415 and an HTML page, and sends no message', async (t) => {
  const test = await pagesApp(t, { limits: {} })
  const form = 'application/x-www-form-urlencoded'
  const table: Array<[string, string, string, number]> = [
    ['JSON', 'application/json', '{"username":"ada"}', 415],
    ['text', 'text/plain', 'username=ada', 415],
    ['multipart', 'multipart/form-data; boundary=x', '--x--', 415],
    ['nonsense', 'x', 'username=ada', 415],
    ['a repeated field', form, 'username=ada&username=eve', 400],
    ['a repeated field, spelled otherwise', form, 'username=ada&%75sername=eve', 400],
    ['too many fields', form, Array.from({ length: 65 }, (_, index) => `f${index}=`).join('&'), 400],
    ['too large', form, `username=${'x'.repeat(16_384)}`, 413]
  ]
  for (const name of POSTS) {
    for (const [what, type, payload, status] of table) {
      const reply = await test.post(`/auth/${name}`, payload, { ...OWN, 'content-type': type })
      t.equal(reply.statusCode, status, `${name}: ${what}`)
      t.match(reply.headers['content-type'], /^text\/html/)
      t.equal(reply.headers['cache-control'], 'no-store')
      t.match(
        test.last(),
        { page: 'error', content: { error: { error: 'invalid_request' } }, settings: { statusCode: status } },
        `${name}: ${what}`
      )
    }
    for (const payload of [
      '',
      '&&&',
      '=',
      '%',
      '%00=%ff',
      '__proto__=x&constructor=y&username[]=z',
      'token[]=x&password[$ne]='
    ]) {
      const reply = await test.post(`/auth/${name}`, payload, { ...OWN, 'content-type': `${form}; charset=UTF-8` })
      t.equal(reply.statusCode, 400, `${name}: ${payload}`)
    }
  }
  t.equal(
    (await test.app.inject({ method: 'POST', url: '/auth/signup', headers: OWN })).statusCode,
    400,
    'no body at all'
  )
  t.equal(test.last().page, 'signup')
  t.equal(({} as Record<string, unknown>).x, undefined)
  await test.w.idle()
  t.strictSame(test.w.messages, [])
})

// covers R6749-10.12
t.test('reads the token of a link only from a single parameter, also next to broken percent-encoding', async (t) => {
  const test = await pagesApp(t)
  await test.w.addUser()
  const token = await test.resetToken()
  for (const url of [
    `/auth/reset-password?token[]=${token}`,
    `/auth/reset-password?token=${token}&token=x`,
    `/auth/reset-password#?token=${token}`
  ])
    t.equal((await test.get(url)).statusCode, 400, url)
  t.equal((await test.get(`/auth/reset-password?x=%ff&token=${token}`)).statusCode, 200)
})

// covers ASVS-16.5.1
t.test('answers an unexpected error with 503 and a constant text, and logs its cause', async (t) => {
  const boom = new Error('SQLITE_IOERR: disk I/O error')
  const test = await pagesApp(t, {
    users: (store) => ({
      ...store,
      async create() {
        throw boom
      },
      async findById() {
        throw boom
      }
    })
  })
  const token = await test.resetToken((await test.w.addUser()).username)
  const shown = async (reply: Awaited<ReturnType<PagesApp['get']>>, page: string): Promise<void> => {
    t.equal(reply.statusCode, 503)
    t.equal(reply.headers['retry-after'], '5')
    t.match(test.last(), {
      page,
      content: {
        error: {
          error: 'temporarily_unavailable',
          text: 'The service is not available right now. Please try again in a moment.',
          field: null
        }
      }
    })
    t.match(
      test.logged.findLast(({ level }) => level === 50),
      { err: { message: boom.message } }
    )
  }
  await shown(await test.post('/auth/signup', { username: 'eve', password: PASSWORD }), 'signup')
  t.match(test.last().content, { username: 'eve' })
  await shown(await test.post('/auth/reset-password', { token, password: NEXT_PASSWORD }), 'reset_password')
  await shown(await test.get(`/auth/reset-password?token=${token}`), 'error')
  t.notOk(JSON.stringify(test.sent).includes('SQLITE'))
})

t.test('answers 503 with Retry-After when the hashing queue is full, and keeps the reset link valid', async (t) => {
  const test = await pagesApp(t)
  await test.w.addUser()
  const token = await test.resetToken()
  const { hash } = test.w.deps.hashing
  test.w.deps.hashing.hash = async () => {
    throw new OAuthError('temporarily_unavailable', 'Too busy.', { headers: { 'retry-after': '2' } })
  }
  for (const [name, page] of [
    ['signup', 'signup'],
    ['reset-password', 'reset_password']
  ] as const) {
    const reply = await test.post(`/auth/${name}`, { username: 'eve', token, password: NEXT_PASSWORD })
    t.equal(reply.statusCode, 503)
    t.equal(reply.headers['retry-after'], '2')
    t.match(test.last(), { page, content: { error: { error: 'temporarily_unavailable' } } })
  }
  test.w.deps.hashing.hash = hash
  t.equal((await test.post('/auth/reset-password', { token, password: NEXT_PASSWORD })).statusCode, 303)
})

t.test('answers 503 in plain text when the error page fails too', async (t) => {
  const test = await pagesApp(t, {
    deps: ({ pages }) => ({
      pages: {
        ...pages,
        async send() {
          throw new Error('render')
        }
      }
    })
  })
  for (const reply of [await test.get('/auth/signup'), await test.post('/auth/signup', '', { origin: 'null' })]) {
    t.equal(reply.statusCode, 503)
    t.equal(reply.body, 'The service is not available at the moment.')
    t.match(reply.headers['content-type'], /^text\/plain/)
  }
})

t.test("passes errors of a host's hook to the host's error handler", async (t) => {
  const test = await pagesApp(t, {
    host(app) {
      app.addHook('onRequest', async (request) => {
        if (request.headers['x-blocked'] !== undefined) throw Object.assign(new Error('blocked'), { statusCode: 418 })
      })
      app.setErrorHandler((error, _request, reply) => {
        void reply.code((error as { statusCode?: number }).statusCode ?? 500).send({ host: (error as Error).message })
      })
    }
  })
  const reply = await test.get('/auth/signup', { 'x-blocked': '1' })
  t.equal(reply.statusCode, 418)
  t.strictSame(reply.json(), { host: 'blocked' })
  t.strictSame(test.sent, [])
  t.equal((await test.post('/auth/signup', '', {})).statusCode, 403)
  t.equal(test.last().page, 'error', 'and ours do not')
})

t.test('puts no token and no password into the links and redirects of the account pages', async (t) => {
  const test = await pagesApp(t)
  const good = await forms(test)
  const secrets = [PASSWORD, NEXT_PASSWORD, good['reset-password'].token ?? '', good['verify-email'].token ?? '']
  for (const name of POSTS) {
    const query = String(new URLSearchParams({ ...good[name], return_to: '/cart' }))
    await test.get(`/auth/${name}?${query}`)
    const { headers } = await test.post(`/auth/${name}?${query}`, good[name])
    t.notOk(secrets.some((secret) => String(headers.location).includes(secret)))
  }
  for (const {
    content: { action, loginUrl, homeUrl }
  } of test.sent)
    for (const url of [action, loginUrl, homeUrl])
      t.notOk(secrets.some((secret) => decodeURIComponent(String(url).replaceAll('+', ' ')).includes(secret)))
})

t.test('gives each account page route a schema with a summary', async (t) => {
  const seen: Array<{ url: string; method: unknown; schema: unknown }> = []
  await pagesApp(t, {
    host: (app) => {
      app.addHook('onRoute', ({ url, method, schema }) => {
        seen.push({ url, method, schema })
      })
    }
  })
  for (const name of POSTS) {
    for (const method of ['GET', 'POST'])
      t.match(
        seen.find((route) => route.url === `/auth/${name}` && route.method === method),
        { schema: { summary: /\w/ } },
        `${method} ${name}`
      )
  }
})
