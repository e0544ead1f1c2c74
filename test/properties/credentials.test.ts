import { deepEqual, equal, ok } from 'node:assert/strict'
import * as fc from 'fast-check'
import { OAuthError } from '../../lib/errors.ts'
import { checkAccessTokenClaims, parseTokenHeader, tokenHeaderReader } from '../../lib/protocol/access-token.ts'
import { bearerToken, hasToken, headerOrFormToken } from '../../lib/protocol/bearer.ts'
import { clientCredentials } from '../../lib/protocol/client-authentication.ts'
import { almost, character, property, thrownBy, wordsOf } from './support/property.ts'

const B64TOKEN = new Set('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~+/')
/** Characters of a token, then any number of `=`. @see RFC 6750 §2.1 */
function isB64Token(text: string): boolean {
  const padded = text.indexOf('=') === -1 ? text.length : text.indexOf('=')
  return padded > 0 && [...text].every((character, at) => (at < padded ? B64TOKEN.has(character) : character === '='))
}

const TOKEN_WORDS = [
  'Bearer',
  'bearer',
  'BEARER',
  'Basic',
  'DPoP',
  ' ',
  ' ',
  '\t',
  ',',
  '=',
  '"',
  'abc',
  'a.b.c',
  '-_~+/',
  '\0',
  'é'
]
const credential = fc
  .tuple(
    fc.constantFrom('Bearer ', 'bearer ', 'BEARER  ', 'Basic ', 'Bearer', ''),
    fc.oneof(
      fc.base64String({ minLength: 1 }),
      fc.constantFrom('a.b.c', '=', 'a=b', 'x'.repeat(8192), 'x'.repeat(8193)),
      wordsOf(TOKEN_WORDS, 4)
    )
  )
  .map(([scheme, token]) => scheme + token)

property(
  'P6 reads a Bearer token only if its characters are allowed and nothing follows',
  [fc.oneof(credential, almost(credential, TOKEN_WORDS), wordsOf(TOKEN_WORDS))],
  {
    examples: [
      ['Bearer a b'],
      ['Bearer'],
      ['Bearer '],
      ['Bearera'],
      ['Bearer a,Bearer b'],
      ['bearer   a'],
      ['Bearer\ta'],
      [' Bearer a'],
      ['Bearer a=a']
    ],
    cases: ['none', 'token', 'refused']
  },
  (header) => {
    const isOne = `${header} `.slice(0, 7).toLowerCase() === 'bearer '
    equal(hasToken(header), isOne || `${header} `.slice(0, 5).toLowerCase() === 'dpop ')
    if (!isOne) {
      equal(bearerToken(header), undefined)
      return 'none'
    }
    let sent = header.slice(7)
    while (sent.startsWith(' ')) sent = sent.slice(1)
    if (sent.length <= 8192 && isB64Token(sent)) {
      equal(bearerToken(header), sent)
      equal(headerOrFormToken(undefined, { access_token: sent })?.token, sent)
      ok(thrownBy(() => headerOrFormToken(header, { access_token: sent })) instanceof OAuthError, 'not both ways')
      return 'token'
    }
    const refusal = thrownBy(() => bearerToken(header))
    ok(refusal instanceof OAuthError)
    equal(refusal.error, 'invalid_token')
    return 'refused'
  }
)

const formEncoded = (text: string): string => new URLSearchParams([['', text]]).toString().slice(1)
const part = fc.oneof(fc.string(), fc.string({ unit: character }), wordsOf(['a', ':', '+', '%', '%41', ' ', 'é']))

property(
  'P6 reads Basic credentials of a client, form-encoded or not',
  [part.filter((id) => id !== '' && !id.includes(':')), part, fc.constantFrom('Basic ', 'basic ', 'BASIC   ')],
  {
    examples: [
      ['web', 'a:b', 'Basic '],
      ['web', '100%', 'Basic '],
      ['web', 'a+b', 'Basic '],
      ['é', '\u{1f600}', 'Basic ']
    ],
    cases: ['read']
  },
  (id, secret, scheme) => {
    const basic = (text: string): string => scheme + Buffer.from(text).toString('base64')
    const encoded = clientCredentials(basic(`${formEncoded(id)}:${formEncoded(secret)}`), {})
    ok(encoded?.method === 'client_secret_basic')
    deepEqual([encoded.clientId, encoded.clientSecret], [id, secret])
    const plain = clientCredentials(basic(`${id}:${secret}`), { client_id: id })
    ok(plain?.method === 'client_secret_basic')
    deepEqual(plain.asSent, { clientId: id, clientSecret: secret })
    for (const params of [{ client_secret: secret }, { client_id: `${id}x` }])
      ok(thrownBy(() => clientCredentials(basic(`${id}:${secret}`), params)) instanceof OAuthError)
    return 'read'
  }
)

const BASIC_WORDS = ['Basic', 'basic', 'Basic ', ' ', 'Og==', 'YTpi', 'YQ==', '=', '-', '_', ':', '\t', 'Bearer x', 'é']
property(
  'P6 reads a Basic header or refuses it with an OAuth error, and ignores other schemes',
  [
    fc.oneof(
      wordsOf(BASIC_WORDS, 5),
      fc.base64String({ maxLength: 5000 }).map((text) => `Basic ${text}`),
      fc.constantFrom('Basic YTpi', 'BASIC  YTo='),
      almost(
        fc.constantFrom('Basic YTpi', 'basic YWJjOmRlZg==', `Basic ${Buffer.from('a:%41%').toString('base64')}`),
        BASIC_WORDS
      )
    ),
    fc.record({ client_id: fc.constantFrom('web', 'a'), client_secret: fc.constantFrom('s') }, { requiredKeys: [] })
  ],
  {
    examples: [
      ['Basic', {}],
      ['Basic:x', {}],
      ['Basicx', { client_id: 'a' }],
      ['Basic Og==', {}],
      [`Basic ${'A'.repeat(5000)}`, {}]
    ],
    cases: ['basic', 'refused', 'other']
  },
  (header, params) => {
    const isOne = /^basic(?:$|[^A-Za-z0-9!#$%&'*+.^_`|~-])/i.test(header)
    try {
      const read = clientCredentials(header, params)
      equal(read?.method === 'client_secret_basic', isOne)
      if (read?.method === 'client_secret_basic') ok(read.asSent.clientId !== '' && !read.asSent.clientId.includes(':'))
      return isOne ? 'basic' : 'other'
    } catch (error) {
      ok(error instanceof OAuthError && ['invalid_client', 'invalid_request'].includes(error.error))
      ok(isOne || params.client_secret !== undefined)
      return 'refused'
    }
  }
)

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')
const header = fc.record(
  {
    alg: fc.oneof({ arbitrary: fc.constantFrom('ES256', 'EdDSA', 'none'), weight: 12 }, fc.anything()),
    typ: fc.oneof(
      { arbitrary: fc.constantFrom('at+jwt', 'AT+JWT', 'application/at+jwt'), weight: 12 },
      fc.constantFrom('JWT', 'logout+jwt', 'xat+jwt', 1, null)
    ),
    kid: fc.oneof({ arbitrary: fc.string(), weight: 12 }, fc.anything()),
    cty: fc.constant('x')
  },
  { requiredKeys: ['alg', 'typ'], noNullPrototype: true }
)
const forbidden = fc.constantFrom(
  {},
  {},
  {},
  ...['crit', 'jwk', 'jku', 'x5u', 'x5c', 'b64', 'zip', 'enc'].map((name) => ({ [name]: 'x' }))
)

property(
  'P6 reads algorithm and key id of a token header, and refuses an embedded key',
  [header, forbidden, fc.constantFrom('.e30.AA', '.e30.AA', '.e30.AA', '.e30', '.', '.e30.AA.AA')],
  {
    cases: ['read', 'refused']
  },
  (header, more, rest) => {
    const token = `${encode({ ...header, ...more })}${rest}`
    // The header as it was sent, because JSON has no undefined.
    const { alg, typ, kid } = JSON.parse(JSON.stringify(header)) as Record<string, unknown>
    const good =
      Object.keys(more).length === 0 &&
      rest === '.e30.AA' &&
      typeof alg === 'string' &&
      (kid === undefined || typeof kid === 'string') &&
      typeof typ === 'string' &&
      ['at+jwt', 'application/at+jwt'].includes(typ.toLowerCase()) &&
      token.length <= 1024
    const read = tokenHeaderReader()
    for (const reader of [parseTokenHeader, read, read]) {
      if (good) deepEqual({ ...reader(token) }, { alg, kid })
      else ok(thrownBy(() => reader(token)) instanceof OAuthError)
    }
    return good ? 'read' : 'refused'
  }
)

const NOW = Date.UTC(2026, 0, 1)
const SECONDS = NOW / 1000
const policy = { issuer: 'https://auth.example.com', audience: ['api', 'other'], clockSkewSeconds: 5 }
const time = fc.oneof(
  { arbitrary: fc.integer({ min: -7, max: 7 }).map((offset) => SECONDS + offset), weight: 8 },
  fc.constantFrom(undefined, null, NaN, Infinity, -1, String(SECONDS + 60))
)
const usually = (good: fc.Arbitrary<unknown>, ...bad: unknown[]): fc.Arbitrary<unknown> =>
  fc.oneof({ arbitrary: good, weight: 12 }, fc.constantFrom(...bad))
const claims = fc.record(
  {
    iss: usually(fc.constant(policy.issuer), 'https://auth.example.com/', '', undefined),
    sub: usually(fc.string({ minLength: 1 }), '', 1, undefined),
    jti: usually(fc.constant('j'), '', null),
    aud: usually(fc.constantFrom('api', 'other', ['api'], ['x', 'api']), 'x', [], [['api']], ['api', 1], undefined),
    exp: fc.oneof({ arbitrary: fc.integer({ min: -1, max: 60 }).map((offset) => SECONDS + offset), weight: 4 }, time),
    iat: fc.oneof({ arbitrary: fc.integer({ min: -60, max: 6 }).map((offset) => SECONDS + offset), weight: 4 }, time),
    nbf: time,
    sid: usually(fc.constant('s'), 1),
    at_hash: usually(fc.constant(undefined), 'x'),
    nested: fc.object({ maxDepth: 2 })
  },
  { requiredKeys: ['iss', 'sub', 'jti', 'aud', 'exp', 'iat'], noNullPrototype: true }
)

property(
  'P6 accepts only current claims of this issuer and audience, and freezes them deeply',
  [fc.oneof({ arbitrary: claims as fc.Arbitrary<unknown>, weight: 12 }, fc.anything())],
  {
    cases: ['accepted', 'refused']
  },
  (payload) => {
    const refusal = thrownBy(() => checkAccessTokenClaims(payload, policy, NOW))
    if (refusal !== null) {
      ok(refusal instanceof OAuthError)
      equal(refusal.error, 'invalid_token')
      return 'refused'
    }
    const { iss, sub, aud, exp, iat, nbf } = checkAccessTokenClaims(payload, policy, NOW) as Record<string, unknown>
    equal(iss, policy.issuer)
    ok(typeof sub === 'string' && sub !== '')
    ok([aud].flat().some((one) => one === 'api' || one === 'other'))
    ok(typeof exp === 'number' && exp > SECONDS)
    for (const from of [iat, nbf ?? 0]) ok(typeof from === 'number' && from <= SECONDS + 5)
    ok(isFrozen(payload))
    return 'accepted'
  }
)

function isFrozen(value: unknown): boolean {
  return typeof value !== 'object' || value === null || (Object.isFrozen(value) && Object.values(value).every(isFrozen))
}
