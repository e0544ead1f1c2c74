/** The page of an invitation: one person accepts once, by the link that they got. */
import t from '../../support/tap.ts'
import { signIn, signUp, testApp } from '../../support/app.ts'
import { BOB, kindsOf, namesOf, PAGE, PASSWORD, visitor, withInvited } from './support.ts'

const WEEK_MS = 7 * 86_400_000

t.test('sets a password and confirms the address by an invitation, and signs nobody in', async (t) => {
  const test = await withInvited(t, { registration: false })
  const { app, browser, open, accept, users, id, token } = test
  for (let time = 0; time < 2; time++) {
    const page = await open(token)
    t.equal(page.statusCode, 200)
    t.match(page.body, /Accept your invitation/)
    t.match(page.body, BOB)
    t.match(page.headers, { 'cache-control': 'no-store', 'referrer-policy': 'origin' })
  }
  t.equal((await app.inject({ method: 'HEAD', url: `${PAGE}?token=${token}` })).statusCode, 200)
  t.match(await users.get(id), { hasPassword: false, emailVerified: false }, 'opening it uses nothing up')
  test.events.length = 0

  const sent = await accept(token)
  t.equal(sent.statusCode, 303)
  t.equal(sent.headers.location, `${PAGE}?done=accepted`)
  t.notOk(
    [...browser.cookies.keys()].some((name) => /session|step/.test(name)),
    'signs nobody in'
  )
  for (let time = 0; time < 2; time++) {
    const { reply } = await browser.follow(sent)
    t.equal(reply.statusCode, 200, 'and can be reloaded')
    t.match(reply.body, /Your account is ready/)
    t.match(reply.body, /href="\/auth\/login"/)
  }
  t.match((await browser.get('/auth/login')).body, new RegExp(`value="${BOB}"`))
  t.match(await users.get(id), { hasPassword: true, emailVerified: true })
  t.strictSame(namesOf(test), ['email_verified', 'password_changed', 'invitation_accepted'])
  t.match(test.events.at(-1)?.payload, { userId: id, connection: null })
  t.match(await signIn(app, BOB, PASSWORD), { access_token: String })
  await app.authority.startPasswordReset(id)
  await test.messages.next('password_reset')
  t.notOk(kindsOf(test).includes('password_changed'), 'no mail warns of the first password')
})

t.test('keeps the time when an invitation confirmed the address if an older confirmation link is used', async (t) => {
  const { app, accept, clock, id, messages, store, users } = await withInvited(t)
  await users.update(id, { email: 'bob@new.example' })
  const { token: confirmation } = await messages.next('verify_email')
  await users.invite(id)
  const { token } = await messages.next('invitation')
  t.equal((await accept(token)).statusCode, 303)
  const emailProvedAt = clock.now()
  clock.step(60_000)
  const confirmed = await app.inject({ method: 'POST', url: '/auth/email/verify', payload: { token: confirmation } })
  t.equal(confirmed.statusCode, 204)
  t.match(await store.findById(id), { emailVerified: true, emailProvedAt }, 'the password is not older than the proof')
})

t.test('accepts one of 50 parallel invitation forms, and stores the password of that form', async (t) => {
  const test = await withInvited(t)
  const replies = await Promise.all(
    Array.from({ length: 50 }, async (_none, index) => await test.visit().accept(test.token, `${PASSWORD} ${index}`))
  )
  const codes = replies.map(({ statusCode }) => statusCode)
  t.equal(codes.filter((code) => code === 303).length, 1)
  t.equal(codes.filter((code) => code === 409).length, 49)
  await signIn(test.app, BOB, `${PASSWORD} ${codes.indexOf(303)}`)
  t.equal(namesOf(test).filter((name) => name === 'invitation_accepted').length, 1)
})

// covers ADV-CVE-2026-37982
t.test('shows an accepted invitation as done, and rejects another password', async (t) => {
  const { app, open, accept, visit, token } = await withInvited(t)
  await accept(token)
  for (const { open: again } of [{ open }, visit()]) {
    const page = await again(token)
    t.equal(page.statusCode, 200)
    t.match(page.body, /Your account is ready/)
  }
  const twice = await accept(token, 'another good pass phrase')
  t.equal(twice.statusCode, 409)
  t.match(twice.body, /Your account is ready[^]*href="\/auth\/login"/)
  await t.rejects(signIn(app, BOB, 'another good pass phrase'))
  await signIn(app, BOB, PASSWORD)
})

// covers ADV-CVE-2026-1529
t.test('rejects made-up, expired and replaced tokens, and does not tell expired from made-up ones', async (t) => {
  const test = await withInvited(t)
  const { app, clock, open, accept, users, id, token } = test
  const plain = ({ body }: { body: string }): string => body.replaceAll(/req-[\w-]+/g, 'id')
  clock.step(WEEK_MS - 1)
  t.equal((await open(token)).statusCode, 200, 'a millisecond before the end')
  clock.step(1)
  const expired = await open(token)
  const none = await open(`${token.slice(0, -1)}${token.endsWith('A') ? 'B' : 'A'}`)
  t.equal(expired.statusCode, 400)
  t.equal(plain(expired), plain(none))
  t.equal((await accept(token)).statusCode, 400)

  await users.invite(id)
  const next = await test.messages.next('invitation')
  for (const bad of [token, '', 'x', 'x'.repeat(5000), '%00', `${next.token}A`]) {
    t.equal((await open(bad)).statusCode, 400, bad.slice(0, 20))
    t.equal((await accept(bad)).statusCode, 400, bad.slice(0, 20))
  }
  t.equal((await accept(next.token)).statusCode, 303, 'a new invitation works at once')
  t.equal((await app.inject({ method: 'POST', url: PAGE, payload: { token: next.token } })).statusCode, 415)
})

t.test('rejects tokens of another purpose, and other routes reject the token of an invitation', async (t) => {
  const { app, open, accept, users, id, token, messages } = await withInvited(t)
  await app.authority.startPasswordReset(id)
  const reset = await messages.next('password_reset')
  t.equal((await open(reset.token)).statusCode, 400)
  t.equal((await accept(reset.token)).statusCode, 400)
  for (const [url, payload] of [
    ['/auth/password-reset/confirm', { token, password: PASSWORD }],
    ['/auth/email/verify', { token }]
  ] as const)
    t.equal((await app.inject({ method: 'POST', url, payload })).statusCode, 400, url)
  t.match(await users.get(id), { hasPassword: false, emailVerified: false })
  t.equal((await accept(token)).statusCode, 303)
})

t.test('keeps the invitation valid when it rejects a password', async (t) => {
  const { accept, token, users, id } = await withInvited(t)
  for (const password of ['', 'short', BOB, 'x'.repeat(2000), 'password1']) {
    const reply = await accept(token, password)
    t.equal(reply.statusCode, 400, password.slice(0, 20))
    t.match(reply.body, /name="password"/)
  }
  t.match(await users.get(id), { hasPassword: false, emailVerified: false })
  t.equal((await accept(token)).statusCode, 303)
})

t.test('voids the invitation when the user is disabled or removed, or the address or password changes', async (t) => {
  for (const [name, act, status] of [
    ['disabled', async ({ users, id }) => await users.disable(id), 400],
    ['disabled and enabled', async ({ users, id }) => [await users.disable(id), await users.enable(id)], 400],
    ['removed', async ({ users, id }) => await users.remove(id), 400],
    ['another address', async ({ users, id }) => await users.update(id, { email: 'bob@new.example' }), 400],
    ['a reset required', async ({ users, id }) => await users.requireReset(id), 400],
    [
      'a password by a reset',
      async ({ app, id, messages }) => {
        await app.authority.startPasswordReset(id)
        const { token } = await messages.next('password_reset')
        const payload = { token, password: 'chosen in another way' }
        await app.inject({ method: 'POST', url: '/auth/password-reset/confirm', payload })
      },
      409
    ]
  ] as Array<[string, (test: Awaited<ReturnType<typeof withInvited>>) => Promise<unknown>, number]>) {
    const test = await withInvited(t)
    await act(test)
    t.equal((await test.open(test.token)).statusCode, status === 409 ? 200 : status, name)
    t.equal((await test.accept(test.token)).statusCode, status, name)
    t.notMatch((await test.open(test.token)).body, /type="password"/, name)
    await t.rejects(signIn(test.app, BOB, PASSWORD), name)
  }
})

// covers ADV-CVE-2026-53514
t.test('does not let another account with the invited address accept without the link', async (t) => {
  const { app, users, token, id, accept } = await withInvited(t)
  const { sub: eve } = await signUp(app, 'eve')
  await users.update(eve, { email: BOB })
  const browser = visitor(app)
  await browser.browser.submit('/auth/login', { username: 'eve', password: 'correct horse battery' })
  t.equal((await browser.accept('')).statusCode, 400)
  t.match(await users.get(id), { hasPassword: false })
  t.equal((await accept(token)).statusCode, 303)
  t.match(await users.get(eve), { emailVerified: false })
})

t.test('rejects an invitation form from another site', async (t) => {
  const { browser, users, id, token } = await withInvited(t)
  for (const headers of [
    { 'sec-fetch-site': 'cross-site' },
    { origin: 'https://evil.example', 'sec-fetch-site': 'none' }
  ]) {
    const reply = await browser.submit(PAGE, { token, password: PASSWORD }, headers)
    t.ok(reply.statusCode >= 400, JSON.stringify(headers))
  }
  t.match(await users.get(id), { hasPassword: false })
})

t.test('counts invalid invitation tokens toward rateLimit.refresh', async (t) => {
  const { app, close } = await testApp({ rateLimit: { refresh: { max: 2, windowMs: 60_000 } } })
  t.teardown(close)
  const { accept } = visitor(app)
  const codes: number[] = []
  for (let time = 0; time < 3; time++) codes.push((await accept('x'.repeat(59))).statusCode)
  t.strictSame(codes, [400, 400, 429])
})
