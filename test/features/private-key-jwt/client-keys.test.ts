import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Client, memoryState } from '../../../lib/index.ts'
import { testApp } from '../../support/app.ts'
import { logLines } from '../../support/log-lines.ts'
import { forgeableKeys } from '../../support/forgeable-keys.ts'
import t, { type Test } from '../../support/tap.ts'
import { type SigningKey, signingKey } from '../resource/world.ts'
import { ask, assertionOf, type Changes, KEY, machine, publicJwk, refusal, SECRET, signed, started } from './world.ts'

/** Serves a key set over HTTP, and counts the requests. */
async function keyHost(t: Test): Promise<{ url: string; calls: () => number; keys: SigningKey[]; close(): void }> {
  const keys: SigningKey[] = [KEY]
  let calls = 0
  const server = createServer((_request, reply) => {
    calls++
    reply.setHeader('content-type', 'application/json').end(JSON.stringify({ keys: keys.map(publicJwk) }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const close = (): void => {
    server.close()
    server.closeAllConnections()
  }
  t.teardown(close)
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}/jwks`, calls: () => calls, keys, close }
}

t.test('caches the keys of jwksUri, and fetches them for an unknown key id at most once a minute', async (t) => {
  const host = await keyHost(t)
  const test = await started(t, { clients: [{ ...machine, jwks: undefined, jwksUri: host.url }] })
  const prove = async (changes?: Changes): Promise<number> =>
    (await ask(test, signed(assertionOf(test, changes)))).status
  t.same(await Promise.all([prove(), prove(), prove()]), [200, 200, 200])
  t.equal(host.calls(), 1, 'parallel requests share one call')
  const next = signingKey('EdDSA', 'k2')
  host.keys.push(next)
  t.equal(await prove({ key: next }), 200, 'a new key is found at once')
  t.equal(host.calls(), 2)
  for (let count = 0; count < 5; count++) t.equal(await prove({ header: { kid: `made up ${count}` } }), 401)
  t.equal(host.calls(), 2, 'made-up ids bring no further calls')
  test.clock.step(61_000)
  t.equal(await prove({ header: { kid: 'made up' } }), 401)
  t.equal(host.calls(), 3)
  host.close()
  test.clock.step(3_600_000)
  t.equal(await prove(), 200, 'an address that is down ends no key for a day')
  test.clock.step(24 * 3_600_000)
  t.equal(await prove(), 503)
})

t.test('rejects a key that jwksUri no longer lists after ten minutes, also without requests meanwhile', async (t) => {
  const host = await keyHost(t)
  const test = await started(t, { clients: [{ ...machine, jwks: undefined, jwksUri: host.url }] })
  const next = signingKey('ES256', 'k2')
  host.keys.push(next)
  const prove = async (): Promise<number> => (await ask(test, signed(assertionOf(test, { key: next })))).status
  t.equal(await prove(), 200)
  host.keys.pop()
  t.equal(await prove(), 200, 'cached')
  test.clock.step(600_000)
  t.same(await Promise.all([prove(), prove()]), [401, 401])
  t.equal(host.calls(), 3, 'the keys, and the unknown key once more')
})

t.test('answers 503 if jwksUri is unreachable, and logs the client once', async (t) => {
  const { lines, stream } = logLines()
  const host = await keyHost(t)
  host.close()
  const test = await testApp(
    { scopes: ['read'], clients: [{ ...machine, jwks: undefined, jwksUri: host.url }] },
    { logger: { stream } }
  )
  t.teardown(test.close)
  const told = (): number => lines.filter((line) => JSON.stringify(line).includes('keys of the client machine')).length
  for (let count = 0; count < 20; count++) {
    t.same(refusal(await ask(test, signed(assertionOf(test)))), [503, 'temporarily_unavailable'])
    test.clock.step(1000)
  }
  t.equal(told(), 1, 'one line, however many requests')
})

t.test('stops the start for invalid keys or a contradictory method of a client, and names the option', async (t) => {
  const secret = signingKey('ES256')
  const rows: Array<[string, Partial<Client>, RegExp]> = [
    ['a private key', { jwks: { keys: [{ ...secret.privateKey.export({ format: 'jwk' }) }] } }, /jwks\.keys\[0\]/],
    ['a symmetric key', { jwks: { keys: [{ kty: 'oct', k: 'x' }] } }, /jwks\.keys\[0\]/],
    ...forgeableKeys().map(({ name, jwk }): [string, Partial<Client>, RegExp] => [
      name,
      { jwks: { keys: [{ ...jwk }] } },
      /jwks\.keys\[0\]/
    ]),
    ['no keys', { jwks: { keys: [] } }, /jwks/],
    ['two sources', { jwksUri: 'https://app.example.com/jwks' }, /jwksUri/],
    ['an address without TLS', { jwks: undefined, jwksUri: 'http://app.example.com/jwks' }, /jwksUri/],
    ['an address that is a file', { jwks: undefined, jwksUri: 'file:///etc/passwd' }, /jwksUri/],
    ['a secret beside', { clientSecret: SECRET }, /tokenEndpointAuthMethod/],
    ['a method without its keys', { jwks: undefined, tokenEndpointAuthMethod: 'private_key_jwt' }, /AuthMethod/],
    ['a method without its secret', { tokenEndpointAuthMethod: 'client_secret_basic' }, /AuthMethod/],
    ['none with keys', { tokenEndpointAuthMethod: 'none' }, /AuthMethod/]
  ]
  for (const [name, fields, message] of rows)
    await t.rejects(
      testApp({ scopes: ['read'], clients: [{ ...machine, ...fields }] }),
      { code: 'FST_AUTHORITY_INVALID_OPTIONS', message },
      name
    )
  t.match(
    await ask(
      await started(t, { clients: [{ ...machine, clientSecret: SECRET, tokenEndpointAuthMethod: 'private_key_jwt' }] }),
      { client_id: 'machine', client_secret: SECRET }
    ),
    { status: 401 },
    'a secret that is not the registered way proves nothing'
  )
})

t.test('stops the start if a client has keys and the state has no assertions', async (t) => {
  const { assertions: _none, ...state } = memoryState()
  await t.rejects(testApp({ scopes: ['read'], clients: [machine], state }), {
    code: 'FST_AUTHORITY_INVALID_OPTIONS',
    message: /state\.assertions/
  })
})

t.test('rejects a client of a client store when its key becomes symmetric', async (t) => {
  const rows = new Map<string, Client>([['machine', machine]])
  const test = await started(t, { clients: { findById: async (id) => rows.get(id) ?? null } })
  t.equal((await ask(test, signed(assertionOf(test)))).status, 200)
  rows.set('machine', { ...machine, jwks: { keys: [{ kty: 'oct', k: 'x' }] } })
  t.same(refusal(await ask(test, signed(assertionOf(test)))), [401, 'invalid_client'])
})
