import { cookieName } from '../../support/cookies.ts'
import { randomBytes } from 'node:crypto'
import { Type } from '@sinclair/typebox'
import t from '../../support/tap.ts'
import { memoryFactorStore, memoryUserStore } from '../../../lib/index.ts'
import { altered } from '../../support/altered.ts'
import { bearer, PASSWORD, signIn, signUp } from '../../support/app.ts'
import { formAction, testBrowser } from '../../support/browser.ts'
import { fakeUpstream } from '../../support/fake-upstream.ts'
import { connectApp, type ConnectApp, CROSS, SAME } from './support.ts'

const SPA = { clientId: 'spa', redirectUris: ['https://spa.example/cb'] }
const SPA_QUERY = new URLSearchParams({
  client_id: 'spa',
  redirect_uri: 'https://spa.example/cb',
  response_type: 'code',
  scope: 'openid',
  code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
  code_challenge_method: 'S256'
}).toString()
const CONFIRM = '/auth/connect/confirm'

/** Signs in at the provider with the address of an existing account, so that the link waits for its confirmation. */
async function waiting(
  t: Parameters<typeof connectApp>[0],
  options: Parameters<typeof connectApp>[1] = {}
): Promise<ConnectApp & { users: ReturnType<typeof memoryUserStore>; sub: string }> {
  const users = memoryUserStore()
  const test = await connectApp(t, { users, ...options })
  const { sub } = await signUp(test.app, 'ann@example.com')
  await test.through('?return_to=/cart')
  return { ...test, users, sub }
}

const logIn = async (test: ConnectApp, username = 'ann@example.com', query = '', browser = test.browser) =>
  await browser.submit(`/auth/login${query}`, { username, password: PASSWORD })

t.test('FED-15 links a pending identity only to the account with its address, for ten minutes', async (t) => {
  const test = await waiting(t)
  await signUp(test.app, 'bob@example.com')
  await logIn(test, 'bob@example.com')
  const bob = await test.browser.submit(CONFIRM, { decision: 'link' })
  t.equal(bob.headers.location, '/auth/login', 'the sign-in of another user took the proof away')
  t.strictSame(await test.users.listIdentities(test.sub), [])
  t.strictSame(await test.users.listIdentities((await test.users.findByUsername('bob@example.com'))?.id ?? ''), [])

  await test.through('?return_to=/cart')
  await logIn(test)
  const sealed = test.browser.cookies.get(cookieName('link')) ?? ''
  const edited = await test.browser.submit(CONFIRM, {
    decision: 'link',
    email: 'eve@example.com',
    subject: 'eve',
    userId: 'eve'
  })
  t.equal(edited.headers.location, '/cart')
  t.match(
    await test.users.listIdentities(test.sub),
    [{ subject: 'ann-1', email: 'ann@example.com' }],
    'what is posted beside it changes nothing'
  )

  test.clock.step(600_000)
  await logIn(test)
  test.browser.cookies.set(cookieName('link'), sealed)
  t.equal(
    (await test.browser.submit(CONFIRM, { decision: 'link' })).headers.location,
    '/auth/login',
    'ten minutes later'
  )
  for (const value of ['', 'v1.a.b.c', altered(sealed)]) {
    test.browser.cookies.set(cookieName('link'), value)
    t.equal((await test.browser.get(CONFIRM)).headers.location, '/auth/login')
  }
})

t.test('FED-15 links only the newest identity after a second sign-in at the provider', async (t) => {
  const test = await waiting(t)
  test.fake.person = { subject: 'ann-2', email: 'ann@example.com' }
  await test.through('?return_to=/cart')
  await logIn(test)
  await test.browser.submit(CONFIRM, { decision: 'link' })
  t.match(
    await test.users.listIdentities(test.sub),
    [{ subject: 'ann-2' }],
    'the newest proof counts, and links itself alone'
  )
  t.equal((await test.users.listIdentities(test.sub)).length, 1)
})

t.test('FED-15 links only from the form of our own page, after a fresh sign-in', async (t) => {
  const test = await waiting(t)
  await logIn(test)
  for (const headers of [
    CROSS,
    { 'sec-fetch-site': 'none', origin: 'https://evil.example' },
    { 'sec-fetch-site': '', origin: 'null' }
  ] as Array<Record<string, string>>) {
    t.equal(
      (await test.browser.submit(CONFIRM, { decision: 'link' }, headers)).statusCode,
      403,
      JSON.stringify(headers)
    )
  }
  test.clock.step(301_000)
  t.match((await test.browser.submit(CONFIRM, { decision: 'link' })).body, 'You already have an account', '301 s old')
  t.strictSame(await test.users.listIdentities(test.sub), [])
})

t.test('redirects a password sign-in to the confirm page, unless its return_to differs', async (t) => {
  const test = await waiting(t)
  t.equal((await logIn(test, 'ann@example.com', '?return_to=/elsewhere')).headers.location, '/elsewhere')
  t.equal((await logIn(test, 'ann@example.com', '?return_to=%2Fcart')).headers.location, CONFIRM)
  t.equal((await logIn(test)).headers.location, CONFIRM, 'as after a reset, whose page knows no journey')
})

t.test('offers a link on the confirm page to continue without linking', async (t) => {
  const test = await waiting(t)
  await logIn(test)
  const page = await test.browser.get(CONFIRM)
  t.match(page.body, 'href="/cart"', 'on without it')
  t.equal(formAction(page.body), CONFIRM)
  t.match((await test.browser.get('/auth/login')).body, 'Continue with Acme')
})

t.test('FED-11 ends session, token, password and link of a stranger when the mailbox owner links', async (t) => {
  const test = await waiting(t)
  // The stranger knows the password, has a session, tokens, an open message and a link made by another account at the
  // provider.
  const stranger = testBrowser(test.app)
  await logIn(test, 'ann@example.com', '', stranger)
  const tokens = await signIn(test.app, 'ann@example.com')
  await stranger.submit('/auth/connect/acme/link?return_to=/')
  const flow = test.fake.begun.at(-1)?.flow
  test.fake.person = { subject: 'stranger' }
  t.equal((await test.back(flow?.state ?? '', { code: 'good' }, stranger)).statusCode, 303)
  t.match(await test.users.listIdentities(test.sub), [{ subject: 'stranger', provisional: true }])

  // The owner of the mailbox sets a new password, signs in and links.
  await test.browser.submit('/auth/forgot-password', { username: 'ann@example.com' })
  const { token } = await test.messages.next('password_reset')
  t.equal(
    (await test.browser.submit('/auth/reset-password', { token, password: 'a password of her own' })).statusCode,
    303
  )
  t.strictSame(await test.users.listIdentities(test.sub), [], 'the link of before goes with the reset')
  const back = await test.browser.submit('/auth/login', {
    username: 'ann@example.com',
    password: 'a password of her own'
  })
  t.equal(back.headers.location, CONFIRM)
  await test.browser.submit(CONFIRM, { decision: 'link' })
  t.match(await test.users.listIdentities(test.sub), [{ subject: 'ann-1' }])

  t.equal(await test.who(stranger), null, 'session')
  t.equal((await test.app.inject({ url: '/me', headers: bearer(tokens.access_token) })).statusCode, 401, 'token')
  t.equal((await logIn(test, 'ann@example.com', '', stranger)).statusCode, 400, 'password')
  test.fake.person = { subject: 'stranger', email: undefined as never }
  await test.through('', stranger)
  t.not(await test.who(stranger), test.sub, 'link')
})

t.test('FED-11 ends the other sessions of the account at linking, but not the current one', async (t) => {
  const test = await waiting(t)
  const stranger = testBrowser(test.app)
  await logIn(test, 'ann@example.com', '', stranger)
  t.equal(await test.who(stranger), test.sub)
  await logIn(test)
  await test.browser.submit(CONFIRM, { decision: 'link' })
  t.equal(await test.who(stranger), null)
  t.equal(await test.who(), test.sub)
  t.match(test.payloads('logged_out').at(-1), { by: 'identity_linked' })
  t.match(test.payloads('identity_linked'), [{ userId: test.sub, connection: 'acme', by: 'user' }])
})

t.test('FED-14 links an identity only in the session that began the linking, after a fresh sign-in', async (t) => {
  const users = memoryUserStore()
  const test = await connectApp(t, { users, fake: fakeUpstream({ subject: 'ann-1' }) })
  const { sub } = await signUp(test.app, 'ann')
  await signUp(test.app, 'bob')
  const LINK = '/auth/connect/acme/link?return_to=%2Faccount'
  const begin = async (): Promise<string> => {
    const reply = await test.browser.submit(LINK)
    t.equal(reply.statusCode, 200, 'no redirect: form-action would stop it')
    t.match(reply.headers.refresh, /^0;url=https:\/\/sso\.example\.com\/authorize\?/)
    t.match(reply.body, 'href="https://sso.example.com/authorize?')
    return test.fake.begun.at(-1)?.flow.state ?? ''
  }
  t.equal(
    (await test.browser.submit(LINK)).headers.location,
    '/auth/login?return_to=%2Faccount&prompt=login',
    'nobody is signed in'
  )
  await logIn(test, 'ann')
  t.equal((await test.browser.submit(LINK, {}, CROSS)).statusCode, 403)
  t.equal((await test.browser.get(LINK, SAME)).statusCode, 404, 'a GET links nothing')

  const out = await begin()
  test.browser.cookies.delete(cookieName('session'))
  t.equal((await test.back(out)).statusCode, 400, 'signed out meanwhile')
  await logIn(test, 'ann')
  const other = await begin()
  await logIn(test, 'bob')
  t.equal((await test.back(other)).statusCode, 400, 'somebody else is signed in by now')
  await logIn(test, 'ann')
  const anew = await begin()
  test.browser.cookies.delete(cookieName('session'))
  await logIn(test, 'ann')
  t.equal((await test.back(anew)).statusCode, 400, 'another session of the same user')
  t.strictSame(await users.listIdentities(sub), [])
  t.strictSame(test.payloads('registered').length, 2)

  const good = await begin()
  t.equal((await test.back(good)).headers.location, '/account')
  t.match(await users.listIdentities(sub), [{ subject: 'ann-1' }])
  t.equal((await test.back(await begin())).headers.location, '/account', 'once more')
  t.equal((await users.listIdentities(sub)).length, 1)
  await logIn(test, 'bob')
  const taken = await test.back(await begin())
  t.equal(taken.statusCode, 403)
  t.match(taken.body, 'already belongs to another account')
  t.match(test.payloads('connection_failed').at(-1), { reason: 'taken' })
  test.clock.step(301_000)
  t.equal((await test.browser.submit(LINK)).statusCode, 303, 'a session of 301 s')
})

t.test('removes pending sign-ins and links from the browser at sign-out, also without a session', async (t) => {
  const fields = Type.Object({ city: Type.String({ minLength: 2 }) })
  const test = await connectApp(t, { users: memoryUserStore(), registration: { username: 'any', fields } })
  const left = (): string[] => [...test.browser.cookies.keys()].filter((name) => /flow|answer|link/.test(name))
  await test.through()
  await test.start()
  t.equal(left().length, 2)
  t.match((await test.browser.get(CONFIRM)).body, 'ann@example.com')
  await test.app.inject({ url: '/auth/logout', headers: CROSS })
  await test.browser.get('/auth/logout')
  t.strictSame(left(), [])
  t.equal((await test.browser.get(CONFIRM)).headers.location, '/auth/login', 'the next person sees nothing of it')

  await test.through()
  await test.browser.submit(CONFIRM, { city: 'Ulm' })
  await test.start()
  t.equal(left().length, 1)
  await test.browser.submit('/auth/logout', { decision: 'sign_out' })
  t.strictSame(left(), [])
})

t.test('removes pending sign-ins from the browser when another user signs in', async (t) => {
  const test = await connectApp(t, { users: memoryUserStore() })
  await signUp(test.app, 'bob')
  await signUp(test.app, 'eve')
  const left = (): string[] => [...test.browser.cookies.keys()].filter((name) => /flow|answer|link/.test(name))
  await test.start()
  await logIn(test, 'bob')
  t.equal(left().length, 1, 'what was begun before somebody signed in goes on')
  await logIn(test, 'bob', '?prompt=login')
  t.equal(left().length, 1, 'the same user again')
  await logIn(test, 'eve', '?prompt=login')
  t.strictSame(left(), [])
})

t.test('rejects a replayed confirm cookie at linking and at sign-up', async (t) => {
  const test = await waiting(t)
  await logIn(test)
  const copy = test.browser.cookies.get(cookieName('link')) ?? ''
  t.equal((await test.browser.submit(CONFIRM, { decision: 'link' })).headers.location, '/cart')
  await test.users.unlinkIdentity(test.sub, { issuer: 'https://sso.example.com', subject: 'ann-1' }, true)
  test.browser.cookies.set(cookieName('link'), copy)
  await logIn(test)
  t.equal((await test.browser.submit(CONFIRM, { decision: 'link' })).statusCode, 400)
  t.strictSame(await test.users.listIdentities(test.sub), [])

  const fields = Type.Object({ city: Type.String({ minLength: 2 }) })
  const users = memoryUserStore()
  let refuses = true
  const signUpHere = await connectApp(t, {
    users: {
      ...users,
      async createWithIdentity(...given) {
        if (refuses) throw new Error('the store is down')
        return await users.createWithIdentity(...given)
      }
    },
    registration: { username: 'any', fields }
  })
  await signUpHere.through()
  const first = signUpHere.browser.cookies.get(cookieName('link')) ?? ''
  t.equal((await signUpHere.browser.submit(CONFIRM, { city: 'x' })).statusCode, 400)
  t.equal(signUpHere.browser.cookies.get(cookieName('link')), first, 'a form that was not right used nothing up')
  t.equal((await signUpHere.browser.submit(CONFIRM, { city: 'Ulm' })).statusCode, 503)
  const second = signUpHere.browser.cookies.get(cookieName('link')) ?? ''
  t.not(second, first, 'the person can try again')
  refuses = false
  t.equal((await signUpHere.browser.submit(CONFIRM, { city: 'Ulm' })).statusCode, 303)
  t.ok(await signUpHere.who())
  for (const used of [first, second]) {
    const other = testBrowser(signUpHere.app)
    other.cookies.set(cookieName('link'), used)
    const reply = await other.submit(CONFIRM, { city: 'Ulm' })
    t.equal(reply.statusCode, 400)
    t.match(reply.body, '>invalid_request · ')
    t.equal(await signUpHere.who(other), null)
  }
})

t.test('drops profile claims that do not fit into the confirm cookie, the picture first', async (t) => {
  const fields = Type.Object({ city: Type.String({ minLength: 2 }) })
  const url = (length: number): string =>
    `https://p.example/${randomBytes(length).toString('base64url').slice(18, length)}`
  for (const [picture, profile, website, kept] of [
    [1800, 900, 1000, ['name', 'profile', 'website']],
    [300, 1900, 2000, ['name', 'profile']]
  ] as const) {
    const users = memoryUserStore()
    const test = await connectApp(t, { users, registration: { username: 'any', fields } })
    test.fake.claims = { name: 'Ann', picture: url(picture), profile: url(profile), website: url(website) }
    t.equal((await test.through()).headers.location, CONFIRM)
    t.equal((await test.browser.submit(CONFIRM, { city: 'Ulm' })).statusCode, 303)
    const user = await users.findByIdentity({ issuer: 'https://sso.example.com', subject: 'ann-1' })
    t.strictSame(
      ['name', 'picture', 'profile', 'website'].filter((name) => user?.[name] !== undefined),
      kept
    )
  }
})

t.test('does not redirect a later sign-in to a confirm page that another site began', async (t) => {
  const users = memoryUserStore()
  const test = await connectApp(t, { users, clients: [SPA] })
  await signUp(test.app, 'ann@example.com')
  test.fake.claims = { name: 'Mallory' }
  const begun = await test.browser.get(`/auth/authorize?${SPA_QUERY}&connection=acme`, CROSS)
  const state = new URL(begun.headers.location ?? '').searchParams.get('state') ?? ''
  const back = await test.back(state)
  t.equal(back.headers.location, CONFIRM)
  const page = await test.browser.get(CONFIRM)
  t.match(page.body, 'You already have an account')
  t.equal((await logIn(test)).headers.location, '/', 'no sign-in leads to it by itself')
  t.match((await logIn(test, 'ann@example.com', `?${SPA_QUERY}`)).headers.location, '/auth/authorize?')
  const own = await logIn(test, 'ann@example.com', `?return_to=${encodeURIComponent(CONFIRM)}&prompt=login`)
  t.equal(own.headers.location, CONFIRM, 'the button of its page does')
})

t.test('names the identity at the provider on the confirm page', async (t) => {
  const test = await connectApp(t, { users: memoryUserStore() })
  await signUp(test.app, 'ann@example.com')
  for (const [name, shown] of [
    ['Mallory <b>', 'Mallory &lt;b&gt; (ann@example.com)'],
    ['ann@example.com', 'ann@example.com']
  ]) {
    test.fake.claims = { name }
    await test.through()
    await logIn(test)
    t.match(
      (await test.browser.get(CONFIRM)).body.replaceAll(/<\/?(?:bdi|b|strong)[^>]*>/g, ''),
      `You signed in at Acme as ${shown}. Connect the accounts only if that was you.`
    )
  }
})

t.test('asks for required fields that the provider did not send before it creates the account', async (t) => {
  const users = memoryUserStore()
  const fields = Type.Object({
    city: Type.String({ minLength: 2, title: 'Your city' }),
    name: Type.String(),
    news: Type.Optional(Type.Boolean())
  })
  const test = await connectApp(t, { users, registration: { username: 'any', fields } })
  test.fake.claims = { name: 'Ann', city: 7 }
  const reply = await test.through('?return_to=/cart')
  t.equal(reply.headers.location, CONFIRM)
  t.equal(await test.who(), null)
  const page = await test.browser.get(CONFIRM)
  t.match(page.body, 'Your city')
  t.match(page.body, 'ann@example.com')
  t.notMatch(page.body, 'name="name"', 'what is known is not asked')
  for (const city of ['', 'x']) {
    const again = await test.browser.submit(CONFIRM, { city })
    t.equal(again.statusCode, 400)
    t.match(again.body, 'name="city"')
  }
  t.strictSame(test.payloads('registered'), [])
  const done = await test.browser.submit(CONFIRM, {
    city: 'Ulm',
    name: 'Eve',
    email: 'eve@example.com',
    username: 'eve',
    disabled: 'true'
  })
  t.equal(done.headers.location, '/cart', done.body)
  const user = await users.findByIdentity({ issuer: 'https://sso.example.com', subject: 'ann-1' })
  t.match(user, {
    username: 'ann@example.com',
    email: 'ann@example.com',
    emailVerified: true,
    city: 'Ulm',
    name: 'Ann'
  })
  t.notOk(user?.disabled)
  t.equal(await test.who(), user?.id)
  t.equal((await test.browser.get(CONFIRM)).headers.location, '/auth/login', 'and it is over')

  const raced = await connectApp(t, { users: memoryUserStore(), registration: { username: 'any', fields } })
  await raced.through()
  await raced.app.inject({
    method: 'POST',
    url: '/auth/register',
    payload: { username: 'ann@example.com', password: PASSWORD, city: 'Ulm', name: 'Ann' }
  })
  const late = await raced.browser.submit(CONFIRM, { city: 'Ulm', name: 'Ann' })
  t.equal(late.statusCode, 403, 'an account with the address has come to be meanwhile')
  t.match(late.body, 'sign in the way you did before')
})

t.test('gives the second press of the finish sign-up button the session of the first', async (t) => {
  const users = memoryUserStore()
  let enter = (): void => {}
  const entered = new Promise<void>((resolve) => {
    enter = resolve
  })
  let goOn = (): void => {}
  const held = new Promise<void>((resolve) => {
    goOn = resolve
  })
  const test = await connectApp(t, {
    users: {
      ...users,
      async createWithIdentity(...given) {
        enter()
        await held
        return await users.createWithIdentity(...given)
      }
    },
    registration: { username: 'any', fields: Type.Object({ city: Type.String({ minLength: 2 }) }) }
  })
  await test.through('?return_to=/cart')
  t.equal(await users.findByUsername('ann@example.com'), null, 'no account before the form is sent')
  t.strictSame(test.payloads('registered'), [])
  const action = formAction((await test.browser.get(CONFIRM)).body)
  // The user takes longer for the form than the time in which a second press counts as a repeat.
  test.clock.step(20_000)
  const proof = [...test.browser.cookies].filter(([name]) => /_(?:link|query)_/.test(name))
  const copyIn = (): ReturnType<typeof testBrowser> => {
    const other = testBrowser(test.app)
    for (const [name, value] of proof) other.cookies.set(name, value)
    return other
  }

  const first = copyIn().submit(action, { city: 'Ulm' })
  await entered
  const again = test.browser.submit(action, { city: 'Ulm' })
  const elsewhere = await copyIn().submit(action, { city: 'Ulm' }, { 'user-agent': 'another browser' })
  t.equal(elsewhere.statusCode, 400, 'a copy of the proof in another browser')
  goOn()
  t.equal((await first).headers.location, '/cart')
  const second = await again
  t.equal(second.statusCode, 303)
  t.equal(second.headers.location, '/cart')
  t.equal(await test.who(), (await users.findByUsername('ann@example.com'))?.id)
  t.equal(test.payloads('registered').length, 1)
  t.equal(test.payloads('authenticated').length, 1)

  const late = await test.browser.submit(action, { city: 'Ulm' })
  t.equal(late.statusCode, 303, 'after the answer, which took the proof along')
  t.equal(late.headers.location, '/cart')
  test.clock.step(10_001)
  t.match((await test.browser.submit(action, { city: 'Ulm' })).headers.location, '/auth/login?return_to=%2Fcart')
  const stranger = await testBrowser(test.app).submit(action, { city: 'Ulm' })
  t.equal(stranger.headers.location, '/auth/login?return_to=%2Fcart', 'where nobody is signed in')
  t.equal((await copyIn().submit(action, { city: 'Ulm' })).statusCode, 400, 'a copy of the proof afterwards')
})

const CITY = { username: 'any', fields: Type.Object({ city: Type.String({ minLength: 2 }) }) } as const

t.test('redirects a late second press of the finish sign-up button to the required second step', async (t) => {
  const test = await connectApp(t, {
    users: memoryUserStore(),
    factors: memoryFactorStore(),
    mfa: { required: true },
    registration: CITY
  })
  await test.through('?return_to=/cart')
  const action = formAction((await test.browser.get(CONFIRM)).body)
  test.clock.step(20_000)
  const first = await test.browser.submit(action, { city: 'Ulm' })
  t.equal(first.headers.location, '/auth/second-factor/set-up?return_to=%2Fcart')
  const late = await test.browser.submit(action, { city: 'Ulm' })
  t.equal(late.statusCode, 303)
  t.equal(late.headers.location, first.headers.location)
  test.clock.step(10_001)
  t.equal((await test.browser.submit(action, { city: 'Ulm' })).headers.location, '/auth/login?return_to=%2Fcart')
})

/** Two presses in one browser, which drops the first response. The second arrives while the store holds the first. */
async function twice(
  test: ConnectApp,
  action: string,
  form: Record<string, string>,
  store: { act: () => Promise<unknown> }
) {
  let enter = (): void => {}
  const entered = new Promise<void>((resolve) => {
    enter = resolve
  })
  let goOn = (): void => {}
  const held = new Promise<void>((resolve) => {
    goOn = resolve
  })
  const { act } = store
  store.act = async () => {
    store.act = act
    enter()
    await held
    return await act()
  }
  const dropped = testBrowser(test.app)
  for (const [name, value] of test.browser.cookies) dropped.cookies.set(name, value)
  const first = dropped.submit(action, form)
  await entered
  const second = test.browser.submit(action, form)
  for (let turn = 0; turn < 200; turn++) await new Promise(setImmediate)
  goOn()
  return await Promise.all([first, second])
}

const down = async (): Promise<never> => {
  throw new Error('the store is down')
}

t.test('finishes a sign-up at the next press after two parallel presses failed', async (t) => {
  const users = memoryUserStore()
  const store: { act: () => Promise<unknown> } = { act: down }
  const test = await connectApp(t, {
    users: {
      ...users,
      async createWithIdentity(...given) {
        await store.act()
        return await users.createWithIdentity(...given)
      }
    },
    registration: CITY
  })
  await test.through('?return_to=/cart')
  const action = formAction((await test.browser.get(CONFIRM)).body)
  t.match(await twice(test, action, { city: 'Ulm' }, store), [{ statusCode: 503 }, { statusCode: 503 }])
  store.act = async () => {}
  const again = await test.browser.submit(action, { city: 'Ulm' })
  t.equal(again.statusCode, 303)
  t.equal(again.headers.location, '/cart')
  t.equal(await test.who(), (await users.findByUsername('ann@example.com'))?.id)
})

for (const isDown of [false, true])
  t.test(`gives two parallel presses of the link button one outcome: store ${isDown ? 'down' : 'up'}`, async (t) => {
    const users = memoryUserStore()
    const up = async (): Promise<void> => {}
    const store: { act: () => Promise<unknown> } = { act: isDown ? down : up }
    const test = await connectApp(t, {
      users: {
        ...users,
        async linkIdentity(...given) {
          await store.act()
          return await users.linkIdentity(...given)
        }
      }
    })
    const { sub } = await signUp(test.app, 'ann@example.com')
    await test.through('?return_to=/cart')
    await logIn(test)
    const replies = await twice(test, CONFIRM, { decision: 'link' }, store)
    const status = isDown ? 503 : 303
    t.match(replies, [{ statusCode: status }, { statusCode: status }])
    store.act = up
    if (isDown) t.match(await test.browser.submit(CONFIRM, { decision: 'link' }), { statusCode: 303 })
    t.match(await users.listIdentities(sub), [{ subject: 'ann-1' }])
    t.equal(await test.who(), sub)
    t.equal(test.payloads('identity_linked').length, 1)
  })
