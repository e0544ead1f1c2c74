import Database from 'libsql'
import t from '../../support/tap.ts'
import { sqliteState, sqliteUserStore } from '../../../lib/index.ts'
import { ADMIN_SCOPES } from '../../../lib/protocol/scope.ts'
import { bearer, ISSUER, PASSWORD, signUp, testApp } from '../../support/app.ts'
import { authorizeAs, authorizePath, CLIENTS, KEYS, redeem } from '../../support/openid.ts'
import { proofOf, signingKey } from '../resource/world.ts'
import { oauth } from '../users/support.ts'
import { ALL, claimsIn, impersonation, REASON, SERVICE_SECRET } from './world.ts'

t.test('rejects an impersonation token after its expiry or the end of the session or account behind it', async (t) => {
  const ends: Record<string, (test: Awaited<ReturnType<typeof impersonation>>) => Promise<unknown>> = {
    'the administrator signs out': async ({ app, root, own }) =>
      await app.authority.revokeSession(root.sub, String(claimsIn((own.authorization ?? '').slice(7)).sid)),
    'all their sign-ins end': async ({ app, root }) => await app.authority.revokeUser(root.sub),
    'they are disabled': async ({ app, root }) => await app.authority.users.disable(root.sub),
    'they are removed': async ({ app, root }) => await app.authority.users.remove(root.sub),
    'the user is disabled': async ({ app, bob }) => await app.authority.users.disable(bob.sub),
    'the user is removed': async ({ app, bob }) => await app.authority.users.remove(bob.sub),
    'its time is over': async ({ clock }) => {
      clock.step(900_000)
    }
  }
  for (const [name, end] of Object.entries(ends)) {
    const test = await impersonation(t)
    const { access_token: token } = (await test.ask()).json()
    t.equal((await test.introspected(token)).active, true, name)
    await end(test)
    t.same(await test.introspected(token), { active: false }, name)
    t.equal((await test.app.inject({ url: '/auth/userinfo', headers: bearer(token) })).statusCode, 401, name)
  }
})

t.test("ends an impersonation token at other instances when the administrator's session ends", async (t) => {
  const db = new Database(':memory:')
  t.teardown(() => db.close())
  const stores = { users: sqliteUserStore(db), state: sqliteState(db) }
  const { ask, app, root, own } = await impersonation(t, stores)
  const other = await testApp({ ...stores, keys: KEYS, clients: CLIENTS, secret: SERVICE_SECRET })
  t.teardown(other.close)
  const { access_token: token } = (await ask()).json()
  const seen = async () => (await other.app.inject({ url: '/auth/userinfo', headers: bearer(token) })).statusCode
  t.equal(await seen(), 200)
  await app.authority.revokeSession(root.sub, String(claimsIn((own.authorization ?? '').slice(7)).sid))
  t.equal(await seen(), 401)
})

t.test('rejects earlier impersonation tokens of a disabled or reset user at once, but not later ones', async (t) => {
  for (const act of ['disable', 'reset'] as const) {
    const { app, ask, bob, send, own, clock } = await impersonation(t)
    const { access_token: token } = (await ask()).json()
    t.equal((await app.authority.verify(token)).sub, bob.sub)
    t.equal((await send('POST', `/users/${bob.sub}/${act}`, own)).statusCode, 204)
    await t.rejects(app.authority.verify(token), oauth('invalid_token', 401), act)
    const { access_token: other } = (await ask(undefined, (await signUp(app, 'eve@example.com')).sub)).json()
    t.ok(await app.authority.verify(other), 'and not that for another user')
    clock.step(1000)
    await app.authority.users.enable(bob.sub)
    const { access_token: next } = (await ask()).json()
    t.ok(await app.authority.verify(next), 'and not a later one')
  }
})

t.test("keeps an impersonation token valid when another administrator's sessions end", async (t) => {
  const { app, ask, admins, tokenOf, root, introspected } = await impersonation(t)
  admins.set('ann', ADMIN_SCOPES)
  const { access_token: first } = (await ask()).json()
  const { access_token: second } = (await ask(undefined, undefined, bearer(await tokenOf('ann', ALL)))).json()
  await app.authority.revokeUser(root.sub)
  t.same(await introspected(first), { active: false })
  t.match(await introspected(second), { active: true })
})

t.test("issues the impersonation token for the client of the administrator's token", async (t) => {
  const { app, browser, bob, send } = await impersonation(t)
  const { code = '' } = await authorizeAs(browser, authorizePath({ scope: `openid ${ALL}` }), { username: 'root' })
  const { access_token: own } = (await redeem(app, code)).json()
  const reply = await send('POST', `/users/${bob.sub}/impersonate`, bearer(own), { reason: REASON })
  t.equal(claimsIn(reply.json().access_token).client_id, claimsIn(own).client_id)
})

t.test('binds the impersonation token to the DPoP key of the administrator', async (t) => {
  const { app, clock, bob, root } = await impersonation(t, { dpop: true })
  const key = signingKey()
  const signedIn = await app.inject({
    method: 'POST',
    url: '/auth/token',
    headers: { dpop: proofOf(key, { clock, url: `${ISSUER}/auth/token`, method: 'POST' }) },
    payload: { grant_type: 'password', username: 'root', password: PASSWORD, scope: ALL }
  })
  const { access_token: own } = signedIn.json()
  const path = `/auth/admin/users/${bob.sub}/impersonate`
  const reply = await app.inject({
    method: 'POST',
    url: path,
    headers: {
      authorization: `DPoP ${own}`,
      dpop: proofOf(key, { clock, url: `${ISSUER}${path}`, method: 'POST', token: own })
    },
    payload: { reason: REASON }
  })
  t.match(reply.json(), { token_type: 'DPoP', act: { sub: root.sub } })
  t.same(claimsIn(reply.json().access_token).cnf, claimsIn(own).cnf)
})

t.test('lets the host impersonate a user, as an administrator or as itself, and rejects other actors', async (t) => {
  const { app, bob, root, introspected, ann } = await impersonation(t)
  const { impersonate } = app.authority.users
  const { access_token: token, act } = await impersonate(bob.sub, {
    by: { type: 'user', id: root.sub },
    reason: REASON
  })
  t.same(act, { sub: root.sub })
  t.match(await introspected(token), { active: true, act: { sub: root.sub } })
  const byHost = await impersonate(bob.sub, { reason: REASON, scope: 'profile' })
  t.same(claimsIn(byHost.access_token).act, { sub: 'app', type: 'host' })
  t.match(await introspected(byHost.access_token), { active: true, scope: 'profile' })
  await app.authority.users.disable(root.sub)
  t.same(await introspected(token), { active: false })
  for (const [id, asked, error, status] of [
    [bob.sub, { by: { type: 'user', id: root.sub } }, 'conflict', 409],
    [bob.sub, { by: { type: 'user', id: bob.sub } }, 'conflict', 409],
    [bob.sub, { by: { type: 'user', id: 'nobody' } }, 'conflict', 409],
    [bob.sub, { by: { type: 'client', id: 'robot' } }, 'access_denied', 403],
    ['nobody', {}, 'not_found', 404],
    [ann.sub, { reason: 'short' }, 'invalid_request', 400],
    [ann.sub, { scope: 7 as never }, 'invalid_request', 400]
  ] as const)
    await t.rejects(impersonate(id, { reason: REASON, ...asked }), oauth(error, status), JSON.stringify(asked))
  await t.rejects(impersonate(ann.sub, { reason: REASON, other: 1 } as never), TypeError)
  await t.rejects(impersonate(ann.sub, undefined as never), oauth('invalid_request', 400))
})
