import t from 'tap'
import { bearerToken, insufficientScope, invalidToken, MAX_TOKEN_LENGTH, missingToken } from '../../../lib/protocol/bearer.ts'

t.test('R6750-2.1 the token of an Authorization header', async (t) => {
  const cases: Array<[string | undefined, string | undefined]> = [
    [undefined, undefined],
    ['', undefined],
    ['Bearer', undefined],
    ['Basic YTpi', undefined],
    ['Bearerabc', undefined],
    ['Digest Bearer abc', undefined],
    ['Bearer abc', 'abc'],
    ['bearer abc', 'abc'],
    ['BEARER abc', 'abc'],
    ['Bearer a-b.c_d~e+f/g==', 'a-b.c_d~e+f/g=='],
    [`Bearer ${'x'.repeat(MAX_TOKEN_LENGTH)}`, 'x'.repeat(MAX_TOKEN_LENGTH)]
  ]
  for (const [header, token] of cases) t.equal(bearerToken(header), token, String(header).slice(0, 40))
})

t.test('R6750-2.1 what can be no token is refused before anything parses it', async (t) => {
  const cases = ['Bearer ', 'Bearer  abc', 'Bearer abc ', 'Bearer abc def', 'Bearer a,b', 'Bearer a=b', 'Bearer =', 'Bearer "abc"', 'Bearer a\tb', 'Bearer ä', 'Bearer abc, Bearer def', `Bearer ${'x'.repeat(MAX_TOKEN_LENGTH + 1)}`]
  for (const header of cases) {
    t.throws(() => bearerToken(header), { code: 'FST_AUTHORITY_OAUTH', error: 'invalid_token', statusCode: 401, headers: { 'www-authenticate': /^Bearer error="invalid_token"/ } }, header.slice(0, 40))
  }
})

t.test('R6750-3.1 challenges', async (t) => {
  t.match(missingToken(), { code: 'FST_AUTHORITY_OAUTH', error: 'invalid_token', statusCode: 401, headers: { 'www-authenticate': 'Bearer' } })
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
})
