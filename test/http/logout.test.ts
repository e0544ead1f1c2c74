import t from '../support/tap.ts'
import { cookieName } from '../support/cookies.ts'
import { BACK, ISSUER, logoutApp, OWN, setCookies } from './support/logout-app.ts'

const query = (params: Record<string, string>): string => `/auth/logout?${String(new URLSearchParams(params))}`
const CLEARED = `${cookieName('session', ISSUER)}=; Max-Age=0; Path=/; HttpOnly; SameSite=Lax; Secure`

// covers ASVS-10.6.2 ASVS-3.5.3
t.test('asks for confirmation on a GET without a hint, and signs out only by our own form', async (t) => {
  const { signIn, get, post, me, sent } = await logoutApp(t)
  const { cookie } = await signIn()
  const asked = await get(query({ client_id: 'app', post_logout_redirect_uri: BACK, state: 's t' }), { cookie })
  t.equal(asked.statusCode, 200)
  t.equal(asked.headers['cache-control'], 'no-store')
  t.strictSame(setCookies(asked), [])
  const action = '/auth/logout?client_id=app&post_logout_redirect_uri=https%3A%2F%2Fapp.example%2Fsigned-out&state=s+t'
  t.match(sent, [
    {
      page: 'logout',
      content: { action, error: null, username: 'ann@example.com' },
      settings: { clientName: 'The App', formActions: ['https://app.example'] }
    }
  ])
  t.match(await me(cookie), { sub: 'ann' })

  for (const [what, headers] of Object.entries({
    'another site': { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' },
    'another site without Sec-Fetch-Site': { origin: 'https://evil.example' },
    'a sibling': { 'sec-fetch-site': 'same-site', origin: ISSUER },
    'nobody says': {},
    'an opaque origin': { origin: 'null' }
  })) {
    const refused = await post(action, { decision: 'sign_out' }, { cookie, ...headers })
    t.equal(refused.statusCode, 403, what)
    t.match(sent.at(-1), { page: 'error', content: { error: { error: 'access_denied' } } }, what)
    t.strictSame(setCookies(refused), [], what)
  }
  t.match(await me(cookie), { sub: 'ann' })

  const done = await post(action, { decision: 'sign_out' }, { cookie, ...OWN })
  t.equal(done.statusCode, 303)
  t.equal(done.headers.location, `${BACK}?state=s%20t`)
  t.strictSame(setCookies(done), [CLEARED])
  t.equal(await me(cookie), null)
  const again = await post(action, { decision: 'sign_out' }, { cookie, ...OWN })
  t.equal(again.headers.location, `${BACK}?state=s%20t`, 'the form sent twice')
})

// covers OIDF-oidcc-rp-initiated-logout
t.test('signs out without a page on a GET with an ID token hint of this session', async (t) => {
  const { signIn, get, me, hints, sent, loggedOut } = await logoutApp(t)
  const { cookie, sid } = await signIn()
  hints.hint = { sub: 'ann', aud: 'app', sid }
  const head = await (await logoutApp(t)).app.inject({ method: 'HEAD', url: query({ id_token_hint: 'hint' }) })
  t.equal(head.statusCode, 404, 'no HEAD')
  const reply = await get(query({ id_token_hint: 'hint', post_logout_redirect_uri: BACK }), { cookie })
  t.equal(reply.statusCode, 303)
  t.equal(reply.headers.location, BACK)
  t.strictSame(setCookies(reply), [CLEARED])
  t.equal(await me(cookie), null)
  t.match(loggedOut, [{ userId: 'ann', sids: [sid], by: 'user', ip: '127.0.0.1' }])
  t.strictSame(sent, [])
})

// covers L4
t.test('ends the session that a POST names by a hint, and redirects other POSTs to GET', async (t) => {
  const foreign = { 'sec-fetch-site': 'cross-site', origin: 'https://app.example' }
  for (const [what, headers] of Object.entries({
    'a server': {},
    'a form of another site': foreign,
    'a form of ours': OWN
  })) {
    const { signIn, post, me, hints, loggedOut } = await logoutApp(t)
    const { cookie, sid } = await signIn()
    const form = {
      id_token_hint: 'hint',
      post_logout_redirect_uri: BACK,
      state: 'a&b=c',
      logout_hint: 'ann',
      unknown: 'x',
      client_id: ''
    }
    for (const hint of [
      { sub: 'ann', aud: 'app', sid: undefined },
      { sub: 'ann', aud: 'app', sid: 'former' },
      { sub: 'bob', aud: 'app', sid }
    ]) {
      hints.hint = hint
      const reply = await post('/auth/logout', form, headers)
      t.equal(reply.statusCode, 303)
      const url = new URL(String(reply.headers.location), ISSUER)
      t.equal(url.pathname, '/auth/logout')
      t.strictSame(Object.fromEntries(url.searchParams), {
        id_token_hint: 'hint',
        post_logout_redirect_uri: BACK,
        state: 'a&b=c',
        logout_hint: 'ann'
      })
      t.strictSame(setCookies(reply), [])
    }
    t.equal((await post('/auth/logout', '', headers)).headers.location, '/auth/logout')
    t.equal(
      (await post('/auth/logout', { id_token_hint: 'made up' }, headers)).headers.location,
      '/auth/logout?id_token_hint=made+up'
    )
    t.match(await me(cookie), { sub: 'ann' }, `${what}: none of these ends anything`)
    hints.hint = { sub: 'ann', aud: 'app', sid }
    const reply = await post('/auth/logout', form, headers)
    t.strictSame(
      [reply.statusCode, reply.headers.location, setCookies(reply)],
      [303, `${BACK}?state=a%26b%3Dc`, []],
      what
    )
    t.equal(await me(cookie), null, what)
    t.match(loggedOut, [{ userId: 'ann', sids: [sid], by: 'user' }], what)
  }
})

// covers L4
t.test('asks first on a POST with the cookie, and ends the session directly with a hint of it', async (t) => {
  const { signIn, post, me, hints, sent } = await logoutApp(t)
  const { cookie, sid } = await signIn()
  hints.other = { sub: 'bob', aud: 'app', sid: 'another' }
  for (const form of [{ client_id: 'app' }, { id_token_hint: 'other' }]) {
    t.equal((await post('/auth/logout', form, { cookie })).statusCode, 200)
    t.equal(sent.at(-1)?.page, 'logout', 'asked first')
  }
  t.match(await me(cookie), { sub: 'ann' })
  hints.hint = { sub: 'ann', aud: 'app', sid }
  const done = await post('/auth/logout', { id_token_hint: 'hint' }, { cookie })
  t.strictSame([done.statusCode, setCookies(done)], [200, [CLEARED]])
  t.match(sent.at(-1), { page: 'signed_out', content: { ended: true } })
  t.equal(await me(cookie), null)
})

// covers L4
t.test('ends the session that a GET without a cookie names by a hint, and reports the result', async (t) => {
  const { signIn, get, me, hints, sent } = await logoutApp(t)
  const { cookie, sid } = await signIn()
  hints.none = { sub: 'ann', aud: 'app', sid: undefined }
  hints.unknown = { sub: 'ann', aud: 'nobody', sid }
  for (const params of [
    {},
    { id_token_hint: 'none' },
    { id_token_hint: 'unknown' },
    { id_token_hint: 'made up' },
    { client_id: 'app' }
  ]) {
    t.equal((await get(query(params))).statusCode, 200)
    t.match(sent.at(-1), { page: 'signed_out', content: { ended: false } }, JSON.stringify(params))
  }
  t.match(await me(cookie), { sub: 'ann' })
  hints.hint = { sub: 'ann', aud: 'app', sid }
  const reply = await get(query({ id_token_hint: 'hint' }))
  t.strictSame([reply.statusCode, setCookies(reply)], [200, []])
  t.match(sent.at(-1), { page: 'signed_out', content: { ended: true } })
  t.equal(await me(cookie), null)
})

// covers ASVS-3.7.2 OIDF-oidcc-rp-initiated-logout-bad-post-logout-redirect-uri
t.test('shows an error page without a redirect for an invalid sign-out request, and keeps the session', async (t) => {
  const { signIn, get, post, me, hints, sent } = await logoutApp(t)
  const { cookie, sid } = await signIn()
  hints.hint = { sub: 'ann', aud: 'app', sid }
  for (const bad of [
    query({ id_token_hint: 'hint', post_logout_redirect_uri: 'https://evil.example/' }),
    query({ id_token_hint: 'hint', post_logout_redirect_uri: `${BACK}?foo=bar` }),
    query({ id_token_hint: 'hint', client_id: 'bare' }),
    query({ post_logout_redirect_uri: BACK }),
    `${query({ id_token_hint: 'hint', post_logout_redirect_uri: BACK })}&post_logout_redirect_uri=https://evil.example/`,
    query({ id_token_hint: 'hint', state: 'x'.repeat(3000) })
  ]) {
    for (const reply of [await get(bad, { cookie }), await post(bad, { decision: 'sign_out' }, { cookie, ...OWN })]) {
      t.equal(reply.statusCode, 400, bad.slice(0, 120))
      t.equal(reply.headers.location, undefined)
      t.strictSame(setCookies(reply), [])
      t.match(sent.at(-1), { page: 'error', content: { error: { error: 'invalid_request' }, homeUrl: ISSUER } })
    }
  }
  t.equal((await post('/auth/logout', `state=1&state=2`, { cookie })).statusCode, 400)
  t.equal((await post('/auth/logout', '{}', { cookie, 'content-type': 'application/json' })).statusCode, 415)
  t.match(await me(cookie), { sub: 'ann' })
})

t.test('shows the signed-out page without a session, and clears only a dead cookie that was sent', async (t) => {
  const { signIn, get, sent, sessions } = await logoutApp(t)
  const { cookie } = await signIn()
  await sessions.revokeAll('ann', 'host', { origin: { requestId: null } })
  t.strictSame(setCookies(await get('/auth/logout', { cookie })), [CLEARED])
  const embedded = await get('/auth/logout')
  t.equal(embedded.statusCode, 200)
  t.strictSame(setCookies(embedded), [], 'what another site embeds')
  t.match(sent, [
    { page: 'signed_out', content: { ended: false, homeUrl: ISSUER, loginUrl: '/auth/login' } },
    { page: 'signed_out' }
  ])
})

t.test('keeps the session when the decision is not to sign out', async (t) => {
  const { signIn, post, me, sent } = await logoutApp(t)
  const { cookie } = await signIn()
  await post('/auth/logout', { decision: 'stay' }, { cookie, ...OWN })
  t.equal(sent.at(-1)?.page, 'logout')
  t.match(await me(cookie), { sub: 'ann' })
})

t.test('shows a page with 503 during an outage, and does not claim a sign-out', async (t) => {
  const { signIn, post, sent, state } = await logoutApp(t)
  const { cookie } = await signIn()
  state.tokens.revokeSession = async () => {
    throw new Error('down')
  }
  const reply = await post('/auth/logout', { decision: 'sign_out' }, { cookie, ...OWN })
  t.equal(reply.statusCode, 503)
  t.match(sent.at(-1), { page: 'error', content: { error: { error: 'temporarily_unavailable' } } })
  t.strictSame(setCookies(reply), [])
})
