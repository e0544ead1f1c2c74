import t from '../../support/tap.ts'
import { OAuthError } from '../../../lib/errors.ts'
import { grantScope, parseScope, scopeMember } from '../../../lib/protocol/scope.ts'

const many = (count: number): string => Array.from({ length: count }, (_, index) => `s${index}`).join(' ')

// covers R6749-3.3
t.test('reads scope tokens in order, without duplicates', async (t) => {
  const cases: Array<[string | undefined, string[] | undefined]> = [
    [undefined, undefined],
    ['openid', ['openid']],
    ['openid profile', ['openid', 'profile']],
    ['profile openid', ['profile', 'openid']],
    ['a a b a', ['a', 'b']],
    ['A a', ['A', 'a']],
    ['https://api.example/read', ['https://api.example/read']],
    ['!#[]~', ['!#[]~']],
    ['__proto__ constructor', ['__proto__', 'constructor']],
    ['x'.repeat(1024), ['x'.repeat(1024)]],
    [many(50), many(50).split(' ')],
    // Repeated names count once.
    [`${many(50)} s1 s2`, many(50).split(' ')]
  ]
  for (const [requested, tokens] of cases) t.same(parseScope(requested), tokens, String(requested).slice(0, 40))
})

// covers R6749-3.3
t.test('answers invalid_scope to a malformed list', async (t) => {
  const cases = [
    '',
    ' ',
    ' a',
    'a ',
    'a  b',
    'a\tb',
    'a\nb',
    'a"b',
    'a\\b',
    'a\u007fb',
    'a\u0000',
    'ä',
    'a\u00a0b',
    'x'.repeat(1025),
    many(51)
  ]
  for (const requested of cases) {
    t.throws(
      () => parseScope(requested),
      { code: 'FST_AUTHORITY_OAUTH', error: 'invalid_scope', statusCode: 400 },
      JSON.stringify(requested).slice(0, 40)
    )
  }
})

// covers R6749-3.3
t.test('grants the requested scopes, or all allowed ones if none were requested', async (t) => {
  const allowed = ['openid', 'profile', 'admin']
  t.same(grantScope(undefined, allowed), allowed, 'all that is allowed where nothing was requested')
  t.not(grantScope(undefined, allowed), allowed, 'a copy: nobody changes the option through it')
  t.same(grantScope(['admin', 'openid'], allowed), ['admin', 'openid'], 'what was requested')
  t.same(grantScope([], allowed), [])
  for (const [requested, named] of [
    [['root'], 'root'],
    [['openid', 'root', 'su'], 'root su'],
    [['OpenID'], 'OpenID'],
    [['toString'], 'toString']
  ] as Array<[string[], string]>) {
    try {
      grantScope(requested, allowed)
      t.fail(`${named} was granted`)
    } catch (error) {
      t.ok(error instanceof OAuthError)
      t.match(error, { error: 'invalid_scope', message: `These scopes can't be granted: ${named}.` })
    }
  }
})

// covers R6749-3.3
t.test('omits scope for an empty list', async (t) => {
  t.strictSame(scopeMember([]), {})
  t.strictSame(scopeMember(['openid']), { scope: 'openid' })
  t.strictSame(scopeMember(['openid', 'profile']), { scope: 'openid profile' })
})
