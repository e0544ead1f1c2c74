import t from '../../support/tap.ts'
import { Type } from '@sinclair/typebox'
import { memoryFactorStore } from '../../../lib/index.ts'
import { authAs } from '../../../lib/testing/index.ts'
import { bearer, PASSWORD } from '../../support/app.ts'
import { giveSecondFactor } from '../../support/second-factor.ts'
import { entry } from '../audit/world.ts'
import { ALL, routed } from './world.ts'

const APP = 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP'

t.test('exports the stored data of a user without secrets, and only after a recent sign-in', async (t) => {
  const factors = memoryFactorStore()
  const test = await routed(t, {
    factors,
    registration: { username: 'any', fields: Type.Object({ city: Type.Optional(Type.String()) }) }
  })
  const { app, ann, token, clock, tokenOf, send } = test
  await app.authority.users.update(ann.sub, { fields: { city: 'Bern' } })
  const { key } = await app.authority.apiKeys.create({ userId: ann.sub, name: 'Reports' })
  await app.authority.linkIdentity(ann.sub, { issuer: 'https://sso.example.com', subject: 's1', connection: 'acme' })
  const { refresh_token: refresh } = (
    await token({ grant_type: 'password', username: 'ann', password: PASSWORD })
  ).json<{ refresh_token: string }>()
  const { kind } = await giveSecondFactor(test, ann.sub, APP)
  const own = (await authAs(app, { id: ann.sub }, { acr: 'phr' })).authorization.slice('Bearer '.length)
  const ask = async () => await app.inject({ url: '/auth/account/export', headers: bearer(own) })
  const reply = await ask()
  t.equal(reply.statusCode, 200, reply.body)
  t.match(reply.headers['content-disposition'], /^attachment; filename="account\.json"$/)
  t.equal(reply.headers['cache-control'], 'no-store')
  const found = reply.json()
  t.match(found, {
    profile: { id: ann.sub, username: 'ann', city: 'Bern', has_password: true },
    sessions: [{ kind: 'token' }],
    consents: [],
    connections: [{ connection: 'acme', subject: 's1', linked_at: /Z$/ }],
    factors: [{ kind }],
    api_keys: [{ name: 'Reports', last_used_at: null }]
  })
  t.ok(found.audit.some(({ action }: { action: string }) => action === 'registered'))
  const { passwordHash } = (await app.authority.users.get(ann.sub)) as { passwordHash?: string }
  t.equal(passwordHash, undefined)
  for (const secret of [key, own, refresh, APP, '$argon2', 'digest', 'sealed', 'mac"', PASSWORD])
    t.notOk(reply.body.includes(secret), secret.slice(0, 12))
  const byAdmin = await send('GET', `/users/${ann.sub}/export`, bearer(await tokenOf('root', ALL)))
  t.same(byAdmin.json().factors, found.factors)
  t.match(
    (await send('GET', `/audit?user=${ann.sub}&action=user_exported`, bearer(await tokenOf('root', ALL)))).json()
      .entries,
    [{ outcome: 'done' }, { outcome: 'attempted' }]
  )
  clock.step(301_000)
  t.match((await ask()).json(), { error: 'insufficient_user_authentication' })
})

t.test('keeps the IP address and the reason of an administrator out of an export', async (t) => {
  const { app, send, tokenOf, ann } = await routed(t)
  const all = bearer(await tokenOf('root', ALL))
  const token = await tokenOf('ann', 'openid')
  const said = { reason: 'complains too much' }
  t.equal((await send('POST', `/users/${ann.sub}/enable`, all, said)).statusCode, 204)
  const own = (await app.inject({ url: '/auth/account/export', headers: bearer(token) })).json()
  const byAdmin = (await send('GET', `/users/${ann.sub}/export`, all)).json()
  for (const { audit } of [own, byAdmin]) {
    const act = audit.find(({ action }: { action: string }) => action === 'user_enabled')
    t.match(act, { ip: null, actor: { type: 'user' } })
    t.notMatch(JSON.stringify(audit), /complains/)
    t.match(
      audit.find(({ action }: { action: string }) => action === 'registered'),
      { ip: '127.0.0.1' }
    )
  }
})

t.test('rejects the export of an unknown user with not_found', async (t) => {
  const { app } = await routed(t)
  await t.rejects(app.authority.users.export('nobody'), { name: 'OAuthError', error: 'not_found' })
})

t.test('exports all 2100 audit entries of a user', async (t) => {
  const { app, log, ann, clock } = await routed(t)
  const at = clock.now()
  for (let seq = 1; seq <= 2100; seq++)
    await log.append(
      entry({ chain: 'busy', seq, at, action: 'token_refreshed', target: { type: 'user', id: ann.sub }, details: {} })
    )
  const { audit } = (await app.authority.users.export(ann.sub)) as { audit: Array<{ action: string }> }
  t.equal(audit.filter(({ action }) => action === 'token_refreshed').length, 2100)
})
