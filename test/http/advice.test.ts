/** A developer's mistake is one line at `warn`, with the received and the expected value. */
import t, { type Test } from '../support/tap.ts'
import { type AuthorityOptions, memoryUserStore, type User } from '../../lib/index.ts'
import { PASSWORD, signIn, signUp, testApp } from '../support/app.ts'
import { logLines } from '../support/log-lines.ts'
import { turns } from '../unit/accounts/world.ts'
import { authorizePath, CALLBACK, openidApp, type OpenidApp } from '../support/openid.ts'

const OTHER = 'http://127.0.0.1:3000'
const MINUTE_MS = 60_000

interface Heard extends OpenidApp {
  /** The code and text of each line so far, except those of the test app's own routes. */
  heard(): Array<[unknown, string]>
}

async function listened(t: Test, options: Partial<AuthorityOptions> = {}): Promise<Heard> {
  const { lines, stream } = logLines()
  const subject = await openidApp(options, { logger: { level: 'warn', stream } })
  t.teardown(subject.close)
  return {
    ...subject,
    heard: () =>
      lines.filter(({ code }) => code !== 'FST_AUTHORITY_UNKNOWN_SCOPE').map(({ code, msg }) => [code, String(msg)])
  }
}

const logoutPath = (uri: string): string =>
  `/auth/logout?${String(new URLSearchParams({ client_id: 'spa', post_logout_redirect_uri: uri }))}`

t.test('logs an unregistered redirect URI once a minute, and shows it on the page', async (t) => {
  const { browser, clock, heard } = await listened(t)
  const sent = `${CALLBACK}/?secret=1`
  for (let time = 0; time < 3; time++) {
    const page = await browser.get(authorizePath({ redirect_uri: sent }))
    t.equal(page.statusCode, 400)
    t.match(page.body, `<code dir="ltr">${sent}</code>`)
  }
  t.match(heard(), [
    [
      'FST_AUTHORITY_CLIENT_MISFIT',
      /the client "spa" sent "https:\/\/app\.example\/cb\/", which is not in its redirectUris \("https:\/\/app\.example\/cb"/
    ]
  ])
  t.equal(heard().length, 1)
  t.notMatch(heard()[0]?.[1], /secret/, 'a query may hold one')
  clock.step(MINUTE_MS - 1)
  await browser.get(authorizePath({ redirect_uri: sent }))
  t.equal(heard().length, 1)
  clock.step(1)
  await browser.get(authorizePath({ redirect_uri: sent }))
  t.equal(heard().length, 2)
})

t.test('logs the unregistered address of a sign-out, and unknown clients, once a minute', async (t) => {
  const { browser, clock, heard } = await listened(t)
  for (let time = 0; time < 3; time++) {
    t.equal((await browser.get(logoutPath('https://app.example/x'))).statusCode, 400)
    t.equal((await browser.get(authorizePath({ client_id: `nobody-${time}` }))).statusCode, 400)
    t.equal((await browser.get('/auth/logout?client_id=nobody')).statusCode, 400)
  }
  t.match(heard(), [
    [
      'FST_AUTHORITY_CLIENT_MISFIT',
      /"https:\/\/app\.example\/<1 characters>", which is not in its postLogoutRedirectUris/
    ],
    ['FST_AUTHORITY_CLIENT_MISFIT', /the client "nobody-0", which is not registered/]
  ])
  t.equal(heard().length, 2, 'all unknown clients are one cause')
  clock.step(MINUTE_MS)
  await browser.get(logoutPath('https://app.example/x'))
  await browser.get(authorizePath({ client_id: 'nobody-3' }))
  t.match(heard().slice(2), [
    ['FST_AUTHORITY_CLIENT_MISFIT', /which is not in its postLogoutRedirectUris/],
    ['FST_AUTHORITY_CLIENT_MISFIT', /the client "nobody-3", which is not registered/]
  ])
})

t.test('masks the unknown segments of an unregistered path in the log', async (t) => {
  const { browser, clock, heard } = await listened(t)
  for (const uri of [`${CALLBACK}/s3cret/cb`, 'https:s3cret', 'app:/s3cret', 'https://app.example\\s3cret']) {
    t.equal((await browser.get(authorizePath({ redirect_uri: uri }))).statusCode, 400, uri)
    clock.step(MINUTE_MS)
  }
  t.equal(heard().length, 4)
  t.notMatch(JSON.stringify(heard()), /s3cret/)
  t.match(heard()[0]?.[1], /sent "https:\/\/app\.example\/cb\/<6 characters>\/cb", which is not/)
})

t.test('escapes a rejected redirect URI on the error page, and omits other text and credentials', async (t) => {
  const { browser } = await listened(t)
  for (const none of ['a password', 'https://ann:password@app.example/'])
    t.notMatch((await browser.get(authorizePath({ redirect_uri: none }))).body, /a(?:%20)?password|:password/, none)
  const { body } = await browser.get(authorizePath({ redirect_uri: 'https://app.example/call <b>me</b> "now"' }))
  t.match(body, '<code dir="ltr">https://app.example/call%20&lt;b&gt;me&lt;/b&gt;%20&quot;now&quot;</code>')
})

t.test('names the parameter in the debug line of a refused request', async (t) => {
  const { lines, stream } = logLines()
  const { browser, close } = await openidApp({}, { logger: { level: 'debug', stream } })
  t.teardown(close)
  for (const path of [
    '/auth/authorize',
    authorizePath({ client_id: 'nobody' }),
    authorizePath({ redirect_uri: undefined }),
    authorizePath({ redirect_uri: 'https://x.example' }),
    logoutPath('https://x.example')
  ])
    t.equal((await browser.get(path)).statusCode, 400)
  t.same(
    lines.filter(({ msg }) => msg === 'fastify-authority: request refused').map(({ detail }) => detail),
    [
      'client_id is missing',
      'client_id is not registered',
      'redirect_uri of the client spa is missing',
      'redirect_uri is not registered for the client spa',
      'post_logout_redirect_uri is not registered'
    ]
  )
})

for (const [kind, options] of [
  ['listed clients', {}],
  ['a client store', { clients: { findById: async () => null } }]
] as const)
  t.test(`logs the origin of a rejected form once a minute unless it is cross-site, with ${kind}`, async (t) => {
    const { app, clock, heard } = await listened(t, options)
    const post = async (url: string, type: string, headers: Record<string, string>): Promise<number> =>
      (await app.inject({ method: 'POST', url, headers: { 'content-type': type, ...headers }, payload: '' })).statusCode
    const form = 'application/x-www-form-urlencoded'
    for (let time = 0; time < 3; time++) {
      t.equal(await post('/auth/login', form, { origin: OTHER }), 403)
      t.equal(await post('/auth/login', form, { origin: 'http://box.test' }), 403)
      t.equal(await post('/auth/token', form, { origin: OTHER }), 403)
    }
    const count = heard().length
    // Any site can make its visitors' browsers send these requests.
    t.equal(await post('/auth/login', form, { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }), 403)
    t.equal(await post('/auth/login', form, { origin: 'null' }), 403)
    await app.inject({ method: 'GET', url: '/auth/session', headers: { origin: OTHER } })
    t.equal(heard().length, count)
    t.match(heard(), [
      [
        'FST_AUTHORITY_ORIGIN_MISFIT',
        /a form came from http:\/\/127\.0\.0\.1:3000, the issuer is http:\/\/localhost:3000: open the pages there, or set issuer/
      ],
      ['FST_AUTHORITY_ORIGIN_MISFIT', /a form came from http:\/\/box\.test,/]
    ])
    t.equal(count, 2, 'a request of no form is not told of')
    clock.step(MINUTE_MS)
    for (let time = 0; time < 3; time++) await post('/auth/login', form, { origin: OTHER })
    t.match(heard().slice(count), [['FST_AUTHORITY_ORIGIN_MISFIT', /a form came from http:\/\/127\.0\.0\.1:3000,/]])
    t.equal(heard().length, count + 1)
  })

t.test('logs at most twenty invented origins a minute, and still logs an unknown client', async (t) => {
  const { app, clock, heard } = await listened(t)
  const invent = async (): Promise<void> => {
    for (let host = 0; host < 30; host++)
      await app.inject({
        method: 'POST',
        url: '/auth/login',
        headers: { origin: `https://h${host}.example`, 'content-type': 'application/x-www-form-urlencoded' }
      })
  }
  await invent()
  t.equal(heard().length, 20)
  await app.inject({ method: 'GET', url: authorizePath({ client_id: 'nobody' }) })
  t.match(heard()[20], ['FST_AUTHORITY_CLIENT_MISFIT', /nobody/], 'and silence no other line')
  clock.step(MINUTE_MS)
  await invent()
  t.equal(heard().length, 41)
})

t.test('logs a failing sendMessage immediately, then at most once a minute, without the emailed link', async (t) => {
  const lines = logLines()
  const { app, clock, close } = await testApp(
    {
      sendMessage({ kind, url }) {
        throw new Error(`no route to the mail server for ${kind} ${String(url)}`)
      }
    },
    { logger: { level: 'warn', stream: lines.stream } }
  )
  t.teardown(close)
  await signUp(app, 'ann@example.com')
  const retried = (): Array<Record<string, unknown>> =>
    lines.lines.filter(({ code }) => code === 'FST_AUTHORITY_MESSAGE_RETRIED')
  await turns()
  t.match(retried(), [
    {
      level: 40,
      msg: /sendMessage failed for a message verify_email; it is tried again in 1 s/,
      err: { message: /no route to the mail server for verify_email \[removed\]/ }
    }
  ])
  clock.step(1_000)
  await turns()
  t.equal(retried().length, 1, 'the second failure is not told of')
  const ask = async (username: string): Promise<void> => {
    await signUp(app, username)
    await turns()
  }
  await ask('bob@example.com')
  t.equal(retried().length, 1, 'nor another message of this kind in this minute')
  clock.step(MINUTE_MS)
  await turns()
  await ask('eve@example.com')
  t.equal(retried().length, 2, 'after a minute')
})

t.test('rejects JSON posted to a page with 415, and points to the token endpoint in JSON', async (t) => {
  const { app } = await listened(t)
  for (const url of ['/auth/login', '/auth/signup', '/auth/logout', '/auth/forgot-password']) {
    const reply = await app.inject({ method: 'POST', url, payload: { username: 'ann', password: PASSWORD } })
    t.equal(reply.statusCode, 415, url)
    t.match(reply.headers['content-type'], /^application\/json/)
    t.match(reply.json(), { error: 'invalid_request', error_description: /Programs sign in at POST \/auth\/token\./ })
  }
})

t.test('logs a user row without passwordHash as an error of the store', async (t) => {
  const lines = logLines()
  const users = memoryUserStore()
  const { app, close } = await testApp(
    {
      users: {
        ...users,
        async findByUsername(name) {
          return { id: '1', username: name, password_hash: 'x' } as unknown as User
        }
      }
    },
    { logger: { level: 'error', stream: lines.stream } }
  )
  t.teardown(close)
  const reply = await app.inject({
    method: 'POST',
    url: '/auth/token',
    payload: { grant_type: 'password', username: 'ann', password: PASSWORD }
  })
  t.equal(reply.statusCode, 500)
  t.match(lines.lines, [
    {
      code: 'FST_AUTHORITY_STORE_MISFIT',
      msg: /users\.findByUsername: passwordHash is nothing, and there is password_hash; it takes a string, or null/
    }
  ])
})

t.test('memoryUserStore accepts a password in a row, and a username in upper or lower case', async (t) => {
  const { app, close } = await testApp({
    users: memoryUserStore([
      { id: '1', username: 'Ann@Example.com', password: PASSWORD },
      { id: '2', username: 'bob', passwordHash: null }
    ])
  })
  t.teardown(close)
  for (const username of ['ann@example.com', 'Ann@Example.COM']) t.ok((await signIn(app, username)).access_token)
  await t.rejects(signIn(app, 'bob'), { message: /^token: 400/ })
})

t.test('memoryUserStore rejects invalid rows and duplicate usernames', (t) => {
  const rows: Array<[unknown, RegExp]> = [
    [{ id: '1', username: 'ann' }, /memoryUserStore\[0\]: passwordHash is nothing; it takes a string, or null/],
    [{ id: 1, username: 'ann', passwordHash: null }, /memoryUserStore\[0\]: id is a number/],
    [{ id: '1', username: 'a b', passwordHash: null }, /memoryUserStore\[0\]: username is a string; it takes a name/],
    [{ id: '1', username: 'ann', password: 5 }, /memoryUserStore\[0\]: password is a number/]
  ]
  for (const [row, message] of rows) t.throws(() => memoryUserStore([row as User]), { message })
  t.throws(
    () =>
      memoryUserStore([
        { id: '1', username: 'ann', passwordHash: null },
        { id: '2', username: 'Ann', passwordHash: null }
      ]),
    { code: 'FST_AUTHORITY_USERNAME_TAKEN' }
  )
  t.end()
})
