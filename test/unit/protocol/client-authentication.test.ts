import t from 'tap'
import { clientCredentials, invalidClient } from '../../../lib/protocol/client-authentication.ts'

const basic = (text: string): string => `Basic ${Buffer.from(text).toString('base64')}`
const clientSecret = 's'.repeat(32)

t.test('R6749-2.3 how a client names itself', async (t) => {
  t.equal(clientCredentials(undefined, {}), undefined)
  t.equal(clientCredentials('Bearer abc', {}), undefined, 'another scheme is no client authentication')
  t.same(clientCredentials(undefined, { client_id: 'app' }), { method: 'none', clientId: 'app' })
  t.same(clientCredentials('Bearer abc', { client_id: 'app' }), { method: 'none', clientId: 'app' })
  t.same(clientCredentials(undefined, { client_id: 'app', client_secret: clientSecret }), { method: 'client_secret_post', clientId: 'app', clientSecret })
})

t.test('R6749-2.3.1 the Basic scheme', async (t) => {
  const cases: Array<[string, string, string]> = [
    [basic(`app:${clientSecret}`), 'app', clientSecret],
    [basic(`app:${clientSecret}`).replace('Basic', 'bAsIc'), 'app', clientSecret],
    [basic('app:'), 'app', ''],
    [basic('app:a:b'), 'app', 'a:b'],
    [basic('a%3Ab:c%2Bd+e'), 'a:b', 'c+d e'],
    [basic('%C3%A4:%E2%82%AC'), 'ä', '€'],
    [basic('ä:€'), 'ä', '€']
  ]
  for (const [header, clientId, secret] of cases) {
    t.same(clientCredentials(header, {}), { method: 'client_secret_basic', clientId, clientSecret: secret }, header)
    t.same(clientCredentials(header, { client_id: clientId }), { method: 'client_secret_basic', clientId, clientSecret: secret }, 'the same client_id beside it')
  }
})

t.test('R6749-5.2 a malformed header is 401 with the challenge of its scheme', async (t) => {
  for (const header of ['Basic ', 'Basic !!', 'Basic a b', basic(''), basic('app'), basic(':secret'), basic('a%zz:b'), basic('a:%e4'), `Basic ${'A'.repeat(4097)}`, 'Basic YTpi, Basic YTpi']) {
    t.throws(() => clientCredentials(header, {}), { code: 'FST_AUTHORITY_OAUTH', error: 'invalid_client', statusCode: 401, headers: { 'www-authenticate': /^Basic realm=/ } }, header.slice(0, 40))
  }
})

t.test('R6749-2.3 one method at a time', async (t) => {
  const invalid = (message: RegExp) => ({ code: 'FST_AUTHORITY_OAUTH', error: 'invalid_request', statusCode: 400, message })
  t.throws(() => clientCredentials(basic('app:x'), { client_id: 'app', client_secret: 'x' }), invalid(/one way/))
  t.throws(() => clientCredentials(basic('app:x'), { client_secret: 'x' }), invalid(/one way/))
  t.throws(() => clientCredentials(basic('app:x'), { client_id: 'other' }), invalid(/differs/))
  t.throws(() => clientCredentials(undefined, { client_secret: 'x' }), invalid(/needs a client_id/))
})

t.test('R6749-5.2 the challenge goes only to who used the header', async (t) => {
  t.match(invalidClient('client_secret_basic'), { statusCode: 401, headers: { 'www-authenticate': /^Basic/ } })
  for (const method of ['client_secret_post', 'none', undefined] as const) t.same(invalidClient(method).headers, {}, String(method))
})
