import t from '../../support/tap.ts'
import { memoryApiKeyStore } from '../../../lib/index.ts'
import { admitted } from '../../../lib/oauth/target.ts'
import { ADMIN_SCOPES } from '../../../lib/protocol/scope.ts'
import { bearer, ISSUER, PASSWORD } from '../../support/app.ts'
import { decodeJwt } from '../../support/jwt.ts'
import { authorizeAs, authorizePath, basic, CLIENTS, redeem, SECRET } from '../../support/openid.ts'
import { ROBOT, world, type World } from './world.ts'

const READ = 'authority:users:read'
const MIXED = `openid ${READ}`

interface Granted {
  status: number
  scope: string | undefined
  error?: string
}

/** The ways to a user's token with a scope. */
const WAYS: Record<string, (test: World, username: string, scope?: string) => Promise<Granted>> = {
  async password({ byPassword }, username, scope) {
    const reply = await byPassword(username, scope)
    return seen(reply.statusCode, reply.json())
  },
  async code({ app, browser }, username, scope = 'openid') {
    browser.cookies.clear()
    const { code, error } = await authorizeAs(browser, authorizePath({ scope }), { username })
    if (code === undefined) return { status: 400, scope: undefined, error: error ?? '' }
    const reply = await redeem(app, code)
    return seen(reply.statusCode, reply.json())
  },
  async 'a call of the host'({ app, ann, root }, username, scope) {
    const { sub } = username === 'root' ? root : ann
    return await app.authority.issueTokens(sub, scope === undefined ? {} : { scope }).then(
      (tokens) => seen(200, tokens),
      (error: { error: string }) => ({ status: 400, scope: undefined, error: error.error })
    )
  }
}

function seen(status: number, body: { access_token?: string; scope?: string; error?: string }): Granted {
  if (body.access_token === undefined) return { status, scope: undefined, error: body.error ?? '' }
  t.equal(decodeJwt(body.access_token).claims['scope'], body.scope, 'the answer says what the token has')
  return { status, scope: body.scope }
}

for (const [way, ask] of Object.entries(WAYS))
  t.test(`grants administration scopes by ${way} only to a user whom admin.allow permits`, async (t) => {
    const test = await world(t)
    t.notMatch((await ask(test, 'root')).scope, 'authority:', 'never by default')
    t.equal((await ask(test, 'root', MIXED)).scope, MIXED)
    t.equal((await ask(test, 'root', ADMIN_SCOPES.join(' '))).scope, ADMIN_SCOPES.join(' '))
    t.equal((await ask(test, 'ann', MIXED)).scope, 'openid', 'the others get the rest')
    t.match(await ask(test, 'ann', READ), { status: 400, error: 'invalid_scope' })
    t.notMatch((await ask(test, 'root', 'openid authority:made:up')).scope ?? '', 'authority:')
  })

t.test('asks admin.allow again at each refresh', async (t) => {
  const { byPassword, token, admins } = await world(t)
  const { refresh_token } = (await byPassword('root', MIXED)).json()
  const refresh = async (params: object = {}) =>
    (await token({ grant_type: 'refresh_token', refresh_token, ...params })).json()
  t.equal((await refresh()).scope, MIXED)
  t.match(await refresh({ scope: `${MIXED} authority:users:write` }), { error: 'invalid_scope' })
  admins.delete('root')
  t.equal((await refresh()).scope, 'openid')
  t.match(await refresh({ scope: READ }), { error: 'invalid_scope' })
})

t.test('asks admin.allow again when a code is redeemed', async (t) => {
  const { app, browser, admins } = await world(t)
  const { code = '' } = await authorizeAs(browser, authorizePath({ scope: MIXED }), { username: 'root' })
  admins.delete('root')
  t.equal((await redeem(app, code)).json().scope, 'openid')
})

t.test('grants a machine client only the administration scopes that admin.allow permits', async (t) => {
  const { app, admins } = await world(t)
  const ask = async (scope?: string) =>
    (
      await app.inject({
        method: 'POST',
        url: '/auth/token',
        headers: basic(ROBOT, SECRET),
        payload: { grant_type: 'client_credentials', ...(scope === undefined ? {} : { scope }) }
      })
    ).json()
  t.equal((await ask(READ)).scope, READ)
  t.equal((await ask(`${READ} authority:users:delete`)).scope, READ)
  t.match(await ask('authority:users:delete'), { error: 'invalid_scope' })
  t.notMatch((await ask()).scope ?? '', 'authority:')
  admins.delete(ROBOT)
  t.match(await ask(READ), { error: 'invalid_scope' })
})

t.test('grants no administration scope to third parties, for APIs, to API keys or outside client.scopes', async (t) => {
  const test = await world(t, {
    resources: [{ resource: '/orders', scopes: ['orders:read'] }],
    apiKeys: memoryApiKeyStore()
  })
  const { app, browser, byPassword, token } = test
  const third = authorizePath({ client_id: 'third', redirect_uri: 'https://third.example/cb', scope: MIXED })
  let { reply } = await browser.follow(await browser.get(third))
  const form = /action="([^"]+)"/
  ;({ reply } = await browser.follow(
    await browser.submit('/auth/login?return_to=' + encodeURIComponent(third), { username: 'root', password: PASSWORD })
  ))
  t.match(reply.body, form, 'the consent page')
  t.notMatch(reply.body, 'authority:')
  const narrow = { client_id: 'narrow', scope: `${MIXED} authority:users:write` }
  const { code = '' } = await authorizeAs(browser, authorizePath(narrow), { username: 'root' })
  t.equal((await redeem(app, code, { client_id: 'narrow' })).json().scope, MIXED)
  const ofApi = authorizePath({ scope: `orders:read ${READ}`, resource: `${ISSUER}/orders` })
  const { code: second = '' } = await authorizeAs(browser, ofApi, { username: 'root' })
  t.equal((await redeem(app, second, { resource: `${ISSUER}/orders` })).json().scope, 'orders:read')
  const mine = bearer((await byPassword('root', MIXED)).json().access_token)
  const key = await app.inject({
    method: 'POST',
    url: '/auth/api-keys',
    headers: mine,
    payload: { name: 'x', scopes: [READ] }
  })
  t.match(key.json(), { error: 'invalid_scope' })
  t.match((await token({ grant_type: 'password', username: 'root', password: PASSWORD, scope: 'x' })).json(), {
    error: 'invalid_scope'
  })
})

const FAILURES: Record<string, () => unknown> = {
  throws() {
    throw new Error('root@example.com is unknown')
  },
  rejects: async () => await Promise.reject(new Error('root@example.com is unknown')),
  'answers nothing': () => undefined,
  'answers true': () => true,
  'answers a scope as text': () => READ,
  'answers a scope that does not exist': () => [READ, 'authority:everything'],
  'answers a scope of another kind': () => [READ, 'openid']
}
for (const [name, allow] of Object.entries(FAILURES))
  t.test(`grants no administration scope if admin.allow ${name}, and logs that once a minute`, async (t) => {
    const { byPassword, clock, lines } = await world(t, { admin: { allow: allow as () => string[] } })
    const told = () => lines.filter((line) => JSON.stringify(line).includes('admin.allow'))
    t.equal((await byPassword('root', MIXED)).json().scope, 'openid')
    t.match((await byPassword('root', READ)).json(), { error: 'invalid_scope' })
    t.equal(told().length, 1)
    const msg = name.startsWith('answers') ? /no array of scopes among .*authority:protected/ : /threw/
    t.match(told(), [{ code: 'FST_AUTHORITY_HOOK_FAILED', level: 40, msg }])
    t.notMatch(JSON.stringify(told()), 'root@example.com')
    clock.step(60_000)
    await byPassword('root', READ)
    t.equal(told().length, 2)
  })

t.test('grants only requested scopes, even if admin.allow returns more', async (t) => {
  const { byPassword } = await world(t, { admin: { allow: () => [...ADMIN_SCOPES] } })
  t.equal((await byPassword('ann', MIXED)).json().scope, MIXED)
})

t.test('grants no administration scope if admin.allow does not answer within a second', async (t) => {
  const { byPassword, clock } = await world(t, { admin: { allow: async () => await new Promise<string[]>(() => {}) } })
  const pending = byPassword('root', MIXED)
  let reply: Awaited<typeof pending> | undefined
  void pending.then((answer) => {
    reply = answer
  })
  while (reply === undefined) {
    clock.step(250)
    await new Promise((resolve) => setImmediate(resolve))
  }
  t.equal(reply.json().scope, 'openid')
})

t.test('stops the start for a reserved scope in the options, and for an invalid admin.allow', async (t) => {
  const rows: Array<[string, object]> = [
    ['scopes', { scopes: ['openid', READ] }],
    ['scopes', { scopes: { openid: {}, [READ]: { en: 'x' } } }],
    ['resources[0].scopes', { resources: [{ resource: '/orders', scopes: [READ] }] }],
    ['clients[0].scopes', { clients: [{ ...CLIENTS[0], scopes: [READ] }], admin: undefined }],
    ['clients[0].scopes', { clients: [{ ...CLIENTS[0], scopes: ['authority:made:up'] }] }],
    ['admin.allow', { admin: {} }],
    ['admin.allow', { admin: { allow: true } }]
  ]
  for (const [option, options] of rows) await t.rejects(world(t, options), { message: option }, option)
})

t.test('drops administration scopes of a third-party client, and all of them if admin is off', async (t) => {
  const administration = { allow: async () => [READ] }
  const asked = { user: null, client: { clientId: 'third', firstParty: false } }
  t.same(await admitted([READ, 'openid'], asked, { administration }), ['openid'])
  t.same(await admitted([READ, 'openid'], { user: null, client: null }, { administration }), [READ, 'openid'])
  t.same(await admitted([READ, 'openid'], { user: null, client: null }, { administration: null }), ['openid'])
})

t.test('rejects an administration scope in a device authorization request', async (t) => {
  const device = 'urn:ietf:params:oauth:grant-type:device_code' as const
  const { app } = await world(t, { deviceGrant: true, clients: [{ clientId: 'tv', grantTypes: [device] }] })
  const ask = async (scope: string) =>
    (await app.inject({ method: 'POST', url: '/auth/device', payload: { client_id: 'tv', scope } })).json()
  t.match(await ask(READ), { error: 'invalid_scope' })
  t.ok((await ask('openid')).user_code)
})
