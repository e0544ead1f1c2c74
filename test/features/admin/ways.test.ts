import t from '../../support/tap.ts'
import { oidc } from '../../../lib/connections/index.ts'
import { memoryUserStore } from '../../../lib/index.ts'
import { authAs, softPasskey } from '../../../lib/testing/index.ts'
import { bearer, ISSUER, signUp } from '../../support/app.ts'
import { ALL, routed, SECRET_OF_APP, thingOf } from './world.ts'

const KINDS = [
  ['connections', 'connections', 'identity_unlinked'],
  ['factors', 'factors', 'factor_removed'],
  ['api-keys', 'api_keys', 'api_key_revoked']
] as const

const SSO = oidc({ id: 'sso', issuer: 'https://sso.example', clientId: 'us', clientSecret: 'a secret of ours' })

t.test('shows and removes the connections, factors and API keys of a user', async (t) => {
  const { app, send, tokenOf, ann, root } = await routed(t)
  const bob = await signUp(app, 'bob')
  const all = bearer(await tokenOf('root', ALL))
  for (const [path, name, action] of KINDS) {
    const id = await thingOf(app, `/${path}`, bob.sub)
    const list = async (sub: string) => (await send('GET', `/users/${sub}/${path}`, all)).json()[name]
    t.match(await list(bob.sub), [{ id }])
    t.same(await list(ann.sub), [])
    t.equal((await send('GET', `/users/nobody/${path}`, all)).statusCode, 404)
    const remove = async (sub: string, one = id) => await send('DELETE', `/users/${sub}/${path}/${one}`, all)
    t.equal((await remove(ann.sub)).json().error, 'not_found', `${path}: not by the address of another user`)
    for (const odd of ['%00', '..%2f', '__proto__', "'", 'x'.repeat(100)])
      t.equal((await remove(bob.sub, encodeURIComponent(odd))).statusCode, 404, `${path} ${odd}`)
    t.match(await list(bob.sub), [{ id }], 'still there')
    const both = await Promise.all([remove(bob.sub), remove(bob.sub)])
    t.same(both.map(({ statusCode }) => statusCode).toSorted(), [204, 404], path)
    t.same(await list(bob.sub), [])
    const { entries } = (await send('GET', `/audit?user=${bob.sub}&action=${action}&actor=${root.sub}`, all)).json()
    t.same(
      entries
        .map(({ outcome }: { outcome: string }) => outcome)
        .toSorted()
        .slice(0, 3),
      ['attempted', 'attempted', 'attempted']
    )
    t.equal(entries.filter(({ outcome }: { outcome: string }) => outcome === 'done').length, 1)
  }
})

t.test('shows no secret of a connection, a factor or an API key', async (t) => {
  const { app, send, tokenOf } = await routed(t)
  const bob = await signUp(app, 'bob')
  const all = bearer(await tokenOf('root', ALL))
  const { key } = await app.authority.apiKeys.create({ userId: bob.sub, name: 'Reports' })
  for (const [path] of KINDS) await thingOf(app, `/${path}`, bob.sub)
  for (const [path, name] of KINDS) {
    const reply = await send('GET', `/users/${bob.sub}/${path}`, all)
    t.ok(reply.json()[name].length > 0)
    for (const secret of [key, SECRET_OF_APP, '$argon2', 'digest', 'sealed', 'https://sso.example'])
      t.notOk(reply.body.includes(secret), `${path}: ${secret.slice(0, 12)}`)
  }
})

t.test('answers 409 to the removal of the last sign-in method of a user', async (t) => {
  const users = memoryUserStore()
  const { app, send, tokenOf } = await routed(t, { users, connections: [SSO] })
  const all = bearer(await tokenOf('root', ALL))
  const linked = await users.create({ username: 'linked', passwordHash: null })
  const keyed = await users.create({
    username: 'keyed',
    passwordHash: null,
    email: 'k@example.com',
    emailVerified: true
  })
  const link = await thingOf(app, '/connections', linked?.id ?? '')
  const headers = await authAs(app, { id: keyed?.id ?? '' }, { acr: 'phr' })
  const { options } = (
    await app.inject({ method: 'POST', url: '/auth/factors/passkeys/options', headers, payload: {} })
  ).json()
  const added = await app.inject({
    method: 'POST',
    url: '/auth/factors/passkeys',
    headers,
    payload: { credential: softPasskey({ origin: ISSUER }).create(options) }
  })
  t.equal(added.statusCode, 201, added.body)
  const passkey = (await app.authority.factors(keyed?.id ?? '')).factors[0]?.id ?? ''
  for (const path of [`${linked?.id}/connections/${link}`, `${keyed?.id}/factors/${passkey}`]) {
    const reply = await send('DELETE', `/users/${path}`, all)
    t.equal(reply.statusCode, 409, reply.body)
    t.equal(reply.json().error, 'last_sign_in_method')
  }
  t.equal((await app.authority.identities(linked?.id ?? '')).length, 1)
  t.equal((await app.authority.factors(keyed?.id ?? '')).factors.length, 1)
})

t.test('lets an administrator remove the authenticator app of a user who must have a second factor', async (t) => {
  const { app, send, tokenOf } = await routed(t, { mfa: { required: ({ username }) => username === 'must' } })
  const all = bearer(await tokenOf('root', ALL))
  const { sub } = await signUp(app, 'must')
  const id = await thingOf(app, '/factors', sub)
  t.equal((await send('DELETE', `/users/${sub}/factors/${id}`, all)).statusCode, 204)
})

t.test('records sessions that an administrator ended as ended by the host, not by the user', async (t) => {
  const { send, tokenOf, byPassword, bob, ann } = await routed(t)
  const all = bearer(await tokenOf('root', ALL))
  await byPassword('ann')
  await byPassword('bob@example.com')
  for (const { sub } of [ann, bob]) {
    t.equal((await send('DELETE', `/users/${sub}/sessions`, all)).statusCode, 204)
    const { entries } = (await send('GET', `/audit?user=${sub}&action=logged_out`, all)).json()
    t.match(entries[0], { actor: { type: 'host', id: null }, details: { by: 'admin' } })
  }
})

t.test('lists no connections, factors or API keys if those features are off', async (t) => {
  const { send, tokenOf, bob } = await routed(t, { apiKeys: undefined, factors: undefined })
  const all = bearer(await tokenOf('root', ALL))
  for (const [path, name] of KINDS) {
    t.same((await send('GET', `/users/${bob.sub}/${path}`, all)).json(), { [name]: [] })
    t.equal((await send('DELETE', `/users/${bob.sub}/${path}/x`, all)).statusCode, 404)
  }
})
