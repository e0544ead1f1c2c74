/** Account endpoints that a page of the issuer's origin calls with the browser session (H8). */
import t from '../support/tap.ts'
import { memoryUserStore, type User } from '../../lib/index.ts'
import { bearer, ISSUER, PASSWORD, signIn, signUp, testApp, type TestApp } from '../support/app.ts'
import { testBrowser } from '../support/browser.ts'

const OWN = { 'sec-fetch-site': 'same-origin' }
const NEXT = 'a better horse battery'

async function browserOf({ app }: TestApp, username = 'ann', password = PASSWORD): Promise<{ cookie: string }> {
  const browser = testBrowser(app)
  const reply = await browser.submit('/auth/login', { username, password })
  if (reply.statusCode !== 303) throw new Error(`login: ${reply.statusCode}`)
  return { cookie: [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ') }
}
interface Listed {
  id: string
  kind: string
  current: boolean
}
async function sessionsOf({ app }: TestApp, headers: Record<string, string>): Promise<Listed[]> {
  const reply = await app.inject({ url: '/auth/sessions', headers })
  if (reply.statusCode !== 200) throw new Error(`sessions: ${reply.statusCode} ${reply.body}`)
  return reply.json().sessions as Listed[]
}

// covers H8
t.test('lists the sessions of a user signed in by cookie, marks the current one, and ends each of them', async (t) => {
  const subject = await testApp()
  t.teardown(subject.close)
  const { app } = subject
  await signUp(app)
  const { access_token: token } = await signIn(app)
  const [here, there] = [await browserOf(subject), await browserOf(subject)]
  const listed = await sessionsOf(subject, { ...here, ...OWN })
  t.strictSame(listed.map(({ kind, current }) => [kind, current]).toSorted(), [
    ['browser', false],
    ['browser', true],
    ['token', false]
  ])
  const other = listed.find(({ kind, current }) => kind === 'browser' && !current)?.id ?? ''
  const family = listed.find(({ kind }) => kind === 'token')?.id ?? ''
  for (const id of [other, family])
    t.equal(
      (await app.inject({ method: 'DELETE', url: `/auth/sessions/${id}`, headers: { ...here, ...OWN } })).statusCode,
      204
    )
  t.equal((await app.inject({ url: '/auth/sessions', headers: { ...there, ...OWN } })).statusCode, 401)
  t.equal((await app.inject({ url: '/me', headers: bearer(token) })).statusCode, 401)
  t.strictSame(
    (await sessionsOf(subject, { ...here, ...OWN })).map(({ current }) => current),
    [true]
  )
  const [own] = await sessionsOf(subject, { ...here, ...OWN })
  t.equal(
    (await app.inject({ method: 'DELETE', url: `/auth/sessions/${own?.id}`, headers: { ...here, ...OWN } })).statusCode,
    204,
    'its own: the sign-out'
  )
  t.equal((await app.inject({ url: '/auth/sessions', headers: { ...here, ...OWN } })).statusCode, 401)
})

// covers H8
t.test('rejects ending a session of another user', async (t) => {
  const subject = await testApp()
  t.teardown(subject.close)
  await signUp(subject.app)
  await signUp(subject.app, 'bob')
  const [ann, bob] = [await browserOf(subject), await browserOf(subject, 'bob')]
  const [{ id } = { id: '' }] = await sessionsOf(subject, { ...bob, ...OWN })
  t.equal(
    (await subject.app.inject({ method: 'DELETE', url: `/auth/sessions/${id}`, headers: { ...ann, ...OWN } }))
      .statusCode,
    404
  )
  t.equal((await sessionsOf(subject, { ...bob, ...OWN })).length, 1)
})

// covers H8
t.test('keeps the browser signed in after it changes the password, and ends the other sessions', async (t) => {
  const subject = await testApp()
  t.teardown(subject.close)
  const { app } = subject
  await signUp(app)
  const { refresh_token: refresh } = await signIn(app)
  let here = await browserOf(subject)
  const there = await browserOf(subject)
  const change = async (body: object, headers: object = OWN): Promise<[number, string | undefined]> => {
    const reply = await app.inject({
      method: 'POST',
      url: '/auth/password',
      headers: { ...here, ...headers },
      payload: body
    })
    for (const { name, value } of reply.cookies) here = { cookie: `${name}=${value}` }
    return [reply.statusCode, reply.body === '' ? undefined : (reply.json().error as string)]
  }
  t.strictSame(await change({ current_password: 'wrong', new_password: NEXT }), [400, 'invalid_grant'])
  t.strictSame(await change({ current_password: PASSWORD, new_password: 'short' }), [400, 'invalid_password'])
  t.strictSame(await change({ current_password: PASSWORD, new_password: NEXT }), [204, undefined])
  t.strictSame(
    (await sessionsOf(subject, { ...here, ...OWN })).map(({ kind, current }) => [kind, current]),
    [['browser', true]]
  )
  t.equal((await app.inject({ url: '/auth/session', headers: there })).statusCode, 401)
  t.equal((await app.inject({ method: 'POST', url: '/auth/refresh', headers: bearer(refresh) })).statusCode, 401)
  t.ok(await browserOf(subject, 'ann', NEXT))
})

// covers H8 ASVS-3.5.1
t.test('rejects account requests from other origins, and account changes from an unknown origin', async (t) => {
  const subject = await testApp()
  t.teardown(subject.close)
  const { app } = subject
  await signUp(app)
  const here = await browserOf(subject)
  const [{ id } = { id: '' }] = await sessionsOf(subject, { ...here, ...OWN })
  const elsewhere: Array<[what: string, headers: Record<string, string>]> = [
    ['another site', { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }],
    ['another site that says it is ours', { 'sec-fetch-site': 'cross-site', origin: ISSUER }],
    ['a sibling', { 'sec-fetch-site': 'same-site', origin: 'http://sibling.localhost:3000' }],
    ['another port', { origin: 'http://localhost:3001' }],
    ['the origin null', { origin: 'null' }],
    ['an address that was typed', { 'sec-fetch-site': 'none' }],
    ['nothing', {}]
  ]
  for (const [what, headers] of elsewhere) {
    for (const request of [
      { url: '/auth/sessions' },
      { method: 'DELETE' as const, url: `/auth/sessions/${id}` },
      { method: 'POST' as const, url: '/auth/password', payload: { current_password: PASSWORD, new_password: NEXT } }
    ]) {
      const reply = await app.inject({ ...request, headers: { ...here, ...headers } })
      // On plain http off loopback, a read by our own page has neither header.
      if (request.url === '/auth/sessions' && ['an address that was typed', 'nothing'].includes(what))
        t.equal(reply.statusCode, 200, `${what}: ${request.url}`)
      else t.match([reply.statusCode, reply.json()], [403, { error: 'access_denied' }], `${what}: ${request.url}`)
      t.equal(reply.headers['access-control-allow-origin'], undefined)
    }
  }
  t.equal(
    (await sessionsOf(subject, { ...here, origin: ISSUER })).length,
    1,
    'the origin alone is enough where the browser says no more'
  )
})

// covers H8
t.test('checks a bearer token before the cookie, and rejects an unknown or expired cookie with 401', async (t) => {
  const subject = await testApp({ clients: [{ clientId: 'third', firstParty: false }] })
  t.teardown(subject.close)
  const { app } = subject
  const { sub } = await signUp(app)
  const here = await browserOf(subject)
  const third = (await app.authority.issueTokens(sub, { clientId: 'third' })).access_token
  const status = async (headers: Record<string, string>): Promise<number> =>
    (await app.inject({ url: '/auth/sessions', headers })).statusCode
  t.equal(await status({ ...here, ...OWN, ...bearer(third) }), 403)
  t.equal(await status({ ...here, ...OWN, ...bearer('x') }), 401)
  t.equal(
    await status({ ...here, ...OWN, authorization: 'Basic YTpi' }),
    200,
    'what a proxy in front asks for is no token'
  )
  t.equal(await status({ cookie: `${here.cookie.split('=')[0]}=x.y`, ...OWN }), 401)
  subject.clock.step(86_400_000)
  t.equal(await status({ ...here, ...OWN }), 401, 'an expired one')
})

// covers H8
t.test('app.authority.verifyPassword: returns the user id or null, and limits wrong passwords', async (t) => {
  const users = memoryUserStore()
  let disabled = false
  const one = async (id: string): Promise<User | null> => {
    const user = await users.findById(id)
    return user === null ? null : { ...user, disabled }
  }
  const subject = await testApp({
    users: {
      ...users,
      findById: one,
      findByUsername: async (name) => await one((await users.findByUsername(name))?.id ?? '')
    },
    rateLimit: { account: { max: 3 } }
  })
  t.teardown(subject.close)
  const { app, clock, hasher, events } = subject
  const { sub } = await signUp(app)
  const { authority } = app
  for (let times = 0; times < 5; times++)
    t.equal(await authority.verifyPassword('ANN', PASSWORD), sub, 'what is right is given back')
  t.same(
    events.filter(({ name }) => name === 'authenticated'),
    [],
    'nobody was signed in'
  )
  disabled = true
  t.equal(await authority.verifyPassword('ann', PASSWORD), null)
  disabled = false
  const runs = hasher.calls.verify
  for (const [name, password] of [
    ['nobody', PASSWORD],
    ['ann', 'wrong'],
    ['not a name\n', PASSWORD],
    ['ann', 'x'.repeat(5000)]
  ] as const)
    t.equal(await authority.verifyPassword(name, password), null, name)
  t.equal(hasher.calls.verify - runs, 4, 'one run of the hash each')
  await t.rejects(authority.verifyPassword('ann', PASSWORD), {
    error: 'too_many_requests',
    statusCode: 429
  } as unknown as Error)
  const reply = await app.inject({
    method: 'POST',
    url: '/auth/token',
    payload: { grant_type: 'password', username: 'ann', password: PASSWORD }
  })
  t.equal(reply.statusCode, 429, 'one counter with the sign-in')
  t.equal(await authority.verifyPassword('bob', PASSWORD), null, 'of that account alone')
  clock.step(900_000)
  t.equal(await authority.verifyPassword('ann', PASSWORD), sub)
  const parallel = await Promise.allSettled(
    Array.from({ length: 20 }, async () => await authority.verifyPassword('ann', 'wrong'))
  )
  t.equal(parallel.filter(({ status }) => status === 'fulfilled').length, 3, '20 guesses at once are 3')
})

// covers H8
t.test('app.authority.changePassword: applies the password rules, and ends every session', async (t) => {
  const subject = await testApp()
  t.teardown(subject.close)
  const { app, events } = subject
  const { sub } = await signUp(app)
  const { refresh_token: refresh } = await signIn(app)
  const here = await browserOf(subject)
  const { authority } = app
  await t.rejects(authority.changePassword(sub, 'short'), { error: 'invalid_password' } as unknown as Error)
  await t.rejects(authority.changePassword(sub, 'password'), { error: 'invalid_password' } as unknown as Error)
  await t.rejects(authority.changePassword('nobody', NEXT), { error: 'invalid_grant' } as unknown as Error)
  t.equal(await authority.verifyPassword('ann', PASSWORD), sub, 'nothing has happened')
  await authority.changePassword(sub, NEXT)
  t.equal(await authority.verifyPassword('ann', PASSWORD), null)
  t.equal(await authority.verifyPassword('ann', NEXT), sub)
  t.strictSame(await authority.sessions(sub), [])
  t.equal((await app.inject({ method: 'POST', url: '/auth/refresh', headers: bearer(refresh) })).statusCode, 401)
  t.equal((await app.inject({ url: '/auth/session', headers: here })).statusCode, 401)
  t.match(
    events.filter(({ name }) => name === 'password_changed'),
    [{ payload: { userId: sub, by: 'change' } }]
  )
})
