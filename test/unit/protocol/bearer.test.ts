import t from '../../support/tap.ts'
import {
  bearerCredential,
  bearerToken,
  firstPartyOnly,
  hasToken,
  headerOrFormToken,
  insufficientScope,
  invalidToken,
  MAX_TOKEN_LENGTH,
  missingToken
} from '../../../lib/protocol/bearer.ts'

// covers R6750-2.1
t.test('reads the token from the Authorization header', async (t) => {
  const cases: Array<[string | undefined, string | undefined]> = [
    [undefined, undefined],
    ['', undefined],
    ['Basic YTpi', undefined],
    ['Bearerabc', undefined],
    ['Digest Bearer abc', undefined],
    ['Bearer abc', 'abc'],
    // C6: RFC 6750 §2.1 has 1*SP.
    ['Bearer  abc', 'abc'],
    [`Bearer${' '.repeat(5000)}abc`, 'abc'],
    ['bEARER   abc', 'abc'],
    ['bearer abc', 'abc'],
    ['BEARER abc', 'abc'],
    ['Bearer a-b.c_d~e+f/g==', 'a-b.c_d~e+f/g=='],
    [`Bearer ${'x'.repeat(MAX_TOKEN_LENGTH)}`, 'x'.repeat(MAX_TOKEN_LENGTH)]
  ]
  for (const [header, token] of cases) {
    t.equal(bearerToken(header), token, String(header).slice(0, 40))
    t.equal(hasToken(header), token !== undefined)
  }
  t.equal(bearerCredential('abc'), 'Bearer abc')
  for (const header of ['Bearer', 'Bearer ', 'DPoP']) t.ok(hasToken(header), 'a bad one is one too')
})

// covers R6750-2.1
t.test('refuses an empty, malformed or overlong bearer token with 401', async (t) => {
  const cases = [
    'Bearer',
    'Bearer ',
    'Bearer  ',
    'Bearer \tabc',
    'Bearer  abc def',
    'Bearer abc ',
    'Bearer abc def',
    'Bearer a,b',
    'Bearer a=b',
    'Bearer =',
    'Bearer "abc"',
    'Bearer a\tb',
    'Bearer ä',
    'Bearer abc, Bearer def',
    `Bearer ${'x'.repeat(MAX_TOKEN_LENGTH + 1)}`
  ]
  for (const header of cases) {
    t.throws(
      () => bearerToken(header),
      {
        code: 'FST_AUTHORITY_OAUTH',
        error: 'invalid_token',
        statusCode: 401,
        headers: { 'www-authenticate': /^Bearer error="invalid_token"/ }
      },
      header.slice(0, 40)
    )
  }
})

// covers R6750-3.1
t.test('sends the matching challenge for each bearer error', async (t) => {
  t.match(missingToken(), {
    code: 'FST_AUTHORITY_OAUTH',
    error: 'invalid_token',
    statusCode: 401,
    headers: { 'www-authenticate': 'Bearer' }
  })
  t.notMatch(missingToken().headers['www-authenticate'], /error=/, 'no error where no token was sent')
  t.match(invalidToken('The token has expired.', 'exp'), {
    error: 'invalid_token',
    statusCode: 401,
    message: 'The token has expired.',
    detail: 'exp',
    headers: { 'www-authenticate': 'Bearer error="invalid_token", error_description="The token has expired."' }
  })
  t.match(insufficientScope(['admin', 'root']), {
    error: 'insufficient_scope',
    statusCode: 403,
    headers: { 'www-authenticate': 'Bearer error="insufficient_scope", scope="admin root"' }
  })
  t.match(firstPartyOnly(), {
    error: 'insufficient_scope',
    statusCode: 403,
    headers: {
      'www-authenticate':
        'Bearer error="insufficient_scope", error_description="Tokens of this client are not taken here."'
    }
  })
  for (const error of [missingToken(), invalidToken('It has expired.'), insufficientScope(['admin']), firstPartyOnly()])
    t.notMatch(error.stack, /\n +at /, 'nobody pays for the stack of what strangers send')
})

// covers R6750-2.2
t.test('reads a token from the header or the form, and refuses both together', async (t) => {
  const cases: Array<[string | undefined, unknown, string | undefined]> = [
    [undefined, undefined, undefined],
    [undefined, null, undefined],
    [undefined, 'access_token=abc', undefined],
    [undefined, { access_token: '' }, undefined],
    [undefined, Object.create({ access_token: 'abc' }), undefined],
    [undefined, { access_token: 'abc' }, 'abc'],
    ['Basic YTpi', { access_token: 'abc' }, 'abc'],
    ['Bearer abc', {}, 'abc'],
    ['Bearer abc', { access_token: '' }, 'abc']
  ]
  for (const [header, form, token] of cases)
    t.equal(headerOrFormToken(header, form)?.token, token, JSON.stringify([header, form]))
  for (const token of ['abc', 'def', 5])
    t.throws(() => headerOrFormToken('Bearer abc', { access_token: token }), {
      error: 'invalid_request',
      statusCode: 400,
      headers: { 'www-authenticate': /^Bearer error="invalid_request"/ }
    } as unknown as Error)
  for (const token of [5, ['abc'], ['abc', 'abc']])
    t.throws(() => headerOrFormToken(undefined, { access_token: token }), {
      error: 'invalid_request',
      statusCode: 400
    } as unknown as Error)
  for (const token of ['a b', 'x'.repeat(MAX_TOKEN_LENGTH + 1)])
    t.throws(() => headerOrFormToken(undefined, { access_token: token }), {
      error: 'invalid_token',
      statusCode: 401
    } as unknown as Error)
})
