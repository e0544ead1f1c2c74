/** Pushed requests that are refused, at the push or when a browser brings them. */
import t from '../../support/tap.ts'
import type { AuthorityOptions, Client } from '../../../lib/index.ts'
import { serializeParams } from '../../../lib/protocol/request-params.ts'
import { type LightMyRequestResponse, testApp } from '../../support/app.ts'
import { CLIENTS, SECRET } from '../../support/openid.ts'
import { answerOf, basic, PAR, REQUEST, type Sent, world } from './world.ts'

t.test('refuses a request_uri that is expired, of another client, without a client, or made up', async (t) => {
  const { addressOf, browser, clock, push, signIn } = await world(t)
  const late = addressOf(await push())
  const opened = String((await browser.get(addressOf(await push()))).headers.location)
  const { request_uri: uri } = (await push()).json<{ request_uri: string }>()
  const cases: Array<[name: string, address: string]> = [
    ['another client', addressOf(await push(), 'web')],
    ['no client', `/auth/authorize?request_uri=${encodeURIComponent(uri)}`],
    ['a changed one', `/auth/authorize?client_id=spa&request_uri=${encodeURIComponent(`${uri.slice(0, -2)}xx`)}`],
    ['an empty one', '/auth/authorize?client_id=spa&request_uri=urn:ietf:params:oauth:request_uri:'],
    ['an address', '/auth/authorize?client_id=spa&request_uri=https://evil.example/request']
  ]
  const refuses = async (name: string, address: string): Promise<void> => {
    const reply = await browser.get(address)
    t.equal(reply.statusCode, 400, name)
    t.match(reply.body, /has expired or was already used/, name)
    t.notOk(reply.headers.location, name)
  }
  for (const [name, address] of cases) await refuses(name, address)
  clock.step(89_999)
  t.equal((await browser.get(late)).statusCode, 303)
  clock.step(1)
  await refuses('after 90 seconds', late)
  // A sign-in that began in time may end later than that.
  clock.step(3_500_000)
  t.equal((await browser.get(opened)).statusCode, 200)
  const { url } = await signIn({ headers: { location: opened } } as LightMyRequestResponse)
  t.ok(answerOf(url)['code'])
  clock.step(10_000)
  await refuses('an hour after it began', opened)
})

t.test('refuses a pushed request that the authorization endpoint would refuse', async (t) => {
  const { app, push } = await world(t, {
    resources: [{ resource: 'https://api.example', scopes: { 'a:b': 'all' }, allowedClients: ['web'] }]
  })
  const cases: Array<[name: string, params: Sent, status: number, error: string]> = [
    ['no client', { client_id: undefined }, 401, 'invalid_client'],
    ['an unknown client', { client_id: 'nobody' }, 401, 'invalid_client'],
    ['no secret', { client_id: 'web' }, 401, 'invalid_client'],
    ['a wrong secret', { client_id: 'web', client_secret: `${SECRET}x` }, 401, 'invalid_client'],
    ['a secret of a public client', { client_secret: SECRET }, 401, 'invalid_client'],
    ['another redirect URI', { redirect_uri: 'https://evil.example/cb' }, 400, 'invalid_request'],
    ['no redirect URI', { redirect_uri: undefined }, 400, 'invalid_request'],
    ['a request_uri', { request_uri: 'urn:ietf:params:oauth:request_uri:x' }, 400, 'invalid_request'],
    ['a request object', { request: 'e30.e30.' }, 400, 'request_not_supported'],
    ['no challenge', { code_challenge: undefined, code_challenge_method: undefined }, 400, 'invalid_request'],
    ['a plain challenge', { code_challenge_method: 'plain' }, 400, 'invalid_request'],
    ['no response type', { response_type: undefined }, 400, 'invalid_request'],
    ['a token response', { response_type: 'token' }, 400, 'unsupported_response_type'],
    ['an unknown scope', { scope: 'nothing' }, 400, 'invalid_scope'],
    ['an API of others', { resource: 'https://api.example' }, 400, 'invalid_target'],
    ['prompt none with login', { prompt: 'none login' }, 400, 'invalid_request'],
    ['claims that are no JSON', { claims: '{' }, 400, 'invalid_request'],
    ['a state of 3,000 characters', { state: 'x'.repeat(3000) }, 400, 'invalid_request']
  ]
  for (const [name, params, status, error] of cases) {
    const reply = await push(params)
    t.equal(reply.statusCode, status, name)
    t.equal(reply.json<{ error: string }>().error, error, name)
    t.notOk(reply.headers.location, name)
  }
  t.equal((await push({}, { authorization: basic })).statusCode, 400, 'two clients')
  t.equal((await push({ client_id: 'web' }, { authorization: basic })).statusCode, 201)
  t.equal((await push({ client_id: undefined }, { authorization: basic })).statusCode, 201, 'the client of the header')
  t.equal((await push({ prompt: 'none' })).statusCode, 201, 'the sign-in is not known yet')
  for (const twice of ['state=a&state=b', 'client_id=spa&client_id=spa', 'scope=openid&scope=profile']) {
    const payload = `${serializeParams(REQUEST)}&${twice}`
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    t.equal((await app.inject({ method: 'POST', url: PAR, headers, payload })).statusCode, 400, twice)
  }
  const get = await app.inject(PAR)
  t.match(get, { statusCode: 405, headers: { allow: 'POST' } })
})

t.test('refuses a request that was not pushed, if the option or the client requires PAR', async (t) => {
  const clients = CLIENTS.map((client): Client => ({ ...client, requirePushedAuthorizationRequests: true }))
  for (const options of [{ par: 'required' }, { par: true, clients }] as Array<Partial<AuthorityOptions>>) {
    const { app, addressOf, browser, push, signIn } = await world(t, options)
    const refused = await browser.get(`/auth/authorize?${serializeParams(REQUEST)}`)
    t.match(answerOf(String(refused.headers.location)), { error: 'invalid_request', state: 'the state' })
    t.ok(answerOf((await signIn(await browser.get(addressOf(await push())))).url)['code'])
    const { body } = await app.inject('/.well-known/openid-configuration')
    t.equal(
      JSON.parse(body).require_pushed_authorization_requests,
      options.par === 'required',
      'the metadata speak of all clients'
    )
  }
})

t.test('has no endpoint and no metadata of PAR without the option par, and rejects request_uri', async (t) => {
  const { app, browser, push } = await world(t, { par: false })
  t.equal((await push()).statusCode, 404)
  t.notMatch((await app.inject('/.well-known/openid-configuration')).body, 'pushed_authorization')
  const { headers } = await browser.get(
    `/auth/authorize?${serializeParams({ ...REQUEST, request_uri: 'urn:ietf:params:oauth:request_uri:x' })}`
  )
  t.match(answerOf(String(headers.location)), { error: 'request_uri_not_supported' })
})

t.test('stops the start if par is invalid, or no client or page can use it', async (t) => {
  const cases: Array<[options: Partial<AuthorityOptions>, option: RegExp]> = [
    [{ par: 'yes' as never }, /"par"/],
    [{ par: true }, /"par".*clients/],
    [{ par: true, clients: CLIENTS, pages: false }, /"par".*pages/],
    [
      { clients: [{ ...(CLIENTS[0] as Client), requirePushedAuthorizationRequests: true }] },
      /"clients\[0\]\.requirePushedAuthorizationRequests"/
    ]
  ]
  for (const [options, message] of cases)
    await t.rejects(testApp(options), { code: 'FST_AUTHORITY_INVALID_OPTIONS', message })
})
