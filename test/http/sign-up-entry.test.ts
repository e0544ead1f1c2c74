import t from '../support/tap.ts'
import { memoryUserStore } from '../../lib/index.ts'
import { PASSWORD, testApp } from '../support/app.ts'
import { testBrowser } from '../support/browser.ts'
import { answerOf, authorizeAs, authorizePath, CLIENTS, KEYS, openidApp, redeem } from '../support/openid.ts'

const CREATE = { prompt: 'create' }
const HINT = { screen_hint: 'signup' }
const pageOf = (url: string): string => new URL(url, 'http://localhost:3000').pathname

t.test('prompt=create and screen_hint=signup lead through the sign-up page to the client with a code', async (t) => {
  const { app, close } = await openidApp()
  t.teardown(close)
  for (const [index, asked] of [
    CREATE,
    HINT,
    { ...CREATE, ...HINT },
    { prompt: 'create consent' },
    { prompt: 'login create' },
    { ...CREATE, max_age: '0' },
    { prompt: 'login', ...HINT }
  ].entries()) {
    const browser = testBrowser(app)
    const { url, reply } = await browser.follow(await browser.get(authorizePath(asked)))
    t.equal(pageOf(url), '/auth/signup', JSON.stringify(asked))
    t.equal(reply.statusCode, 200)
    const signedUp = await browser.follow(await browser.submit(url, { username: `user-${index}`, password: PASSWORD }))
    const { url: end } =
      pageOf(signedUp.url) !== '/auth/consent'
        ? signedUp
        : await browser.follow(
            await browser.submit(/action="([^"]*)"/.exec(signedUp.reply.body)?.[1]?.replaceAll('&amp;', '&') ?? '', {
              decision: 'allow'
            })
          )
    const { code = '', state } = answerOf(end)
    t.equal(state, 'state-1')
    const tokens = (await redeem(app, code)).json<{ access_token: string }>()
    t.match((await app.inject({ url: '/me', headers: { authorization: `Bearer ${tokens.access_token}` } })).json(), {
      client_id: 'spa'
    })
  }
})

t.test('signs an existing user in from the sign-up page without leading back to it', async (t) => {
  const { app, close } = await openidApp()
  t.teardown(close)
  for (const asked of [CREATE, HINT]) {
    const browser = testBrowser(app)
    const { url, reply } = await browser.follow(await browser.get(authorizePath(asked)))
    const [, link = ''] = /href="([^"]*\/auth\/login\?[^"]*)"/.exec(reply.body) ?? []
    const login = link.replaceAll('&amp;', '&')
    t.equal((await browser.get(login)).statusCode, 200, 'the sign-in page, and no way back')
    t.match(
      answerOf((await browser.follow(await browser.submit(login, { username: 'ann', password: PASSWORD }))).url),
      { code: /./, state: 'state-1' },
      url
    )
  }
})

t.test(
  'shows a signed-in user the sign-up page for prompt=create, and for screen_hint only with another page',
  async (t) => {
    const { browser, close } = await openidApp()
    t.teardown(close)
    await authorizeAs(browser, authorizePath())
    t.equal(pageOf((await browser.follow(await browser.get(authorizePath(CREATE)))).url), '/auth/signup')
    t.match(answerOf((await browser.follow(await browser.get(authorizePath(HINT)))).url), { code: /./ })
    t.equal(
      pageOf((await browser.follow(await browser.get(authorizePath({ ...HINT, prompt: 'login' })))).url),
      '/auth/signup'
    )
  }
)

t.test('rejects prompt=create with none, and ignores other values of screen_hint', async (t) => {
  const { app, close } = await openidApp()
  t.teardown(close)
  t.match(answerOf((await testBrowser(app).get(authorizePath({ prompt: 'none create' }))).headers.location as string), {
    error: 'invalid_request'
  })
  t.match(
    answerOf((await testBrowser(app).get(authorizePath({ prompt: 'none', ...HINT }))).headers.location as string),
    { error: 'login_required' }
  )
  for (const hint of ['login', 'SIGNUP', 'signup ', '']) {
    const browser = testBrowser(app)
    t.equal(
      pageOf((await browser.follow(await browser.get(authorizePath({ screen_hint: hint })))).url),
      '/auth/login',
      hint
    )
  }
})

t.test('asks a new user for consent to a third-party client', async (t) => {
  const { browser, close } = await openidApp()
  t.teardown(close)
  const { url } = await browser.follow(
    await browser.get(authorizePath({ ...CREATE, client_id: 'third', redirect_uri: 'https://third.example/cb' }))
  )
  t.equal(pageOf(url), '/auth/signup')
  t.equal(
    pageOf((await browser.follow(await browser.submit(url, { username: 'bob', password: PASSWORD }))).url),
    '/auth/consent'
  )
})

t.test('without sign-up, omits prompt=create from the metadata and rejects it, and ignores screen_hint', async (t) => {
  const { create: _, ...readOnly } = memoryUserStore()
  for (const options of [{ registration: false }, { users: readOnly }] as const) {
    const { app, close } = await testApp({ keys: KEYS, clients: CLIENTS, ...options })
    t.teardown(close)
    t.strictSame((await app.inject('/.well-known/openid-configuration')).json().prompt_values_supported, [
      'none',
      'login',
      'consent',
      'select_account'
    ])
    t.match(answerOf((await testBrowser(app).get(authorizePath(CREATE))).headers.location as string), {
      error: 'invalid_request',
      state: 'state-1'
    })
    const browser = testBrowser(app)
    t.equal(pageOf((await browser.follow(await browser.get(authorizePath(HINT)))).url), '/auth/login')
  }
})

t.test('opens the sign-up page from the sign-in address for a page of the host', async (t) => {
  const { app, browser, close } = await openidApp()
  t.teardown(close)
  for (const asked of ['prompt=create', 'screen_hint=signup']) {
    const visitor = testBrowser(app)
    const { url } = await visitor.follow(await visitor.get(`/auth/login?return_to=%2Fcart%3Fa%3D1&${asked}`))
    t.equal(url, 'http://localhost:3000/auth/signup?return_to=%2Fcart%3Fa%3D1')
    t.equal(
      (await visitor.submit(url, { username: asked.replace('=', '-'), password: PASSWORD })).headers.location,
      '/cart?a=1'
    )
  }
  await browser.submit('/auth/login', { username: 'ann', password: PASSWORD })
  t.equal((await browser.get('/auth/login?return_to=%2Fcart&screen_hint=signup')).headers.location, '/cart')
  t.equal(
    pageOf((await browser.get('/auth/login?return_to=%2Fcart&prompt=create')).headers.location as string),
    '/auth/signup'
  )
})

t.test('passes screen_hint=signup to the sign-in page of the host', async (t) => {
  const { app, close } = await openidApp({ pages: { loginUrl: '/welcome' } })
  t.teardown(close)
  for (const asked of [CREATE, HINT]) {
    const reply = await testBrowser(app).follow(await testBrowser(app).get(authorizePath(asked)))
    const { searchParams, pathname } = new URL(reply.url)
    t.strictSame([pathname, searchParams.get('screen_hint')], ['/welcome', 'signup'])
    const back = new URL(searchParams.get('return_to') ?? '', 'http://localhost:3000')
    t.strictSame(
      [back.searchParams.get('prompt'), back.searchParams.get('screen_hint')],
      [null, null],
      'and does not come here again'
    )
  }
  t.notMatch((await testBrowser(app).follow(await testBrowser(app).get(authorizePath()))).url, 'screen_hint')
})
