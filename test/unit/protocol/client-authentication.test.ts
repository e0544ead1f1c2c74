import t from '../../support/tap.ts'
import { clientCredentials, invalidClient } from '../../../lib/protocol/client-authentication.ts'

const basic = (text: string): string => `Basic ${Buffer.from(text).toString('base64')}`
const clientSecret = 's'.repeat(32)

// covers R6749-2.3
t.test('reads the credentials of a client from the form', async (t) => {
  t.equal(clientCredentials(undefined, {}), undefined)
  for (const header of ['Bearer abc', '', 'Basically abc', 'Basic-2 abc', 'XBasic YTpi', 'Bas', 'Digest Basic'])
    t.equal(clientCredentials(header, {}), undefined, `another scheme is no client authentication: ${header}`)
  t.same(clientCredentials(undefined, { client_id: 'app' }), { method: 'none', clientId: 'app' })
  t.same(clientCredentials('Bearer abc', { client_id: 'app' }), { method: 'none', clientId: 'app' })
  t.same(clientCredentials(undefined, { client_id: 'app', client_secret: clientSecret }), {
    method: 'client_secret_post',
    clientId: 'app',
    clientSecret
  })
})

// covers R6749-2.3.1
t.test('reads the credentials of the Basic scheme, encoded or not', async (t) => {
  const cases: Array<[header: string, clientId: string, secret: string, asSent?: [string, string]]> = [
    [basic(`app:${clientSecret}`), 'app', clientSecret],
    [basic(`app:${clientSecret}`).replace('Basic', 'bAsIc'), 'app', clientSecret],
    [basic(`app:${clientSecret}`).replace(' ', '   '), 'app', clientSecret],
    [basic('app:'), 'app', ''],
    [basic('app:a:b'), 'app', 'a:b'],
    [basic('a%3Ab:c%2Bd+e'), 'a:b', 'c+d e', ['a%3Ab', 'c%2Bd+e']],
    [basic('%C3%A4:%E2%82%AC'), 'ä', '€', ['%C3%A4', '%E2%82%AC']],
    [basic('ä:€'), 'ä', '€'],
    // L3: without form-encoding.
    [basic('app:a+b/c=='), 'app', 'a b/c==', ['app', 'a+b/c==']],
    [basic('app:100%25'), 'app', '100%', ['app', '100%25']],
    [basic('app:100%'), 'app', '100%'],
    [basic('app:%zz+'), 'app', '%zz+'],
    [basic('a%zz:b'), 'a%zz', 'b'],
    [basic('a:%e4'), 'a', '%e4']
  ]
  for (const [header, id, secret, [sentId, sentSecret] = [id, secret]] of cases) {
    const wanted = {
      method: 'client_secret_basic',
      clientId: id,
      clientSecret: secret,
      asSent: { clientId: sentId, clientSecret: sentSecret }
    }
    t.same(clientCredentials(header, {}), wanted, `L3 ${header}`)
    for (const beside of [id, sentId])
      t.same(clientCredentials(header, { client_id: beside }), wanted, 'the same client_id beside it')
  }
})

// covers R6749-5.2 C5
t.test('answers a malformed Basic header with 401 and a Basic challenge', async (t) => {
  for (const header of [
    'Basic',
    'basic',
    'BASIC',
    'Basic ',
    'Basic  ',
    'Basic,',
    'Basic=',
    'Basic:YTpi',
    'Basic, Bearer abc',
    'Basic !!',
    'Basic a b',
    basic(''),
    basic('app'),
    basic(':secret'),
    `Basic ${'A'.repeat(4097)}`,
    'Basic YTpi, Basic YTpi'
  ]) {
    t.throws(
      () => clientCredentials(header, {}),
      {
        code: 'FST_AUTHORITY_OAUTH',
        error: 'invalid_client',
        statusCode: 401,
        headers: { 'www-authenticate': /^Basic realm=/ }
      },
      header.slice(0, 40)
    )
  }
})

// covers R6749-2.3.1
t.test('decodes at most 4096 characters of a Basic header', async (t) => {
  const ofLength = (length: number): string =>
    `Basic ${Buffer.from(`app:${'s'.repeat(length - 4)}`).toString('base64')}`
  t.match(clientCredentials(ofLength(3072), {}), { clientId: 'app' }, '4096 characters')
  t.throws(
    () => clientCredentials(ofLength(3073), {}),
    { code: 'FST_AUTHORITY_OAUTH', error: 'invalid_client', statusCode: 401, message: /./ },
    'and more'
  )
  for (const padded of ['Basic YXBwOnM=', 'Basic YXBwOnM'])
    t.match(clientCredentials(padded, {}), { clientId: 'app', clientSecret: 's' }, padded)
  for (const odd of [
    'Basic YXBwOnM===',
    'Basic YXBw=OnM',
    'Basic YXBwO-nM',
    'Basic YXBwO_nM',
    'Basic YXBw OnM',
    'Basic YXBw\u00e9OnM'
  ])
    t.throws(
      () => clientCredentials(odd, {}),
      { code: 'FST_AUTHORITY_OAUTH', error: 'invalid_client', statusCode: 401, message: /./ },
      odd
    )
})

// covers R6749-2.3
t.test('refuses two client authentication methods in one request', async (t) => {
  const invalid = (message: RegExp) => ({
    code: 'FST_AUTHORITY_OAUTH',
    error: 'invalid_request',
    statusCode: 400,
    message
  })
  t.throws(() => clientCredentials(basic('app:x'), { client_id: 'app', client_secret: 'x' }), invalid(/one way/))
  t.throws(() => clientCredentials(basic('app:x'), { client_secret: 'x' }), invalid(/one way/))
  t.throws(() => clientCredentials(basic('app:x'), { client_id: 'other' }), invalid(/differs/))
  t.throws(() => clientCredentials(undefined, { client_secret: 'x' }), invalid(/needs a client_id/))
})

// covers R6749-5.2
t.test('sends the Basic challenge only to a client that used the header', async (t) => {
  t.match(invalidClient('client_secret_basic'), { statusCode: 401, headers: { 'www-authenticate': /^Basic/ } })
  for (const method of ['client_secret_post', 'none', undefined] as const)
    t.same(invalidClient(method).headers, {}, String(method))
})
