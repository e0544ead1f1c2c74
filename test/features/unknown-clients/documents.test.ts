import t from '../../support/tap.ts'
import { AGENT, documentHost, open, press, refresh, requestOf, tokensFor, world } from './world.ts'

t.test('issues tokens to a client with a metadata document after consent, and lists support in metadata', async (t) => {
  const host = await documentHost(t)
  const test = await world(t)
  const metadata = (await test.app.inject('/.well-known/oauth-authorization-server')).json()
  t.equal(metadata.client_id_metadata_document_supported, true)
  t.ok(metadata.token_endpoint_auth_methods_supported.includes('none'))
  const { reply, url } = await open(test.browser, requestOf(host.url, { scope: 'openid' }))
  t.match(url, '/auth/consent?')
  t.match(reply.body, new URL(host.url).host)
  t.match(reply.body, 'agent.example')
  t.match((await press(test.browser, reply.body)).url, `${AGENT}?code=`)
  const tokens = await tokensFor(test, host.url, { resource: 'http://localhost:3000/mcp', scope: 'notes:read' })
  t.equal(tokens.scope, 'notes:read')
  t.type(tokens.refresh_token, 'string', 'the grant alone is enough, without offline_access')
  t.equal(host.calls(), 1, 'the document is kept')
})

t.test('fetches a client document once for parallel requests, and again when its cache lifetime ends', async (t) => {
  const rows: Array<[string, number, number]> = [
    ['', 300, 301],
    ['max-age=10', 299, 301],
    ['no-store', 299, 301],
    ['public, max-age=3600', 3599, 3601],
    ['max-age=9999999', 86_399, 86_401]
  ]
  for (const [caching, kept, gone] of rows) {
    const host = await documentHost(t)
    const test = await world(t)
    host.headers = { 'cache-control': caching }
    const ask = async (): Promise<number> => (await test.browser.get(requestOf(host.url))).statusCode
    t.same(await Promise.all([ask(), ask(), ask()]), [303, 303, 303])
    t.equal(host.calls(), 1)
    test.clock.step((kept - 1) * 1000)
    await ask()
    t.equal(host.calls(), 1, `${caching}: still kept`)
    test.clock.step((gone - kept + 1) * 1000)
    await ask()
    t.equal(host.calls(), 2, `${caching}: fetched again`)
  }
})

t.test('does not cache a failed document fetch, and refreshes tokens while the document is unavailable', async (t) => {
  const host = await documentHost(t)
  const test = await world(t)
  host.answer = (_request, reply) => reply.writeHead(500).end()
  t.equal((await test.browser.get(requestOf(host.url))).statusCode, 503)
  host.answer = null
  const tokens = await tokensFor(test, host.url)
  host.answer = (_request, reply) => reply.writeHead(404, { 'content-type': 'application/json' }).end('{}')
  test.clock.step(7 * 86_400_000)
  const next = await refresh(test, host.url, tokens.refresh_token)
  t.equal(next.status, 200)
  const again = await test.browser.get(requestOf(host.url))
  t.equal(again.statusCode, 503, 'a new sign-in needs the present document')
  t.match(test.told(), 'answered 404')
  const other = await world(t, { state: undefined })
  t.equal((await refresh(other, host.url, next.body.refresh_token)).status, 503, 'an instance that never saw it')
})

t.test('limits document fetches for strangers by address, and for signed-in users only by origin', async (t) => {
  const host = await documentHost(t)
  const test = await world(t, { rateLimit: {} })
  host.answer = (_request, reply) => reply.writeHead(404, { 'content-type': 'application/json' }).end('{}')
  const asStranger = async () => await test.app.inject({ url: requestOf(host.url), remoteAddress: '192.0.2.1' })
  for (let count = 0; count < 30; count++) t.equal((await asStranger()).statusCode, 503)
  t.equal((await asStranger()).statusCode, 429)
  t.equal(host.calls(), 30)
  test.clock.step(60_001)
  await open(test.browser, '/auth/login')
  t.match((await open(test.browser, '/auth/account')).reply.body, 'ann')
  for (let count = 0; count < 30; count++) await test.browser.get(requestOf(host.url))
  t.equal(host.calls(), 60)
  await test.browser.get(requestOf(host.url))
  t.equal(host.calls(), 60, 'one origin is called 30 times a minute at most')
  t.match(test.told(), 'too many documents')
})

const DOCUMENTS: Array<[string, Record<string, unknown> | string, string]> = [
  ['no JSON', '<html>', 'it is no JSON'],
  ['an array', '[]', 'no JSON object'],
  ['another client_id', { client_id: 'https://other.example/client.json' }, 'client_id is not its URL'],
  ['no name', { client_name: undefined }, 'client_name is missing'],
  ['a name with a bidi override', { client_name: 'gro\u202eelpmaxe' }, 'client_name is no text'],
  ...['\u00ad', '\u034f', '\u180e', '\u2800', '\u3164', '\u{e0041}'].map((unseen): (typeof DOCUMENTS)[number] => [
    `a name with ${JSON.stringify(unseen)}`,
    { client_name: `The${unseen}App` },
    'client_name is no text'
  ]),
  ['a name of 101 characters', { client_name: 'x'.repeat(101) }, 'client_name is no text'],
  ['the name of a registered client', { client_name: ' the  APP' }, 'client_name is taken'],
  ['the name of a registered client in another form', { client_name: 'The\ufe0f App\ufe0e' }, 'client_name is taken'],
  ['the host of the issuer', { client_name: 'localhost:3000' }, 'client_name is taken'],
  ['no redirect_uris', { redirect_uris: undefined }, 'redirect_uris is missing'],
  ['redirect_uris that is a string', { redirect_uris: AGENT }, 'redirect_uris is no array'],
  ['eleven redirect_uris', { redirect_uris: Array.from({ length: 11 }, () => AGENT) }, 'more than 10'],
  ['a javascript: redirect', { redirect_uris: [AGENT, 'javascript:alert(1)'] }, 'redirect_uris'],
  ['an http: redirect', { redirect_uris: ['http://agent.example/cb'] }, 'redirect_uris'],
  ['a redirect with a wildcard', { redirect_uris: ['https://agent.example/*'] }, 'wildcard'],
  ['a redirect with a fragment', { redirect_uris: [`${AGENT}#x`] }, 'fragment'],
  ['a scheme without a dot', { redirect_uris: ['cursor://x/cb'] }, 'redirect_uris'],
  ['a client_secret', { client_secret: 'x' }, 'client_secret'],
  ['a secret as method', { token_endpoint_auth_method: 'client_secret_basic' }, 'neither none nor'],
  ['a method without keys', { token_endpoint_auth_method: 'private_key_jwt' }, 'neither none nor'],
  ['a private key', { jwks: { keys: [{ kty: 'EC', d: 'x' }] } }, 'private or symmetric'],
  ['keys at an http: address', { jwks_uri: 'http://agent.example/jwks' }, 'jwks_uri'],
  ['a sector identifier that is a file', { sector_identifier_uri: 'file:///etc/passwd' }, 'sector_identifier_uri'],
  ['a logo that is data', { logo_uri: 'data:image/png;base64,AA' }, 'logo_uri'],
  ['a sign-out address', { post_logout_redirect_uris: ['javascript:1'] }, 'post_logout_redirect_uris'],
  ['no code grant', { grant_types: ['client_credentials'] }, 'grant_types'],
  ['no code response', { response_types: ['token'] }, 'response_types']
]

t.test('refuses the name of a registered client in decomposed Unicode characters', async (t) => {
  const host = await documentHost(t)
  const test = await world(t, { clients: [{ clientId: 'cafe', name: 'Caf\u00e9', redirectUris: [AGENT] }] })
  host.metadata = { ...host.metadata, client_name: 'Cafe\ufe0f\u0301' }
  t.equal((await test.browser.get(requestOf(host.url))).statusCode, 400)
  t.match(test.told(), 'client_name is taken')
})

// covers ADV-CVE-2021-26715
t.test('refuses a malformed client document with the reason in the log', async (t) => {
  const host = await documentHost(t)
  const test = await world(t)
  const { metadata } = host
  for (const [name, change, reason] of DOCUMENTS) {
    host.answer =
      typeof change === 'string'
        ? (_request, reply) => reply.writeHead(200, { 'content-type': 'application/json' }).end(change)
        : null
    host.metadata = typeof change === 'string' ? {} : { ...metadata, ...change }
    test.lines.length = 0
    test.clock.step(120_000)
    const reply = await test.browser.get(requestOf(host.url))
    t.equal(reply.statusCode, 400, name)
    t.equal(reply.headers.location, undefined, name)
    t.match(test.told(), reason, name)
  }
})

// covers ADV-CVE-2026-4366
t.test('refuses client documents behind a redirect, with a wrong type, or over 5,120 bytes', async (t) => {
  const host = await documentHost(t)
  const test = await world(t)
  const json = { 'content-type': 'application/json' }
  const body = JSON.stringify({ client_id: host.url, ...host.metadata })
  const rows: Array<[string, NonNullable<typeof host.answer>, number]> = [
    ['301', (_request, reply) => reply.writeHead(301, { ...json, location: '/other' }).end(body), 503],
    ['302', (_request, reply) => reply.writeHead(302, { ...json, location: '/other' }).end(body), 503],
    ['204', (_request, reply) => reply.writeHead(204).end(), 503],
    ['206', (_request, reply) => reply.writeHead(206, json).end(body), 503],
    ['304', (_request, reply) => reply.writeHead(304).end(), 503],
    ['HTML', (_request, reply) => reply.writeHead(200, { 'content-type': 'text/html' }).end(body), 400],
    ['5,121 bytes', (_request, reply) => reply.writeHead(200, json).end(body.padEnd(5121)), 400],
    [
      '5,121 bytes in chunks',
      (_request, reply) => {
        reply.writeHead(200, json).write(body)
        reply.end(' '.repeat(5121 - body.length))
      },
      400
    ],
    ['gzip', (_request, reply) => reply.writeHead(200, { ...json, 'content-encoding': 'gzip' }).end(body), 503]
  ]
  for (const [name, answer, status] of rows) {
    host.answer = answer
    test.clock.step(61_000)
    t.equal((await test.browser.get(requestOf(host.url))).statusCode, status, name)
  }
  host.answer = (_request, reply) =>
    reply.writeHead(200, { 'content-type': 'application/client+json' }).end(body.padEnd(5120))
  t.equal((await test.browser.get(requestOf(host.url))).statusCode, 303, 'another JSON type, 5,120 bytes')
})

t.test('accepts client documents only from allowed hosts', async (t) => {
  const host = await documentHost(t)
  const rows: Array<[NonNullable<Parameters<typeof world>[1]>['clientIdMetadata'], number]> = [
    [{ allow: ['127.0.0.1'] }, 303],
    [{ allow: ['example.com'] }, 400],
    [{ allow: ['*.0.0.1'] }, 303],
    [{ allow: [] }, 400],
    [{ allow: [(url) => url === host.url] }, 303],
    [{ allow: [() => Promise.resolve(true) as unknown as boolean] }, 400],
    [
      {
        allow: [
          () => {
            throw new Error('a mistake of the host')
          }
        ]
      },
      400
    ]
  ]
  for (const [clientIdMetadata, status] of rows)
    t.equal((await (await world(t, { clientIdMetadata })).browser.get(requestOf(host.url))).statusCode, status)
  const off = await world(t, { clientIdMetadata: false })
  const calls = host.calls()
  t.equal((await off.browser.get(requestOf(host.url))).statusCode, 400)
  t.equal(host.calls(), calls)
})

t.test('prefers a registered client to the document at its id', async (t) => {
  const host = await documentHost(t)
  const test = await world(t, { clients: [{ clientId: host.url, redirectUris: [AGENT] }] })
  t.match((await open(test.browser, requestOf(host.url))).url, `${AGENT}?code=`)
  t.equal(host.calls(), 0)
})

t.test('rejects a refresh by a blocked client with 401, and accepts it after unblockClient', async (t) => {
  const host = await documentHost(t)
  const test = await world(t)
  const tokens = await tokensFor(test, host.url)
  await test.app.authority.blockClient(host.url)
  t.match(await refresh(test, host.url, tokens.refresh_token), { status: 401, body: { error: 'invalid_client' } })
  t.equal((await test.browser.get(requestOf(host.url))).statusCode, 400)
  await test.app.authority.unblockClient(host.url)
  t.equal((await refresh(test, host.url, tokens.refresh_token)).status, 200)
  await t.rejects(test.app.authority.blockClient('spa'), TypeError)
})
