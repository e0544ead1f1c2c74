import { createHmac, hkdfSync } from 'node:crypto'
import t from '../../support/tap.ts'
import type { AuthorityOptions } from '../../../lib/index.ts'
import { memoryState } from '../../../lib/index.ts'
import { BODIES } from './bodies.ts'
import { AGENT, APP_SECRET, open, press, refresh, register, requestOf, tokensFor, world } from './world.ts'

const SCHEMES: AuthorityOptions['clientRegistration'] = { redirectSchemes: ['cursor'] }

for (const [name, { body, redirectUri }] of Object.entries(BODIES))
  t.test(`registers ${name} with its real request, and issues tokens after consent`, async (t) => {
    const test = await world(t, { clientRegistration: SCHEMES })
    const { metadata } = { metadata: (await test.app.inject('/.well-known/openid-configuration')).json() }
    t.equal(metadata.registration_endpoint, 'http://localhost:3000/auth/clients')
    const reply = await register(test, body)
    t.equal(reply.statusCode, 201, reply.body)
    t.equal(reply.headers['cache-control'], 'no-store')
    t.notMatch(reply.body, 'null')
    const registered = reply.json()
    t.same(registered.redirect_uris, body['redirect_uris'])
    t.same(registered.grant_types, ['authorization_code', 'refresh_token'])
    t.equal(registered.token_endpoint_auth_method, 'none')
    t.equal(registered.client_secret, undefined)
    const again = (await register(test, { ...body, software_statement: 'x', unknown: 1 })).json()
    t.equal(again.client_id, registered.client_id, 'equal metadata gives the equal id')
    const tokens = await tokensFor(test, registered.client_id, { redirect_uri: redirectUri })
    t.type(tokens.refresh_token, 'string')
    t.equal((await refresh(test, registered.client_id, tokens.refresh_token)).status, 200)
  })

const WRONG: Array<[string, Record<string, unknown>, string]> = [
  ['no redirect_uris', { redirect_uris: undefined }, 'invalid_redirect_uri'],
  ['null for redirect_uris', { redirect_uris: null }, 'invalid_redirect_uri'],
  ['none of them', { redirect_uris: [] }, 'invalid_redirect_uri'],
  ['eleven', { redirect_uris: Array.from({ length: 11 }, (_, at) => `${AGENT}${at}`) }, 'invalid_redirect_uri'],
  ['javascript:', { redirect_uris: ['javascript:alert(1)'] }, 'invalid_redirect_uri'],
  ['data:', { redirect_uris: ['data:text/html,x'] }, 'invalid_redirect_uri'],
  ['vbscript:', { redirect_uris: ['vbscript:/x'] }, 'invalid_redirect_uri'],
  ['file:', { redirect_uris: ['file:///etc/passwd'] }, 'invalid_redirect_uri'],
  ['blob:', { redirect_uris: ['blob:https://a.example/x'] }, 'invalid_redirect_uri'],
  ['mailto:', { redirect_uris: ['mailto:/a@b.example'] }, 'invalid_redirect_uri'],
  ['another scheme without a dot', { redirect_uris: ['vscode://x/cb'] }, 'invalid_redirect_uri'],
  ['an opaque URI of a scheme', { redirect_uris: ['cursor:cb'] }, 'invalid_redirect_uri'],
  ['http', { redirect_uris: ['http://agent.example/cb'] }, 'invalid_redirect_uri'],
  ['a number', { redirect_uris: [1] }, 'invalid_client_metadata'],
  ['a string', { redirect_uris: AGENT }, 'invalid_client_metadata'],
  ['a wildcard', { redirect_uris: ['https://*.agent.example/cb'] }, 'invalid_redirect_uri'],
  ['the implicit grant', { grant_types: ['implicit'] }, 'invalid_client_metadata'],
  ['a token as response', { response_types: ['token'] }, 'invalid_client_metadata'],
  ['a control character in the name', { client_name: 'a\u0007b' }, 'invalid_client_metadata'],
  ['the name of a client of the host', { client_name: 'The App' }, 'invalid_client_metadata'],
  ['a name that is a number', { client_name: 1 }, 'invalid_client_metadata'],
  ['an http client_uri', { client_uri: 'http://agent.example' }, 'invalid_client_metadata'],
  ['metadata of 2 kB', { redirect_uris: [`${AGENT}?${'x'.repeat(1800)}`] }, 'invalid_client_metadata']
]

t.test('refuses a registration with an invalid member', async (t) => {
  const test = await world(t, { clientRegistration: SCHEMES })
  for (const [name, change, error] of WRONG) {
    const reply = await register(test, { client_name: 'Agent', redirect_uris: [AGENT], ...change })
    t.equal(reply.statusCode, 400, name)
    t.equal(reply.json().error, error, name)
  }
  const least = await register(test, { redirect_uris: [AGENT] })
  t.same([least.statusCode, least.json().grant_types], [201, ['authorization_code']], 'RFC 7591 §2: the defaults')
  t.equal((await tokensFor(test, least.json().client_id)).refresh_token, undefined, 'it does not list the grant')
  t.equal((await test.app.inject({ method: 'POST', url: '/auth/clients', payload: '[]' })).statusCode, 415)
})

t.test('writes nothing to the state for 10,000 registrations', async (t) => {
  const state = memoryState()
  const writes: string[] = []
  const watched = {
    ...state,
    ...Object.fromEntries(
      (['tokens', 'oneTimeTokens', 'browserSessions', 'consents', 'assertions'] as const).map((name) => [
        name,
        new Proxy(state[name] as object, {
          get(store, method) {
            writes.push(`${name}.${String(method)}`)
            return Reflect.get(store, method) as unknown
          }
        })
      ])
    )
  }
  const test = await world(t, { state: watched as typeof state })
  writes.length = 0
  const ids = new Set<string>()
  for (let count = 0; count < 10_000; count++)
    ids.add((await register(test, { client_name: `Agent ${count}`, redirect_uris: [AGENT] })).json().client_id)
  t.equal(ids.size, 10_000)
  t.same(writes, [])
})

t.test('rejects made-up client ids, and ids after their secret or redirect scheme was removed', async (t) => {
  const test = await world(t, { clientRegistration: SCHEMES })
  const { client_id: id } = (await register(test, BODIES['cursor']?.body ?? {})).json()
  const status = async (clientId: string, of = test): Promise<number> =>
    (await of.browser.get(requestOf(clientId, { redirect_uri: 'http://localhost:8787/callback' }))).statusCode
  t.equal(await status(id), 303)
  const [, content = '', mac = ''] = id.split('.')
  const other = Buffer.from(JSON.stringify({ redirect_uris: [AGENT], grant_types: ['password'] })).toString('base64url')
  const key = hkdfSync('sha256', 'another secret of more than 32 bytes long', '', 'fastify-authority x', 32)
  for (const made of [
    `dcr.${other}.${mac}`,
    `dcr.${content}.${mac.slice(1)}A`,
    `dcr.${content}.${createHmac('sha256', Buffer.from(key)).update(content).digest('base64url')}`,
    `dcr.${content}.`,
    `dcr.${content}`,
    'dcr.',
    `${id}x`,
    `dcr.${'A'.repeat(1500)}.${mac}`
  ])
    t.equal(await status(made), 400, made.slice(0, 40))
  t.equal(
    await status(id, await world(t, { clientRegistration: SCHEMES, secret: [`${APP_SECRET} 2`, APP_SECRET] })),
    303
  )
  t.equal(await status(id, await world(t, { clientRegistration: SCHEMES, secret: `${APP_SECRET} 2` })), 400)
  t.equal(await status(id, await world(t)), 400, 'without its scheme')
  const elsewhere = await world(t, { clientRegistration: SCHEMES, issuer: 'http://localhost:3001' })
  t.equal(await status(id, elsewhere), 400, 'at another service with the same secret')
  t.equal(await status(id, await world(t, { clientRegistration: false })), 400)
  await test.app.authority.blockClient(id)
  t.equal(await status(id), 400)
})

t.test('stops the start without secret, and for invalid redirectSchemes and allow entries', async (t) => {
  await t.rejects(world(t, { secret: undefined }), { message: /clientRegistration/ })
  for (const scheme of ['javascript', 'data', 'https', 'Cursor', 'a b', ''])
    await t.rejects(world(t, { clientRegistration: { redirectSchemes: [scheme] } }), { message: /redirectSchemes/ })
  await t.rejects(world(t, { clientIdMetadata: { allow: ['https://example.com'] } }), {
    message: /clientIdMetadata\.allow/
  })
})

t.test('returns access_denied to the client after the user denies consent', async (t) => {
  const test = await world(t)
  const { client_id: id } = (await register(test, { redirect_uris: [AGENT] })).json()
  const { reply } = await open(test.browser, requestOf(id))
  t.match((await press(test.browser, reply.body, 'deny')).url, 'error=access_denied')
})
