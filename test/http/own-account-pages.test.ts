/** The pages of a person's own account: access, effects of forms, and limits. */
import { cookieName } from '../support/cookies.ts'
import Fastify, { type FastifyInstance } from 'fastify'
import t from '../support/tap.ts'
import cors from '@fastify/cors'
import { Type } from '@sinclair/typebox'
import authPlugin, {
  type AuthorityEvents,
  type AuthorityOptions,
  memoryApiKeyStore,
  memoryFactorStore,
  memoryUserStore,
  type UserStore
} from '../../lib/index.ts'
import { bearer, ISSUER, type LightMyRequestResponse, PASSWORD, signIn, type TestApp, testApp } from '../support/app.ts'
import { formAction, type TestBrowser, testBrowser } from '../support/browser.ts'
import { putApp } from '../support/factors.ts'
import { fakeConnection, fakeUpstream } from '../support/fake-upstream.ts'
import { ownOptions } from './coexistence/support/host.ts'
import { authorizeAs, authorizePath, CLIENTS, KEYS, openidApp } from '../support/openid.ts'

const NEXT = 'a better horse battery'
const PAGES = ['', '/profile', '/email', '/password', '/sessions', '/access', '/remove'].map(
  (page) => `/auth/account${page}`
)
const FORMS: Array<[page: string, form: Record<string, string>]> = [
  ['/auth/account/password', { current_password: PASSWORD, password: NEXT }],
  ['/auth/account/sessions', { decision: 'end_all' }],
  ['/auth/account/access', { client: 'third' }],
  ['/auth/account/profile', { nickname: 'Mallory' }],
  ['/auth/account/email', { email: 'mallory@mail.example', current_password: PASSWORD }],
  ['/auth/account/email', { decision: 'resend' }],
  ['/auth/account/remove', { current_password: PASSWORD }]
]

const FIELDS = Type.Object({
  nickname: Type.Optional(Type.String({ title: 'Nickname', maxLength: 20 })),
  age: Type.Optional(Type.Integer({ minimum: 0 })),
  city: Type.String({ default: 'Ulm' }),
  news: Type.Boolean(),
  tags: Type.Optional(Type.Array(Type.String()))
})

const CHANGES = [
  'password_changed',
  'logged_out',
  'profile_changed',
  'email_change_requested',
  'account_removed',
  'consent_revoked',
  'message_sent'
]
const PROFILE = { city: 'Ulm', news: false }

async function subjectOf(
  t: { teardown(close: () => Promise<void>): void },
  options: Partial<AuthorityOptions> = {}
): Promise<TestApp & { sub: string }> {
  const subject = await testApp({ keys: KEYS, clients: CLIENTS, registration: { fields: FIELDS }, ...options })
  t.teardown(subject.close)
  const { sub } = await subject.app
    .inject({
      method: 'POST',
      url: '/auth/register',
      payload: { username: 'ann', password: PASSWORD, ...(options.registration === undefined ? PROFILE : {}) }
    })
    .then((reply) => reply.json() as { sub: string })
  return { ...subject, sub }
}
async function browserOf(
  { app }: TestApp,
  username = 'ann',
  password = PASSWORD,
  userAgent = 'a test'
): Promise<TestBrowser> {
  const browser = testBrowser(app)
  const reply = await browser.submit('/auth/login', { username, password }, { 'user-agent': userAgent })
  if (reply.statusCode !== 303) throw new Error(`login: ${reply.statusCode}`)
  return browser
}
/** The target of the page's form, whether the page has a form now or not. */
async function actionOf(browser: TestBrowser, page: string): Promise<string> {
  const { body } = await browser.get('/auth/account/sessions')
  return `${page}?${new URL(formAction(body), ISSUER).searchParams.toString()}`
}
/** Opens the page, and posts its form as the page has it. */
async function use(browser: TestBrowser, page: string, form: Record<string, string>): Promise<LightMyRequestResponse> {
  const shown = await browser.get(page)
  if (shown.statusCode !== 200) throw new Error(`${page}: ${shown.statusCode}`)
  const action = formAction(shown.body)
  return await browser.submit(action === '' ? await actionOf(browser, page) : action, form)
}
/** Follows a redirect with the headers of a navigation from our own page. */
const done = async (browser: TestBrowser, reply: LightMyRequestResponse): Promise<LightMyRequestResponse> =>
  await browser.get(reply.headers.location ?? '', { 'sec-fetch-site': 'same-origin' })
const isSignedIn = async (browser: TestBrowser): Promise<boolean> =>
  (await browser.get('/auth/account')).statusCode === 200
const idsIn = (html: string): string[] => [...html.matchAll(/name="session" value="([^"]+)"/g)].map(([, id = '']) => id)

t.test('redirects /.well-known/change-password to the password page, or answers 404 without one', async (t) => {
  const asked = async (options: Partial<AuthorityOptions>): Promise<[number, unknown]> => {
    const { app } = await subjectOf(t, options)
    const { statusCode, headers } = await app.inject({ url: '/.well-known/change-password' })
    return [statusCode, headers.location]
  }
  t.same(await asked({}), [302, '/auth/account/password'])
  t.same(await asked({ prefix: '/id' }), [302, '/id/account/password'])
  t.same(await asked({ pages: false }), [404, undefined])
  t.same(await asked({ pages: { account: false } }), [404, undefined])
  const { setPasswordHash: _, ...users } = memoryUserStore()
  t.same(await asked({ users }), [404, undefined])
})

t.test('serves a host route at /.well-known/change-password, registered before or after the plugin', async (t) => {
  for (const order of ['before', 'after'] as const) {
    const app = Fastify() as unknown as FastifyInstance
    const own = (): void => {
      app.get('/.well-known/change-password', async () => 'a page of the host')
    }
    if (order === 'before') own()
    await app.register(authPlugin, ownOptions())
    if (order === 'after') own()
    const { statusCode, body } = await app.inject({ url: '/.well-known/change-password' })
    t.same([statusCode, body], [200, 'a page of the host'], order)
    t.equal((await app.inject({ method: 'HEAD', url: '/.well-known/change-password' })).statusCode, 200, order)
    await app.close()
  }
})

t.test('redirects a signed-out, unknown or disabled user to the sign-in page and back', async (t) => {
  const users = memoryUserStore()
  const disabled = new Set<string>()
  const store = {
    ...users,
    findById: async (id: string) => {
      const user = await users.findById(id)
      return user === null ? null : { ...user, disabled: disabled.has(id) }
    }
  }
  const subject = await subjectOf(t, { users: store })
  const { app, sub } = subject
  const { access_token: token } = await signIn(app)
  const ann = await browserOf(subject)
  const actions = new Map(await Promise.all(FORMS.map(async ([page]) => [page, await actionOf(ann, page)] as const)))
  disabled.add(sub)
  for (const page of PAGES) {
    const there = `/auth/login?return_to=${encodeURIComponent(page)}`
    for (const [who, reply] of [
      ['nobody', await app.inject({ url: page })],
      ['a token', await app.inject({ url: page, headers: bearer(token) })],
      ['a cookie that is none', await app.inject({ url: page, headers: { cookie: `${cookieName('session')}=x.y` } })],
      ['a disabled user', await ann.get(page)]
    ] as const) {
      t.equal(reply.statusCode, 303, `${who} at ${page}`)
      t.equal(reply.headers.location, there)
      t.equal(reply.headers['cache-control'], 'no-store')
    }
  }
  for (const [page, form] of FORMS) {
    for (const browser of [testBrowser(app), ann]) {
      const reply = await browser.submit(actions.get(page) ?? '', form)
      t.match(
        reply,
        { statusCode: 303, headers: { location: `/auth/login?return_to=${encodeURIComponent(page)}` } },
        page
      )
    }
    t.match(
      await app.inject({
        method: 'POST',
        url: actions.get(page) ?? '',
        headers: {
          ...bearer(token),
          'sec-fetch-site': 'same-origin',
          'content-type': 'application/x-www-form-urlencoded'
        },
        payload: String(new URLSearchParams(form))
      }),
      { statusCode: 303 },
      `${page} with a token`
    )
  }
  disabled.clear()
  t.ok(await isSignedIn(ann), 'nothing was done')
  const back = await testBrowser(app).submit('/auth/login?return_to=%2Fauth%2Faccount%2Fpassword', {
    username: 'ann',
    password: PASSWORD
  })
  t.equal(back.headers.location, '/auth/account/password')
  const kept = await app.inject({ url: '/auth/account?return_to=/app&ui_locales=de' })
  t.equal(
    kept.headers.location,
    `/auth/login?return_to=${encodeURIComponent('/auth/account?return_to=%2Fapp&ui_locales=de')}&ui_locales=de`
  )
  t.match(
    (await ann.get('/auth/account?return_to=/app&ui_locales=de')).body,
    /lang="de"[\s\S]*href="\/auth\/account\/sessions\?return_to=%2Fapp&amp;ui_locales=de"[\s\S]*href="\/app"/
  )
  t.notMatch(
    (await ann.get('/auth/account?client_id=third&redirect_uri=https://third.example/cb')).body,
    /href="\/auth\/authorize/,
    'no way to a client that the address names'
  )
  for (const evil of ['https://evil.example/', '//evil.example', '/\\evil.example', 'javascript:alert(1)']) {
    const { body } = await ann.get(`/auth/account?return_to=${encodeURIComponent(evil)}`)
    // Except for the links to other languages, which contain this address.
    t.notMatch(body.replaceAll(/href="\?[^"]*&amp;ui_locales=/g, ''), /evil|alert/)
  }
})

t.test('rejects account forms from another site with 403, and changes nothing on a GET', async (t) => {
  const subject = await subjectOf(t)
  const ann = await browserOf(subject)
  for (const [page, form] of FORMS) {
    const action = await actionOf(ann, page)
    t.match(action, /\?session=[\w-]+$/)
    for (const headers of [
      { 'sec-fetch-site': 'none', origin: 'https://evil.example' },
      { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' },
      { 'sec-fetch-site': 'same-site', origin: 'http://other.localhost:3000' },
      { 'sec-fetch-site': 'none', origin: 'null' },
      { 'sec-fetch-site': 'none', origin: 'http://localhost:3000.evil.example' }
    ]) {
      const reply = await ann.submit(action, form, headers)
      t.equal(reply.statusCode, 403, `${page} ${JSON.stringify(headers)}`)
    }
    // A GET changes nothing, even with parameters of a form.
    t.equal((await ann.get(`${action}&${String(new URLSearchParams(form))}`)).statusCode, 200)
  }
  t.ok(await isSignedIn(ann))
  t.strictSame(
    subject.events.filter(({ name }) => CHANGES.includes(name)),
    []
  )
})

t.test('ignores a form of an account page that was open while another user signed in', async (t) => {
  const subject = await subjectOf(t)
  const { app } = subject
  await app.inject({
    method: 'POST',
    url: '/auth/register',
    payload: { username: 'bob', password: PASSWORD, ...PROFILE }
  })
  for (const [page, form] of FORMS) {
    const browser = await browserOf(subject)
    const action = await actionOf(browser, page)
    await browser.submit('/auth/login', { username: 'bob', password: PASSWORD })
    for (const address of [action, page, `${page}?session=`, `${page}?session=none`]) {
      const reply = await browser.submit(address, form)
      t.match(reply, { statusCode: 303, headers: { location: `${page}?done=nothing` } }, address)
      t.match((await done(browser, reply)).body, /role="status"[^>]*>Nothing was changed/)
    }
    t.match((await browser.get('/auth/account')).body, /class="chip" title="bob"/)
    t.equal((await browser.submit(`${page}?session=a&session=b`, form)).statusCode, 400)
  }
  t.strictSame(
    subject.events.filter(({ name }) => CHANGES.includes(name) && name !== 'logged_out'),
    []
  )
  await signIn(app, 'bob')
})

t.test('shows a known result note only to a request from our own pages', async (t) => {
  const subject = await subjectOf(t)
  const ann = await browserOf(subject)
  const page = '/auth/account/sessions'
  t.match((await ann.get(`${page}?done=others`, { 'sec-fetch-site': 'same-origin' })).body, /role="status"/)
  for (const site of ['none', 'cross-site', 'same-site'])
    t.notMatch((await ann.get(`${page}?done=others`, { 'sec-fetch-site': site })).body, /role="status"/, site)
  for (const note of ['Your+account+is+hacked', 'constructor', '__proto__', '', 'doneOthers']) {
    const reply = await ann.get(`${page}?done=${note}`, { 'sec-fetch-site': 'same-origin' })
    t.equal(reply.statusCode, 200)
    t.notMatch(reply.body, /role="status"|hacked/, note)
  }
})

t.test('sessions: lists the current session first, and ends one, all others, or all', async (t) => {
  const subject = await subjectOf(t)
  const { app } = subject
  await app.inject({
    method: 'POST',
    url: '/auth/register',
    payload: { username: 'bob', password: PASSWORD, ...PROFILE }
  })
  const page = '/auth/account/sessions'
  const { access_token: token } = await signIn(app)
  const there = await browserOf(
    subject,
    'ann',
    PASSWORD,
    'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) ' +
      'Chrome/140.0.0.0 Safari/537.36 Edg/140.0.0.0'
  )
  subject.clock.step(60_000)
  const here = await browserOf(subject, 'ann', PASSWORD, '<b>"an app"</b>')
  const bob = await browserOf(subject, 'bob')
  const shown = await here.get(page)
  const ids = idsIn(shown.body)
  t.equal(ids.length, 3)
  t.match(shown.body, /&lt;b&gt;&quot;an app&quot;[\s\S]*This browser<[\s\S]*Edge, Windows/)
  t.equal([...shown.body.matchAll(/This browser/g)].length, 1)
  const [own = '', ...others] = ids
  const [bobs = ''] = idsIn((await bob.get(page)).body)

  for (const alien of [bobs, 'nobodys', '../x', '\0', 'x'.repeat(500)]) {
    t.match(await use(here, page, { session: alien }), {
      statusCode: 303,
      headers: { location: `${page}?done=session` }
    })
  }
  t.ok(await isSignedIn(bob), 'not one of another person')
  t.equal(idsIn((await here.get(page)).body).length, 3)
  t.match(await use(here, page, {}), { statusCode: 400 })
  t.match(await use(here, page, { decision: 'end', session: '' }), { statusCode: 400 })

  const theirs = idsIn((await there.get(page)).body)[0] ?? ''
  const ended = await use(here, page, { session: theirs })
  t.match(await done(here, ended), { statusCode: 200, body: /role="status"[^>]*>That sign-in has ended/ })
  t.notOk(await isSignedIn(there))
  t.match(
    await use(here, page, { session: theirs }),
    { statusCode: 303, headers: { location: `${page}?done=session` } },
    'twice'
  )
  t.equal((await app.inject({ url: '/me', headers: bearer(token) })).statusCode, 200)
  t.ok(others.includes(theirs))

  const third = await browserOf(subject)
  t.match(await done(here, await use(here, page, { decision: 'end_others' })), {
    statusCode: 200,
    body: /everywhere else\.</
  })
  t.notOk(await isSignedIn(third))
  t.equal((await app.inject({ url: '/me', headers: bearer(token) })).statusCode, 401)
  t.ok(await isSignedIn(here))

  const out = await use(here, page, { session: own })
  t.match(
    out,
    {
      statusCode: 303,
      headers: {
        location: `/auth/login?return_to=${encodeURIComponent('/auth/account')}`,
        'set-cookie': /=; Max-Age=0/
      }
    },
    'its own: the sign-out'
  )
  t.equal(here.cookies.get(cookieName('session')), undefined)
  const [one, two] = [await browserOf(subject), await browserOf(subject)]
  t.match(await use(one, page, { decision: 'end_all' }), { statusCode: 303, headers: { 'set-cookie': /=; Max-Age=0/ } })
  t.notOk(await isSignedIn(one))
  t.notOk(await isSignedIn(two))
  t.ok(await isSignedIn(bob))
})

t.test('ends a session from before passwordChangedAt of the user store', async (t) => {
  const users = memoryUserStore()
  let passwordChangedAt = 0
  const find = users.findById
  const subject = await subjectOf(t, {
    users: {
      ...users,
      findById: async (id: string) => {
        const user = await find(id)
        return user === null ? null : { ...user, passwordChangedAt }
      }
    }
  })
  const thief = await browserOf(subject)
  await use(thief, '/auth/account/sessions', { decision: 'end_others' })
  t.ok(await isSignedIn(thief))
  subject.clock.step(60_000)
  // A value set directly in the host's database.
  passwordChangedAt = subject.clock.now()
  t.notOk(await isSignedIn(thief))
})

t.test('password: requires the current one, applies the rules and limits, and ends other sessions', async (t) => {
  const subject = await subjectOf(t, { rateLimit: { account: { max: 3 }, login: false } })
  const { app } = subject
  const page = '/auth/account/password'
  const [here, there] = [await browserOf(subject), await browserOf(subject)]
  for (const [form, status, error] of [
    [{ current_password: '', password: NEXT }, 400, /id="current_password-error">Please fill in/],
    [{ current_password: PASSWORD, password: '' }, 400, /id="password-error">Please fill in/],
    [{ current_password: PASSWORD, password: 'short' }, 400, /id="password-error">The password needs at least 8/],
    [
      { current_password: 'not this one', password: NEXT },
      400,
      /id="current_password-error">The current password is wrong/
    ]
  ] as const) {
    const reply = await use(here, page, form)
    t.equal(reply.statusCode, status)
    t.match(reply.body, error)
    t.notMatch(reply.body, new RegExp(`${NEXT}|${PASSWORD}`))
    t.equal([...reply.body.matchAll(/aria-invalid/g)].length, 1)
  }
  const changed = await use(here, page, { current_password: PASSWORD, password: NEXT })
  t.match(changed, { statusCode: 303, headers: { location: `${page}?done=password` } })
  t.match((await done(here, changed)).body, /role="status"[^>]*>Your password has been changed/)
  t.ok(await isSignedIn(here))
  t.notOk(await isSignedIn(there))
  await signIn(app, 'ann', NEXT)
  const tries: number[] = []
  while (tries.length < 5)
    tries.push((await use(here, page, { current_password: 'wrong', password: PASSWORD })).statusCode)
  t.equal(tries.at(-1), 429)
  t.ok(tries.filter((status) => status === 400).length <= 3, 'no more than sign-ins have')
})

t.test('access: lists the clients with a consent, and revokes one', async (t) => {
  const subject = await openidApp()
  t.teardown(subject.close)
  const { browser } = subject
  const page = '/auth/account/access'
  await authorizeAs(browser, authorizePath())
  t.match((await browser.get(page)).body, /You have not given any other app access/)
  const asked = authorizePath({ client_id: 'third', redirect_uri: 'https://third.example/cb', scope: 'openid profile' })
  const consent = await browser.follow(await browser.get(asked))
  await browser.submit(formAction(consent.reply.body), { decision: 'allow' })
  const shown = await browser.get(page)
  t.match(shown.body, /value="third"/)
  t.match(shown.body, /know who you are[\s\S]*see your name and profile details/)
  t.match(await use(browser, page, {}), { statusCode: 400 })
  const { access_token: own } = await subject.app.authority.issueTokens(subject.ann.sub, { clientId: 'spa' })
  for (const other of ['spa', 'nobody', '\0', 'x'.repeat(3000)])
    t.equal((await use(browser, page, { client: other })).statusCode, 303)
  t.equal(
    (await subject.app.inject({ url: '/me', headers: bearer(own) })).statusCode,
    200,
    'a client that was allowed nothing loses nothing'
  )
  t.match((await browser.get(page)).body, /value="third"/)
  const told: AuthorityEvents['consent_revoked'][] = []
  subject.app.authority.on('consent_revoked', (payload) => {
    told.push(payload)
  })
  const ended = await use(browser, page, { client: 'third' })
  const [here] = (await subject.app.authority.sessions(subject.ann.sub)).filter(({ kind }) => kind === 'browser')
  t.match(told, [{ userId: subject.ann.sub, sid: here?.id, clientId: 'third', by: 'user' }])
  t.match((await done(browser, ended)).body, /role="status"[^>]*>The app no longer has access[\s\S]*You have not given/)
  t.equal((await browser.submit(ended.headers.location ?? '', { client: 'third' })).statusCode, 303, 'twice')
  t.match(
    (await browser.follow(await browser.get(asked))).reply.body,
    /wants access to your account/,
    'it is asked again'
  )
})

t.test('hides actions that the store lacks, answers 404 without the pages, and follows a moved login', async (t) => {
  const users = memoryUserStore()
  const bare = { create: users.create, findById: users.findById, findByUsername: users.findByUsername }
  const poor = await subjectOf(t, { users: bare, clients: [] })
  const links = async (subject: TestApp): Promise<string[]> =>
    [...(await (await browserOf(subject)).get('/auth/account')).body.matchAll(/<li><a href="(\/[^"]+)"/g)].map(
      ([, url = '']) => url
    )
  t.strictSame(await links(poor), ['/auth/account', '/auth/account/sessions', '/auth/account/sessions'])
  for (const page of ['password', 'access'])
    t.equal((await (await browserOf(poor)).get(`/auth/account/${page}`)).statusCode, 404)
  const without = await subjectOf(t, { pages: { account: false } })
  for (const page of PAGES) t.equal((await without.app.inject({ url: page })).statusCode, 404, page)
  const moved = await subjectOf(t, { paths: { login: '/sign-in' } })
  const browser = testBrowser(moved.app)
  await browser.submit('/sign-in', { username: 'ann', password: PASSWORD })
  t.match((await browser.get('/auth/account')).body, /href="\/auth\/account\/sessions"/)
  t.equal((await browser.get('/auth/account/sessions')).statusCode, 200)
})

t.test('answers 503 with a page while the user store is down, and keeps the user signed in', async (t) => {
  let down = false
  const failing = <Store extends object>(store: Store, only: (name: string) => boolean = () => true): Store =>
    new Proxy(store, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name)
        return typeof value === 'function'
          ? async (...args: unknown[]) => {
              if (down && only(String(name))) throw new Error('the store is down')
              return await (value as (...args: unknown[]) => unknown).apply(target, args)
            }
          : value
      }
    })
  const users = memoryUserStore()
  const subject = await subjectOf(t, { users: failing(users) })
  const ann = await browserOf(subject)
  const actions = await Promise.all(FORMS.map(async ([page, form]) => [await actionOf(ann, page), form] as const))
  down = true
  for (const page of PAGES) t.match(await ann.get(page), { statusCode: 503, headers: { 'content-type': /html/ } }, page)
  for (const [action, form] of actions)
    t.match(await ann.submit(action, form), { statusCode: 503, headers: { 'content-type': /html/ } }, action)
  down = false
  t.ok(await isSignedIn(ann))
})

t.test('shows each row of the account page with its state, or without it while its store is down', async (t) => {
  const failed = new Set<string>()
  const failing = <Store extends object>(store: Store, method: keyof Store & string): Store => ({
    ...store,
    [method]: async (...args: unknown[]) => {
      if (failed.has(method)) throw new Error('the store is down')
      return await (store[method] as (...args: unknown[]) => unknown)(...args)
    }
  })
  const memory = memoryUserStore()
  let tells: object = {}
  const users: UserStore = {
    ...failing(memory, 'listIdentities'),
    findById: async (id) => {
      const user = await memory.findById(id)
      return user === null ? null : { ...user, ...tells }
    }
  }
  const factors = memoryFactorStore()
  const subject = await subjectOf(t, {
    users,
    secret: 'a secret of the deployment, at least 32 long',
    factors: failing(factors, 'findFactors'),
    apiKeys: { store: failing(memoryApiKeyStore(), 'list') },
    connections: [fakeConnection(fakeUpstream())]
  })
  const ann = await browserOf(subject)
  const rows = async (): Promise<Record<string, string>> => {
    const { statusCode, body } = await ann.get('/auth/account')
    t.equal(statusCode, 200)
    t.notMatch(body, /role="alert"/)
    return Object.fromEntries(
      [...body.matchAll(/<li><a href="[^"]+\/([^"/]+)"><span data-icon.*?<\/a>/gs)].map(([row, name = '']) => [
        name,
        (/<small>.*<\/small>/s.exec(row)?.[0] ?? '').replace(/<[^>]+>/g, '')
      ])
    )
  }
  const none = {
    profile: '',
    email: '',
    security: 'Passkeys 0 · Two-step sign-in Off',
    password: '',
    connections: '0',
    sessions: '1',
    access: '0',
    'api-keys': '0'
  }
  t.strictSame(await rows(), none)

  await browserOf(subject)
  await putApp({ store: factors, sub: subject.sub })
  await users.linkIdentity?.(subject.sub, {
    connection: 'fake',
    issuer: 'https://fake.example',
    subject: '1',
    linkedAt: 1,
    lastUsedAt: 1
  })
  await subject.app.authority.apiKeys.create({ userId: subject.sub, name: 'one' })
  tells = { passwordChangedAt: 1, email: 'ann@mail.example', emailVerified: true }
  const all = await rows()
  t.match(all, {
    security: 'Passkeys 0 · Two-step sign-in On',
    password: /^Changed January 1, 1970/,
    sessions: '2',
    access: '0'
  })
  // An empty address is none, and so is a name with an @ that is no address.
  for (const none of [{ email: '' }, { email: undefined, username: '@ann' }]) {
    tells = none
    t.equal((await rows())['email'], '', JSON.stringify(none))
  }
  tells = { passwordChangedAt: 1, email: 'ann@mail.example', emailVerified: true }
  for (const method of ['findFactors', 'list', 'listIdentities']) failed.add(method)
  t.strictSame(await rows(), { ...all, security: '', connections: '', 'api-keys': '' })
})

t.test('sends security headers with the pages, and lets no other origin read them', async (t) => {
  const subject = await subjectOf(t)
  const ann = await browserOf(subject)
  for (const page of PAGES) {
    const { headers } = await ann.get(page, { origin: 'https://spa.example' })
    t.match(
      headers,
      {
        'cache-control': 'no-store',
        'x-frame-options': 'DENY',
        'content-security-policy': /default-src 'none'.*form-action 'self'; frame-ancestors 'none'/,
        vary: /Cookie/
      },
      page
    )
    t.equal(headers['access-control-allow-origin'], undefined)
  }
  const withCors = await testApp(
    { keys: KEYS, clients: CLIENTS, registration: { fields: FIELDS } },
    {},
    async (app) => {
      await app.register(cors, { origin: 'https://spa.example', credentials: true, methods: ['DELETE'] })
    }
  )
  t.teardown(withCors.close)
  for (const page of PAGES) {
    const { headers } = await withCors.app.inject({ url: page, headers: { origin: 'https://spa.example' } })
    t.equal(headers['access-control-allow-origin'], undefined, `${page} beside the host's CORS plugin`)
  }
  const preflight = await withCors.app.inject({
    method: 'OPTIONS',
    url: '/auth/account',
    headers: { origin: 'https://spa.example', 'access-control-request-method': 'DELETE' }
  })
  t.match(
    preflight,
    {
      statusCode: 204,
      headers: { 'access-control-allow-origin': 'https://spa.example', 'access-control-allow-methods': 'DELETE' }
    },
    'which still answers for the JSON endpoint at the path of the page'
  )
})

t.test('profile: shows and changes only the fields that the user may edit', async (t) => {
  const users = memoryUserStore()
  const subject = await subjectOf(t, { users })
  const ann = await browserOf(subject)
  const page = '/auth/account/profile'
  const user = async (): Promise<Record<string, unknown>> => ({ ...(await users.findById(subject.sub)) })
  t.match(
    (await ann.get(page)).body,
    /name="nickname"[\s\S]*name="age"[\s\S]*name="city"[^>]*value="Ulm"[\s\S]*name="news"/
  )
  t.notMatch((await ann.get(page)).body, /name="tags"|name="username"|name="password"/)
  const same = { nickname: '', age: '', city: 'Ulm' }
  const saved = await use(ann, page, {
    ...same,
    nickname: '<b>Annie</b>',
    age: '41',
    news: 'true',
    username: 'root',
    email: 'x@y.example',
    emailVerified: 'true',
    disabled: '',
    passwordHash: 'x',
    role: 'admin',
    tags: 'x'
  })
  t.match((await done(ann, saved)).body, /role="status"[^>]*>Your profile has been saved[\s\S]*value="&lt;b&gt;Annie/)
  t.match(await user(), { nickname: '<b>Annie</b>', age: 41, news: true, city: 'Ulm', username: 'ann' })
  t.strictSame(
    Object.keys(await user()).filter((name) => ['role', 'tags', 'disabled', 'email'].includes(name)),
    []
  )
  for (const [form, field] of [
    [{ ...same, nickname: 'x'.repeat(21) }, 'nickname'],
    [{ ...same, age: '-1' }, 'age'],
    [{ ...same, age: '1.5' }, 'age'],
    [{ ...same, city: '' }, 'city'],
    [{ ...same, news: 'maybe' }, 'news']
  ] as const) {
    const reply = await use(ann, page, form)
    t.equal(reply.statusCode, 400)
    t.match(reply.body, new RegExp(`id="${field}-error"`), field)
  }
  // Another device changes the nickname while the page is open.
  const before = await ann.get(page)
  await users.update?.(subject.sub, { nickname: 'Anna' })
  await ann.submit(formAction(before.body), { nickname: 'Anna', age: '', city: 'Bern', news: 'true' })
  t.match(await user(), { nickname: 'Anna', city: 'Bern', news: true })
  t.notOk((await user()).age, 'an emptied one is gone')
})

t.test('email address: sends a link to the new address, and requires the password after an old sign-in', async (t) => {
  const users = memoryUserStore()
  const subject = await subjectOf(t, { users, registration: { username: 'email' } })
  const { app, clock, messages } = subject
  await app.inject({
    method: 'POST',
    url: '/auth/register',
    payload: { username: 'eve@mail.example', password: PASSWORD }
  })
  await messages.next('verify_email')
  const eve = await browserOf(subject, 'eve@mail.example')
  const page = '/auth/account/email'
  t.match((await eve.get(page)).body, /eve@mail\.example<\/bdi><\/b> isn’t confirmed yet[\s\S]*value="resend"/)
  t.notMatch((await eve.get(page)).body, /name="current_password"/, 'just signed in')
  clock.step(5 * 60_000 - 1)
  t.match(await done(eve, await use(eve, page, { decision: 'resend' })), {
    statusCode: 200,
    body: /role="status"[^>]*>We’ve sent a link/
  })
  const open = await eve.get(page)
  clock.step(2)
  t.match((await eve.get(page)).body, /name="current_password"/)
  for (const [form, error] of [
    [{ email: 'new@mail.example' }, /id="current_password-error">Please fill in/],
    [
      { email: 'new@mail.example', current_password: 'not this one' },
      /id="current_password-error">The current password is wrong/
    ],
    [{ email: '', current_password: PASSWORD }, /id="email-error">Please fill in/],
    [{ email: 'none', current_password: PASSWORD }, /id="email-error">This is not a valid/],
    [{ email: 'eve@mail.example', current_password: PASSWORD }, /id="email-error">This is your email already/]
  ] as const) {
    const reply = await eve.submit(formAction(open.body), form)
    t.equal(reply.statusCode, 400)
    t.match(reply.body, error)
    t.notMatch(reply.body, new RegExp(PASSWORD))
    if (form.email !== '') t.match(reply.body, `value="${form.email}"`)
  }
  t.strictSame(
    subject.events.filter(({ name }) => name === 'email_change_requested'),
    []
  )
  t.match(
    (await done(eve, await use(eve, page, { email: 'new@mail.example', current_password: PASSWORD }))).body,
    /role="status"[^>]*>We’ve sent a link to the new email/
  )
  const { url } = await messages.next('email_change')
  t.match((await eve.get(page)).body, /eve@mail\.example/, 'nothing has changed yet')
  t.equal(
    (await use(eve, url.replace(ISSUER, ''), { token: new URL(url).searchParams.get('token') ?? '' })).statusCode,
    303
  )
  t.match((await eve.get(page)).body, /new@mail\.example<\/bdi><\/b> is confirmed/)
})

t.test('deletion: requires the password even after a fresh sign-in, and ends every session', async (t) => {
  const users = memoryUserStore()
  const subject = await subjectOf(t, { users })
  const { app, sub } = subject
  const page = '/auth/account/remove'
  const [here, there] = [await browserOf(subject), await browserOf(subject)]
  const { access_token: token } = await signIn(app)
  const action = await actionOf(here, page)
  for (const form of [{}, { current_password: '' }, { current_password: 'not this one' }, { password: PASSWORD }]) {
    const reply = await here.submit(action, form)
    t.equal(reply.statusCode, 400)
    t.match(reply.body, /id="current_password-error"/)
  }
  t.ok(await users.findById(sub))
  const gone = await here.submit(action, { current_password: PASSWORD })
  t.match(gone, { statusCode: 303, headers: { location: `${page}?done=removed`, 'set-cookie': /=; Max-Age=0/ } })
  t.match(await done(here, gone), { statusCode: 200, body: /Your account has been deleted/ })
  t.equal(await users.findById(sub), null)
  t.notOk(await isSignedIn(there))
  t.equal((await app.inject({ url: '/me', headers: bearer(token) })).statusCode, 401)
  t.equal(
    (await here.submit(action, { current_password: PASSWORD })).headers.location,
    `/auth/login?return_to=${encodeURIComponent(page)}`,
    'twice'
  )
  t.equal((await here.get(`${page}?done=removed`)).statusCode, 303, 'a link from elsewhere says nothing of it')
})

t.test('asks a user without a password to sign in again for guarded actions', async (t) => {
  const users = memoryUserStore()
  const find = users.findById
  const subject = await testApp(
    {
      keys: KEYS,
      clients: [],
      users: {
        ...users,
        findById: async (id) => {
          const user = await find(id)
          return user === null ? null : { ...user, passwordHash: null }
        }
      }
    },
    {},
    (app) => {
      app.post('/host/sign-in', async (request, reply) => {
        await app.authority.signIn(request, reply, (await users.findByUsername('key@mail.example'))?.id ?? '')
        return {}
      })
    }
  )
  t.teardown(subject.close)
  const { id } = await users.create({ username: 'key@mail.example', email: 'key@mail.example', passwordHash: 'none' })
  const browser = testBrowser(subject.app)
  const reply = await subject.app.inject({ method: 'POST', url: '/host/sign-in' })
  for (const { name, value } of reply.cookies) browser.cookies.set(name, value)
  t.match((await browser.get('/auth/account/password')).body, /Your account has no password/)
  const action = await actionOf(browser, '/auth/account/remove')
  subject.clock.step(5 * 60_000 + 1)
  for (const page of ['email', 'remove']) {
    const { body } = await browser.get(`/auth/account/${page}`)
    t.match(body, new RegExp(`href="/auth/reauthenticate\\?return_to=%2Fauth%2Faccount%2F${page}"`))
    t.notMatch(body, /name="current_password"|name="email"/)
  }
  t.equal((await browser.submit(action, {})).statusCode, 401)
  t.equal((await browser.submit(action, { current_password: 'x' })).statusCode, 400)
  t.ok(await users.findById(id))
})

t.test('lists at most fifty sessions, the current one first, and ends all others at once', async (t) => {
  const subject = await subjectOf(t)
  const here = await browserOf(subject)
  for (let i = 0; i < 60; i++) await subject.app.authority.issueTokens(subject.sub, { scope: 'openid' })
  const { body } = await here.get('/auth/account/sessions')
  t.equal(idsIn(body).length, 50)
  t.match(body, /This browser[\s\S]*The list shows the first 50\./)
  await use(here, '/auth/account/sessions', { decision: 'end_others' })
  const after = await here.get('/auth/account/sessions')
  t.equal(idsIn(after.body).length, 1)
  t.notMatch(after.body, /The list shows/)
})
