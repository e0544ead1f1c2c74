import t from '../../support/tap.ts'
import { parseTokenQuery } from '../../../lib/protocol/request-params.ts'

// covers R7009-2.1
t.test('reads the token and the client credentials of a revocation or introspection request', async (t) => {
  t.strictSame({ ...parseTokenQuery({ token: 't' }) }, { token: 't' })
  t.strictSame(
    { ...parseTokenQuery({ token: 't', token_type_hint: 'x', client_id: 'c', client_secret: 's', other: '1' }) },
    { token: 't', client_id: 'c', client_secret: 's' }
  )
  t.equal(
    parseTokenQuery({ token: 'x'.repeat(100_000) }).token.length,
    100_000,
    'one that is too long is an unknown one'
  )
})

// covers R7009-2.1
t.test('answers invalid_request to a missing or malformed token and to overlong client credentials', async (t) => {
  const cases: unknown[] = [
    undefined,
    null,
    'token=t',
    [],
    {},
    { client_id: 'c' },
    { token: ['t'] },
    { token: 1 },
    { token: 't', client_id: 'x'.repeat(1537) },
    { token: 't', client_secret: 'x'.repeat(1025) }
  ]
  for (const body of cases)
    t.throws(
      () => parseTokenQuery(body),
      { code: 'FST_AUTHORITY_OAUTH', error: 'invalid_request' },
      (JSON.stringify(body) ?? 'undefined').slice(0, 60)
    )
  t.throws(() => parseTokenQuery({}), { message: 'token is missing.' } as unknown as Error)
})
