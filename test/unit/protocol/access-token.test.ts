import { createHash } from 'node:crypto'
import t from '../../support/tap.ts'
import {
  type AccessTokenPolicy,
  checkAccessTokenClaims,
  deepFreeze,
  parseTokenHeader,
  thumbprint,
  tokenHeaderReader
} from '../../../lib/protocol/access-token.ts'

const policy: AccessTokenPolicy = {
  issuer: 'https://auth.example',
  audience: 'https://api.example',
  clockSkewSeconds: 60
}
const NOW = 1_800_000_000
const good = { iss: policy.issuer, aud: policy.audience, sub: '1', jti: 'j', iat: NOW, exp: NOW + 900 }
const refused = { code: 'FST_AUTHORITY_OAUTH', error: 'invalid_token', statusCode: 401 }
const encode = (header: unknown): string =>
  Buffer.from(typeof header === 'string' ? header : JSON.stringify(header)).toString('base64url')

t.test('computes the RFC 7638 §3.1 thumbprint of a key', async (t) => {
  const n =
    '0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw'
  const key = { kty: 'RSA', n, e: 'AQAB', alg: 'RS256', kid: '2011-04-29' }
  t.equal(thumbprint(key), 'NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs')
  t.equal(
    thumbprint({ e: 'AQAB', d: 'private', n, kty: 'RSA' }),
    'NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs',
    'whatever the order, whatever else is there'
  )
  // RFC 8037, appendix A.3
  t.equal(
    thumbprint({ kty: 'OKP', crv: 'Ed25519', x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo' }),
    'kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k'
  )
  const point = {
    kty: 'EC',
    crv: 'P-256',
    x: 'MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4',
    y: '4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM'
  }
  t.equal(
    thumbprint(point),
    thumbprint({ ...point, d: 'private', use: 'sig' }),
    "the private half has the public half's"
  )
  t.not(thumbprint(point), thumbprint({ ...point, x: point.y }))
  for (const member of ['crv', 'x', 'y']) t.not(thumbprint(point), thumbprint({ ...point, [member]: 'other' }), member)
  t.equal(
    thumbprint(point),
    createHash('sha256').update(`{"crv":"P-256","kty":"EC","x":"${point.x}","y":"${point.y}"}`).digest('base64url'),
    'the members that §3.2 requires, in their order'
  )
})

// covers R9068-4
t.test('reads algorithm and key id from a valid token header', async (t) => {
  const cases: Array<[Record<string, unknown>, { alg: string; kid: string | undefined }]> = [
    [
      { alg: 'ES256', typ: 'at+jwt', kid: 'k' },
      { alg: 'ES256', kid: 'k' }
    ],
    [
      { alg: 'ES256', typ: 'AT+JWT' },
      { alg: 'ES256', kid: undefined }
    ],
    [
      { alg: 'none', typ: 'application/at+jwt' },
      { alg: 'none', kid: undefined }
    ],
    [
      { alg: 'ES256', typ: 'at+jwt', kid: '__proto__', cty: 'x' },
      { alg: 'ES256', kid: '__proto__' }
    ]
  ]
  for (const [header, read] of cases) t.same(parseTokenHeader(`${encode(header)}.e30.AA`), read, JSON.stringify(header))
})

t.test('reads a header of 1,024 characters, and refuses a longer one', async (t) => {
  const ofLength = (length: number): string =>
    `${encode({ alg: 'ES256', typ: 'at+jwt', pad: 'x'.repeat((length * 3) / 4 - 39) })}.e30.AA`
  t.equal(ofLength(1024).indexOf('.'), 1024)
  t.match(parseTokenHeader(ofLength(1024)), { alg: 'ES256' })
  t.throws(() => parseTokenHeader(ofLength(1028)), refused)
})

// covers R8725-3.11
t.test('refuses invalid headers before verifying a signature', async (t) => {
  const header = { alg: 'ES256', typ: 'at+jwt' }
  const cases = [
    '',
    '.',
    '..',
    'a',
    'a.b',
    `${encode(header)}.e30`,
    `${encode(header)}.e30.AA.AA`,
    `${encode(header)}.e30.AA.AA.AA`,
    `.e30.AA`,
    `${encode('no json')}.e30.AA`,
    `${encode('[]')}.e30.AA`,
    `${encode('null')}.e30.AA`,
    `${encode('"x"')}.e30.AA`,
    `${encode({ alg: 'ES256' })}.e30.AA`,
    `${encode({ alg: 'ES256', typ: 'JWT' })}.e30.AA`,
    `${encode({ alg: 'ES256', typ: 1 })}.e30.AA`,
    `${encode({ alg: 'ES256', typ: 'at+jwt ' })}.e30.AA`,
    `${encode({ typ: 'at+jwt' })}.e30.AA`,
    `${encode({ ...header, alg: 1 })}.e30.AA`,
    `${encode({ ...header, kid: 1 })}.e30.AA`,
    `${encode({ ...header, kid: null })}.e30.AA`,
    ...['crit', 'jwk', 'jku', 'x5u', 'x5c', 'b64', 'zip', 'enc'].map(
      (name) => `${encode({ ...header, [name]: name === 'crit' ? [] : 'x' })}.e30.AA`
    ),
    `${encode({ ...header, pad: 'x'.repeat(1024) })}.e30.AA`
  ]
  for (const token of cases) t.throws(() => parseTokenHeader(token), refused, token.slice(0, 60))
})

t.test('reads or refuses a token header regardless of the headers read before', async (t) => {
  const read = tokenHeaderReader()
  const header = (kid: string, more: object = {}): string => encode({ alg: 'ES256', typ: 'at+jwt', kid, ...more })
  for (let round = 0; round < 2; round++) {
    for (const kid of ['a', 'a', 'b']) t.strictSame(read(`${header(kid)}.e30.AA`), { alg: 'ES256', kid })
    for (const token of [
      `${header('b')}.e30`,
      `${header('b')}.e30.AA.AA`,
      `${header('b')}A.e30.AA`,
      `${header('b', { crit: ['x'] })}.e30.AA`,
      `${header('b', { typ: 'JWT' })}.e30.AA`,
      '..',
      '.e30.AA'
    ]) {
      t.throws(() => read(token), refused)
      t.throws(() => read(token), refused, 'a second time too')
    }
  }
})

// covers R9068-4
t.test('accepts valid claims and freezes them deeply', async (t) => {
  const cases: Array<Record<string, unknown>> = [
    good,
    { ...good, aud: [policy.audience] },
    { ...good, aud: ['https://other.example', policy.audience] },
    { ...good, iat: NOW + 60 },
    { ...good, nbf: NOW + 60 },
    { ...good, exp: NOW + 1 },
    { ...good, exp: NOW + 0.5 },
    { ...good, client_id: 'app', scope: '', sid: 's', auth_time: NOW, roles: [{ name: 'x' }] }
  ]
  for (const claims of cases) {
    const checked = checkAccessTokenClaims(structuredClone(claims), policy, NOW * 1000)
    t.same(checked, claims, JSON.stringify(claims))
    t.ok(Object.isFrozen(checked))
  }
  const deep = checkAccessTokenClaims({ ...good, roles: [{ name: 'x' }] }, policy, NOW * 1000)
  const [role = { name: '' }] = deep.roles as Array<{ name: string }>
  t.throws(() => {
    role.name = 'admin'
  }, TypeError)
})

// covers R8725-3.8 R8725-3.9
t.test('refuses an access token with a missing, mistyped, foreign or untimely claim', async (t) => {
  const without = (name: string): Record<string, unknown> =>
    Object.fromEntries(Object.entries(good).filter(([key]) => key !== name))
  const cases: unknown[] = [
    null,
    'x',
    1,
    [],
    [good],
    { ...good, at_hash: 'of an ID token' },
    ...Object.keys(good).map(without),
    ...['iss', 'sub', 'jti'].flatMap((name) => ['', 1, null, [], ['x']].map((value) => ({ ...good, [name]: value }))),
    ...['client_id', 'scope', 'sid'].flatMap((name) => [1, null, ['x']].map((value) => ({ ...good, [name]: value }))),
    { ...good, iss: 'https://auth.example/' },
    { ...good, iss: 'https://AUTH.example' },
    { ...good, iss: [policy.issuer] },
    ...[
      '',
      'https://other.example',
      [],
      [1],
      [policy.audience, 1],
      ['https://other.example'],
      null,
      { 0: policy.audience },
      1
    ].map((aud) => ({ ...good, aud })),
    ...['1', null, -1, Infinity, NaN, true, [NOW + 900]].flatMap((value) => [
      { ...good, exp: value },
      { ...good, iat: value }
    ]),
    { ...good, nbf: null },
    { ...good, nbf: String(NOW) },
    { ...good, exp: NOW },
    { ...good, exp: NOW - 1 },
    { ...good, exp: 0 },
    { ...good, iat: NOW + 61 },
    { ...good, nbf: NOW + 61 }
  ]
  for (const payload of cases)
    t.throws(() => checkAccessTokenClaims(payload, policy, NOW * 1000), refused, JSON.stringify(payload))
})

t.test('refuses a token from the exact millisecond of its expiry on', async (t) => {
  const claims = { ...good, exp: NOW + 10 }
  t.ok(checkAccessTokenClaims(claims, policy, (NOW + 10) * 1000 - 1))
  t.throws(() => checkAccessTokenClaims({ ...good, exp: NOW + 10 }, policy, (NOW + 10) * 1000), {
    ...refused,
    message: 'The token has expired.'
  })
})

t.test('accepts a token if one of its audiences matches', async (t) => {
  const two = { ...policy, audience: ['https://a.example', 'https://b.example'] }
  t.ok(checkAccessTokenClaims({ ...good, aud: 'https://b.example' }, two, NOW * 1000))
  t.ok(checkAccessTokenClaims({ ...good, aud: ['https://x.example', 'https://a.example'] }, two, NOW * 1000))
  t.throws(() => checkAccessTokenClaims({ ...good, aud: 'https://x.example' }, two, NOW * 1000), refused)
})

t.test('deepFreeze returns plain values as they are and stops at cycles', async (t) => {
  t.equal(deepFreeze(1), 1)
  t.equal(deepFreeze(null), null)
  const circle: Record<string, unknown> = { inner: {} }
  circle.self = circle
  t.ok(Object.isFrozen(deepFreeze(circle).inner))
})

t.test('names the faulty header or claim of a token in the detail of the error', async (t) => {
  const header = { alg: 'ES256', typ: 'at+jwt' }
  const detailOf = (work: () => unknown): string | undefined => {
    try {
      work()
    } catch (error) {
      return (error as { detail?: string }).detail
    }
    return 'taken'
  }
  t.equal(
    detailOf(() => parseTokenHeader(`${encode({ ...header, typ: 'JWT' })}.e30.AA`)),
    'typ'
  )
  t.equal(
    detailOf(() => parseTokenHeader(`${encode({ ...header, jku: 'x' })}.e30.AA`)),
    'header jku'
  )
  const cases: Array<[object, string]> = [
    [{ at_hash: 'x' }, 'at_hash'],
    [{ iss: 'x' }, 'iss'],
    [{ aud: 'x' }, 'aud'],
    [{ aud: [] }, 'aud'],
    [{ aud: [policy.audience, 1] }, 'aud'],
    [{ exp: 'x' }, 'exp, iat or nbf'],
    [{ iat: -1 }, 'exp, iat or nbf'],
    [{ nbf: Infinity }, 'exp, iat or nbf'],
    [{ exp: NOW }, 'exp'],
    [{ iat: NOW + 61 }, 'iat or nbf'],
    [{ nbf: NOW + 61 }, 'iat or nbf']
  ]
  for (const [change, detail] of cases)
    t.equal(
      detailOf(() => checkAccessTokenClaims({ ...good, ...change }, policy, NOW * 1000)),
      detail,
      JSON.stringify(change)
    )
  t.equal(
    detailOf(() => checkAccessTokenClaims({ ...good, nbf: NOW + 60, iat: 0 }, policy, NOW * 1000)),
    'taken'
  )
})

t.test('refuses a token that does not have three parts with a non-empty header', async (t) => {
  for (const token of [
    '',
    'a',
    '.e30.AA',
    'a.b',
    `${encode({ alg: 'ES256', typ: 'at+jwt' })}.e30`,
    `${encode({ alg: 'ES256', typ: 'at+jwt' })}.e30.AA.`
  ])
    t.throws(() => parseTokenHeader(token), { ...refused, message: 'The token is malformed.' }, token)
  t.match(
    parseTokenHeader(`${encode({ alg: 'ES256', typ: 'at+jwt' })}..`),
    { alg: 'ES256' },
    'what is in the others is not looked at'
  )
})
