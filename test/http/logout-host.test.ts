import { REPLACED_SECRET_MS } from '../../lib/ports/session-store.ts'
import fastifyCookie from '@fastify/cookie'
import type { FastifyInstance } from 'fastify'
import t from '../support/tap.ts'
import { partitionOf } from '../../lib/protocol/digest.ts'
import { HOUR, IDLE_TIMEOUT, MINUTE } from '../unit/sessions/session-world.ts'
import { plainCookie } from '../../lib/http/edge/sealed-cookies.ts'
import { ISSUER, logoutApp, setCookies } from './support/logout-app.ts'

const anns = (name: string): string => partitionOf('ann') + name
const BOBS = `${partitionOf('bob')}bobs`

// covers ASVS-3.3.1 ASVS-3.3.2 ASVS-3.3.4
t.test('signIn: sets a session cookie, and puts none of it into the body', async (t) => {
  const { app, signIn } = await logoutApp(t)
  const { header, cookie } = await signIn()
  t.match(
    header,
    /^__Host-authority_session_[\w-]{8}=[\w-]{38}\.[\w-]{43}; Max-Age=43200; Path=\/; HttpOnly; SameSite=Lax; Secure$/
  )
  const reply = await app.inject({ method: 'POST', url: '/host/sign-in/ann' })
  t.notMatch(reply.body, new RegExp(cookie.split('=')[1] ?? ''))
})

t.test('sets a cookie without prefix for an http loopback issuer, because browsers reject the prefix', async (t) => {
  const { signIn, me } = await logoutApp(t, { issuer: 'http://localhost:3000' })
  const { header, cookie } = await signIn()
  t.match(header, /^authority_session_[\w-]{8}=[^;]+; Max-Age=43200; Path=\/; HttpOnly; SameSite=Lax$/)
  t.match(await me(cookie), { sub: 'ann' })
})

t.test('gives each plugin in an app its own cookie name', async (t) => {
  const nameOf = (issuer: string, prefix: string): string => plainCookie({ issuer, prefix, seconds: 1 }).name
  const names = [
    nameOf(ISSUER, '/auth'),
    nameOf(`${ISSUER}:8443`, '/auth'),
    nameOf(ISSUER, '/staff'),
    nameOf(ISSUER, ''),
    nameOf(`${ISSUER}/tenant`, '/auth'),
    nameOf(`${ISSUER}/tenant`, '/staff')
  ]
  t.equal(new Set(names).size, names.length)
  for (const name of names) t.match(name, /^__Host-authority_session_[\w-]{8}$/)
})

t.test('reads the session cookie among others, and ignores two cookies of the same name', async (t) => {
  const { signIn, me, cookieName } = await logoutApp(t)
  const { cookie } = await signIn()
  for (const header of [
    `a=1; ${cookie}; b=2`,
    `a=1;${cookie}`,
    `x${cookie}; ${cookie}`,
    `${cookieName}_x=1; ${cookie}`
  ])
    t.match(await me(header), { sub: 'ann' }, header.slice(0, 40))
  for (const header of [
    `${cookie}; ${cookie}`,
    `${cookieName}=planted; ${cookie}`,
    `${cookie}; ${cookieName}=`,
    `${cookieName}=`,
    cookieName,
    `${cookieName}="${cookie.split('=')[1]}"`,
    '=;;'
  ])
    t.equal(await me(header), null, header.slice(0, 60))
})

t.test('keeps the cookies that the host sets by @fastify/cookie or by a header', async (t) => {
  const { cookieName, app, authority, me } = await logoutApp(t, {
    host: async (app: FastifyInstance) => {
      await app.register(fastifyCookie)
      app.post('/host/both', async (request, reply) => {
        reply.setCookie('mine', '1').header('set-cookie', 'raw=2')
        await authority.signIn(request, reply, 'ann')
        reply.setCookie('late', '3')
        return 'done'
      })
    }
  })
  const cookies = setCookies(await app.inject({ method: 'POST', url: '/host/both' }))
  t.strictSame(
    cookies.map((one) => one.split('=')[0]).sort((a = '', b = '') => a.localeCompare(b)),
    [cookieName, 'late', 'mine', 'raw']
  )
  t.match(await me(`mine=1; ${cookies.find((one) => one.startsWith('__Host'))?.split(';')[0]}`), { sub: 'ann' })
})

t.test('signIn rejects an unknown or disabled user, and keeps the session of the browser', async (t) => {
  const { app, signIn, me } = await logoutApp(t)
  const { cookie } = await signIn()
  for (const id of ['nobody', 'gone', 'ann@example.com']) {
    const reply = await app.inject({ method: 'POST', url: `/host/sign-in/${id}`, headers: { cookie } })
    t.equal(reply.statusCode, 400, id)
    t.match(reply.json(), { message: 'There is no such user, or the account is disabled.' })
    t.strictSame(setCookies(reply), [])
  }
  t.match(await me(cookie), { sub: 'ann' })
})

// covers ASVS-7.2.4
t.test('signIn over a session: replaces the cookie, and ends the session of another user', async (t) => {
  const { signIn, me, loggedOut, clock } = await logoutApp(t)
  const first = await signIn()
  const second = await signIn('ann', { cookie: first.cookie })
  t.equal(second.sid, first.sid)
  clock.step(REPLACED_SECRET_MS)
  t.equal(await me(first.cookie), null)
  t.match(await me(second.cookie), { sub: 'ann', sid: first.sid })
  const third = await signIn('bob', { cookie: second.cookie })
  t.equal(await me(second.cookie), null)
  t.match(await me(third.cookie), { sub: 'bob' })
  t.match(loggedOut, [{ userId: 'ann', sids: [first.sid] }])
})

t.test('signOut ends the session and clears the cookie, also without a session', async (t) => {
  const { app, signIn, me, loggedOut, ended, browser } = await logoutApp(t)
  const { cookie, sid } = await signIn()
  const session = await browser.find(cookie.split('=')[1])
  if (session !== null) await browser.use(session, 'app')
  for (const headers of [{ cookie }, { cookie }, {}]) {
    const reply = await app.inject({ method: 'POST', url: '/host/sign-out', headers })
    t.equal(reply.statusCode, 200)
    t.match(setCookies(reply), [
      /^__Host-authority_session_[\w-]{8}=; Max-Age=0; Path=\/; HttpOnly; SameSite=Lax; Secure$/
    ])
  }
  t.equal(await me(cookie), null)
  t.match(loggedOut, [{ userId: 'ann', sids: [sid] }])
  t.equal(loggedOut.length, 1)
  t.match(ended, [[{ sid, clientIds: ['app'] }]])
})

t.test('readSession: returns the session of the signed-in user, or null without a valid cookie', async (t) => {
  const { cookieName, signIn, me, clock } = await logoutApp(t)
  t.equal(await me(), null)
  t.equal(await me(`${cookieName}=made.up`), null)
  const { cookie, sid } = await signIn()
  t.strictSame(await me(cookie), {
    sub: 'ann',
    sid,
    authenticatedAt: new Date(clock.now()).toISOString(),
    acr: null,
    amr: []
  })
})

// covers ASVS-7.3.1
t.test('readSession extends the session, at most once a minute', async (t) => {
  const { signIn, me, clock, state } = await logoutApp(t)
  let uses = 0
  const { useSession } = state.browserSessions
  state.browserSessions.useSession = async (use) => {
    uses++
    return await useSession(use)
  }
  const { cookie } = await signIn()
  clock.step(MINUTE - 1)
  await me(cookie)
  t.equal(uses, 0)
  clock.step(1)
  await me(cookie)
  await me(cookie)
  t.equal(uses, 1)
  clock.step(IDLE_TIMEOUT - 1)
  t.match(await me(cookie), { sub: 'ann' }, 'it slid')
  for (let hours = 0; hours < 9; hours++) {
    clock.step(HOUR)
    t.match(await me(cookie), { sub: 'ann' })
  }
  clock.step(HOUR)
  t.equal(await me(cookie), null, 'ASVS-7.3.2 not beyond the absolute end')
})

// covers ASVS-7.4.2
t.test('readSession: returns null for a disabled or deleted user at once', async (t) => {
  const { signIn, me, users } = await logoutApp(t)
  const { cookie } = await signIn('bob')
  const bob = users.find(({ id }) => id === 'bob')
  if (bob !== undefined) bob.disabled = true
  t.equal(await me(cookie), null)
  users.splice(0)
  t.equal(await me(cookie), null)
})

t.test('readSession: answers 503 during an outage', async (t) => {
  const { app, signIn, state } = await logoutApp(t)
  const { cookie } = await signIn()
  state.browserSessions.findSession = async () => {
    throw new Error('secret detail')
  }
  const reply = await app.inject({ url: '/host/me', headers: { cookie } })
  t.equal(reply.statusCode, 503)
  t.match(reply.json(), { message: 'The service is not available at the moment.' })
  t.notMatch(reply.body, /secret detail/)
  t.equal((await app.inject({ url: '/host/me' })).statusCode, 200, 'who sent no cookie is not asked about')
})

t.test('lists consents, and revokes one with all tokens of its client', async (t) => {
  const { authority, state, clock, addFamily, families } = await logoutApp(t)
  const now = clock.now()
  await state.consents.grantConsent({
    userId: 'ann',
    clientId: 'shop',
    scopes: ['openid', 'email'],
    grantedAt: now,
    expiresAt: now + HOUR
  })
  await addFamily({ sid: anns('shop-1'), clientId: 'shop' })
  await addFamily({ sid: anns('app-1'), clientId: 'app' })
  await addFamily({ sid: BOBS, clientId: 'shop', userId: 'bob' })
  t.strictSame(await authority.consents('ann'), [
    { clientId: 'shop', scopes: ['openid', 'email'], grantedAt: new Date(now), expiresAt: new Date(now + HOUR) }
  ])
  t.strictSame(await authority.consents('bob'), [])
  t.equal(await authority.revokeConsent('bob', 'app'), false)
  t.equal(await authority.revokeConsent('ann', 'shop'), true)
  t.strictSame(await authority.consents('ann'), [])
  t.strictSame(await families(), [anns('app-1')])
  t.strictSame(await families('bob'), [BOBS])
  t.equal(await authority.revokeConsent('ann', 'shop'), false)
})

// covers ASVS-7.5.2
t.test('lists browser sessions and token sessions, newest first, and ends either kind', async (t) => {
  const { app, authority, signIn, addFamily, clock, browsers, families } = await logoutApp(t)
  const { sid } = await signIn('ann')
  const other = await signIn('ann')
  clock.step(1000)
  await addFamily({ sid: anns('here'), sessionSid: sid, scope: 'openid email', offline: false })
  await addFamily({ sid: anns('device'), clientId: null })
  const headers = { authorization: `Bearer ann:${anns('here')}` }
  const { sessions } = (await app.inject({ url: '/auth/sessions', headers })).json<{
    sessions: Array<Record<string, unknown>>
  }>()
  t.equal(sessions.length, 4)
  t.strictSame(
    sessions.slice(0, 2).map(({ kind }) => kind),
    ['token', 'token']
  )
  const find = (id: string) => sessions.find((session) => session.id === id)
  t.match(find(anns('here')), { kind: 'token', client_id: 'app', scope: 'openid email', current: true })
  t.match(find(anns('device')), { kind: 'token', client_id: null, current: false })
  t.match(find(sid), {
    kind: 'browser',
    client_id: null,
    scope: '',
    current: true,
    user_agent: 'lightMyRequest',
    created_at: new Date(clock.now() - 1000).toISOString(),
    expires_at: new Date(clock.now() - 1000 + IDLE_TIMEOUT).toISOString()
  })
  t.match(find(other.sid), { kind: 'browser', current: false })
  t.strictSame(
    (await authority.sessions('ann')).map(({ id, kind }) => [id, kind]).sort(),
    sessions.map(({ id, kind }) => [id, kind]).sort()
  )

  t.equal((await app.inject({ method: 'DELETE', url: `/auth/sessions/${other.sid}`, headers })).statusCode, 204)
  t.strictSame(await browsers(), [sid])
  t.equal((await app.inject({ method: 'DELETE', url: `/auth/sessions/${anns('device')}`, headers })).statusCode, 204)
  t.equal(await authority.revokeSession('ann', sid), true)
  t.strictSame(await families(), [], 'what hung on the browser session is gone with it')
})

// covers ASVS-8.2.2
t.test('rejects ending a session of another user', async (t) => {
  const { app, signIn, addFamily, me, families } = await logoutApp(t)
  const { sid, cookie } = await signIn('ann')
  await addFamily({ sid: anns('anns') })
  await addFamily({ sid: BOBS, userId: 'bob' })
  for (const id of [sid, anns('anns'), 'nothing', cookie.split('=')[1] ?? '']) {
    const reply = await app.inject({
      method: 'DELETE',
      url: `/auth/sessions/${id}`,
      headers: { authorization: `Bearer bob:${BOBS}` }
    })
    t.equal(reply.statusCode, 404, id)
    t.match(reply.json(), { error: 'not_found' })
  }
  t.match(await me(cookie), { sub: 'ann' })
  t.strictSame(await families(), [anns('anns')])
})
