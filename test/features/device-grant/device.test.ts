/** The device grant: the request of the device, its polls, and the page between them. */
import t from '../../support/tap.ts'
import { type Client, memoryUserStore } from '../../../lib/index.ts'
import { ISSUER, type Tokens } from '../../support/app.ts'
import { formAction } from '../../support/browser.ts'
import { decodeJwt } from '../../support/jwt.ts'
import { DEVICE_GRANT, type DeviceWorld, deviceWorld, SECRET, TV } from './world.ts'

t.test('gives a device tokens after a person has allowed it', async (t) => {
  const { app, ask, clock, decide, events, poll, signedIn, sub } = await deviceWorld(t)
  const asked = await ask({ scope: 'openid offline_access unknown' })
  t.match(asked, {
    device_code: /^[\w-]{59}$/,
    user_code: /^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/,
    verification_uri: `${ISSUER}/device`,
    verification_uri_complete: `${ISSUER}/device?user_code=${asked.user_code}`,
    expires_in: 600,
    interval: 5
  })
  t.match((await poll(asked.device_code)).json(), { error: 'authorization_pending' })
  const browser = await signedIn()
  t.match(await decide(browser, asked.user_code, 'allow'), {
    statusCode: 303,
    headers: { location: '/device?done=allowed' }
  })
  t.match(events.find(({ name }) => name === 'device_authorized')?.payload, {
    userId: sub,
    clientId: 'tv',
    scope: 'openid offline_access'
  })
  clock.step(5000)
  const reply = await poll(asked.device_code)
  t.equal(reply.statusCode, 200, reply.body)
  t.equal(reply.headers['cache-control'], 'no-store')
  const tokens = reply.json<Tokens & { id_token: string }>()
  t.match(tokens, { token_type: 'Bearer', expires_in: 900, scope: 'openid offline_access', refresh_token: /./ })
  t.match(decodeJwt(tokens.access_token).claims, { sub, client_id: 'tv', acr: 'password' })
  t.match(decodeJwt(tokens.id_token).claims, { sub, aud: 'tv' })
  t.match(events.find(({ name }) => name === 'token_issued')?.payload, { grantType: DEVICE_GRANT, clientId: 'tv' })
  t.match((await poll(asked.device_code)).json(), { error: 'invalid_grant' })
  const [session] = (await app.authority.sessions(sub)).filter(({ kind }) => kind === 'token')
  t.match(session, { clientId: 'tv', scope: 'openid offline_access' })
})

t.test('gives a device no refresh token without offline_access', async (t) => {
  const { ask, decide, poll, signedIn } = await deviceWorld(t)
  const { device_code, user_code } = await ask({ scope: 'profile' })
  await decide(await signedIn(), user_code, 'allow')
  const tokens = (await poll(device_code)).json()
  t.match(tokens, { scope: 'profile', access_token: /./ })
  t.notOk('refresh_token' in tokens || 'id_token' in tokens)
})

const OTHERS: Client[] = [
  { clientId: 'web', redirectUris: ['https://web.example/cb'] },
  { clientId: 'safe', grantTypes: [DEVICE_GRANT], clientSecret: SECRET },
  { clientId: 'other', grantTypes: [DEVICE_GRANT] },
  { clientId: 'narrow', grantTypes: [DEVICE_GRANT], scopes: ['profile'] }
]
const basic = `Basic ${Buffer.from(`safe:${SECRET}`).toString('base64')}`

for (const [name, form, headers, status, error] of [
  ['no client', {}, {}, 401, 'invalid_client'],
  ['an unknown client', { client_id: 'nobody' }, {}, 401, 'invalid_client'],
  ['a client without the grant', { client_id: 'web' }, {}, 400, 'unauthorized_client'],
  ['a client without its secret', { client_id: 'safe' }, {}, 401, 'invalid_client'],
  ['a client with a wrong secret', { client_id: 'safe', client_secret: 'x' }, {}, 401, 'invalid_client'],
  ['a public client with a secret', { client_id: 'tv', client_secret: 'x' }, {}, 401, 'invalid_client'],
  ['a client with its secret', {}, { authorization: basic }, 200, undefined],
  ['an unknown scope', { client_id: 'tv', scope: 'nothing' }, {}, 400, 'invalid_scope'],
  ['scopes that the client may not have', { client_id: 'narrow', scope: 'openid' }, {}, 400, 'invalid_scope'],
  ['a malformed scope', { client_id: 'tv', scope: 'a"b' }, {}, 400, 'invalid_scope'],
  ['a huge scope', { client_id: 'tv', scope: 'a'.repeat(5000) }, {}, 400, 'invalid_scope'],
  ['a repeated scope', { client_id: 'tv', scope: ['a', 'b'] }, {}, 400, 'invalid_request'],
  ['an unknown resource', { client_id: 'tv', resource: 'https://no.example' }, {}, 400, 'invalid_target'],
  ['an unknown parameter', { client_id: 'tv', more: 'x' }, {}, 200, undefined],
  ['another content type', {}, { 'content-type': 'text/plain' }, 415, 'invalid_request']
] as const)
  t.test(`answers ${status} to a device authorization request with ${name}`, async (t) => {
    const { post } = await deviceWorld(t, { clients: [TV, ...OTHERS] })
    const reply = await post('/auth/device', form as unknown as Record<string, string>, headers)
    t.equal(reply.statusCode, status, reply.body)
    t.equal(reply.json().error, error)
  })

t.test('answers 405 to a GET request at the device endpoint', async (t) => {
  const { app } = await deviceWorld(t)
  t.equal((await app.inject({ method: 'GET', url: '/auth/device' })).statusCode, 405)
})

for (const [name, form, error] of [
  ['no code', { device_code: '' }, 'invalid_request'],
  ['a text that is no code', { device_code: 'x' }, 'invalid_grant'],
  ['an unknown code', { device_code: 'A'.repeat(59) }, 'invalid_grant'],
  ['a huge code', { device_code: 'A'.repeat(300) }, 'invalid_request'],
  ['the code of another client', { client_id: 'other' }, 'invalid_grant'],
  ['a resource that the client may not have', { resource: 'https://no.example' }, 'invalid_target'],
  ['a client without the grant', { client_id: 'web' }, 'unauthorized_client'],
  ['no client', { client_id: '' }, 'invalid_client']
] as const)
  t.test(`answers ${error} to a poll with ${name}, and keeps the request`, async (t) => {
    const { ask, decide, poll, signedIn } = await deviceWorld(t, { clients: [TV, ...OTHERS] })
    const { device_code, user_code } = await ask()
    await decide(await signedIn(), user_code, 'allow')
    t.equal((await poll(device_code, form)).json().error, error)
    t.equal((await poll(device_code)).statusCode, 200)
  })

t.test('accepts neither a user code nor another token as a device code, nor a device code elsewhere', async (t) => {
  const { ask, decide, poll, post, signedIn } = await deviceWorld(t, {
    clients: [
      {
        ...TV,
        grantTypes: [DEVICE_GRANT, 'authorization_code', 'refresh_token'],
        redirectUris: ['https://tv.example/cb']
      }
    ]
  })
  const { device_code, user_code } = await ask({ scope: 'offline_access' })
  await decide(await signedIn(), user_code, 'allow')
  for (const form of [
    { grant_type: 'authorization_code', code: device_code, code_verifier: 'v'.repeat(43) },
    { grant_type: 'refresh_token', refresh_token: device_code },
    { grant_type: DEVICE_GRANT, device_code: user_code }
  ])
    t.match((await post('/auth/token', { client_id: 'tv', ...form })).json(), { error: 'invalid_grant' })
  const { refresh_token } = (await poll(device_code)).json<Tokens>()
  t.match((await poll(refresh_token)).json(), { error: 'invalid_grant' })
})

t.test('R8628-3.5 answers slow_down to a device that polls too early', async (t) => {
  const { ask, clock, poll } = await deviceWorld(t, { deviceGrant: { interval: 2 } })
  const { device_code, interval } = await ask()
  t.equal(interval, 2)
  const at = async (seconds: number): Promise<string> => {
    clock.step(seconds * 1000)
    return (await poll(device_code)).json().error
  }
  t.equal(await at(0), 'authorization_pending')
  t.equal(await at(1), 'slow_down')
  t.equal(await at(6), 'slow_down')
  t.equal(await at(12), 'authorization_pending')
})

t.test('answers access_denied to a device after a refusal, and expired_token after the end of its code', async (t) => {
  const { ask, clock, decide, poll, signedIn } = await deviceWorld(t, { deviceGrant: { expiresIn: 60 } })
  const refused = await ask()
  const browser = await signedIn()
  t.match(await decide(browser, refused.user_code, 'deny'), { headers: { location: '/device?done=denied' } })
  t.match((await poll(refused.device_code)).json(), { error: 'access_denied' })
  t.equal((await poll(refused.device_code)).statusCode, 400)
  const late = await ask()
  clock.step(60_000)
  t.match((await poll(late.device_code)).json(), { error: 'expired_token' })
  t.equal((await decide(browser, late.user_code, 'allow')).statusCode, 400)
})

type Changed = DeviceWorld & { users: ReturnType<typeof memoryUserStore> }
const CHANGES: Record<string, (world: Changed) => Promise<unknown>> = {
  'the account is disabled': async ({ users, sub }) => await users.update(sub, { disabled: true }),
  'all sign-ins end': async ({ app, sub }) => {
    await app.authority.revokeUser(sub)
  },
  'the password changes': async ({ app, sub }) => {
    await app.authority.changePassword(sub, 'another good password')
  },
  'the account is removed': async ({ app, sub }) => await app.authority.deleteUser(sub)
}
for (const [name, change] of Object.entries(CHANGES))
  t.test(`gives no tokens to a device if ${name} between approval and poll`, async (t) => {
    const users = memoryUserStore()
    const world = await deviceWorld(t, { users })
    const { device_code, user_code } = await world.ask()
    await world.decide(await world.signedIn(), user_code, 'allow')
    await change({ ...world, users })
    t.match((await world.poll(device_code)).json(), { error: 'invalid_grant' })
  })

t.test('gives a device tokens after the user has signed out of the browser', async (t) => {
  const { ask, decide, poll, signedIn } = await deviceWorld(t)
  const { device_code, user_code } = await ask()
  const browser = await signedIn()
  await decide(browser, user_code, 'allow')
  await browser.submit(formAction((await browser.get('/auth/logout')).body), { decision: 'sign_out' })
  t.equal((await poll(device_code)).statusCode, 200)
})

t.test('R8628-3.4 gives tokens to one of 50 parallel polls', async (t) => {
  const { ask, decide, poll, signedIn } = await deviceWorld(t)
  const { device_code, user_code } = await ask()
  await decide(await signedIn(), user_code, 'allow')
  const replies = await Promise.all(Array.from({ length: 50 }, async () => await poll(device_code)))
  t.equal(replies.filter(({ statusCode }) => statusCode === 200).length, 1)
  for (const reply of replies.filter(({ statusCode }) => statusCode !== 200))
    t.match(reply.json(), { error: 'invalid_grant' })
})

t.test('binds the tokens of a device to the API that the device requested', async (t) => {
  const resources = [
    { resource: 'https://films.example', name: 'Films', scopes: { 'films:read': 'see your films' } },
    { resource: 'https://music.example', scopes: ['music:read'] }
  ]
  const { ask, decide, enter, poll, signedIn } = await deviceWorld(t, { resources })
  const scope = 'films:read music:read'
  const one = await ask({ audience: 'https://films.example', scope })
  const browser = await signedIn()
  const pasted = `\u200e${one.user_code.toLowerCase().replace('-', ' ')}\n`
  for (const typed of [one.user_code, pasted])
    t.match((await enter(browser, typed)).body, /Films[^]*see your films/, JSON.stringify(typed))
  await decide(browser, one.user_code, 'allow')
  const { access_token } = (await poll(one.device_code)).json<Tokens>()
  t.match(decodeJwt(access_token).claims, { aud: 'https://films.example', scope: 'films:read' })
  const both = await ask({ resource: ['https://films.example', 'https://music.example'], scope })
  await decide(browser, both.user_code, 'allow')
  const reply = await poll(both.device_code, { resource: 'https://music.example' })
  t.match(decodeJwt(reply.json<Tokens>().access_token).claims, { aud: 'https://music.example', scope: 'music:read' })
})
