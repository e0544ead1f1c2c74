import t from '../../support/tap.ts'
import { assertionDigest, readTokenExchange, type TokenExchangeParams } from '../../../lib/protocol/request-params.ts'

const PARAMS = {
  subject_token: 'a.b.c',
  subject_token_type: 'urn:ietf:params:oauth:token-type:id_token',
  connection: 'google'
}
const read = (params: Record<string, string | undefined>) =>
  readTokenExchange({ ...PARAMS, ...params } as TokenExchangeParams)

t.test('reads the parameters of a token exchange', async (t) => {
  t.strictSame(read({}), { subjectToken: 'a.b.c', connection: 'google', nonce: null })
  t.strictSame(read({ nonce: 'n', requested_token_type: 'urn:ietf:params:oauth:token-type:access_token' }), {
    subjectToken: 'a.b.c',
    connection: 'google',
    nonce: 'n'
  })
})

t.test('names a missing or unsupported parameter of a token exchange', async (t) => {
  for (const [params, text] of [
    [{ subject_token: undefined }, /subject_token/],
    [{ connection: undefined }, /connection/],
    [{ subject_token_type: undefined }, /subject_token_type/],
    [{ subject_token_type: 'urn:ietf:params:oauth:token-type:access_token' }, /subject_token_type must be/],
    [{ subject_token_type: 'urn:ietf:params:oauth:token-type:jwt' }, /subject_token_type must be/],
    [{ actor_token: 'x' }, /actor_token/],
    [{ actor_token_type: 'x' }, /actor_token/],
    [{ requested_token_type: 'urn:ietf:params:oauth:token-type:id_token' }, /requested_token_type must be/]
  ] as const)
    t.throws(() => read(params), { error: 'invalid_request', message: text }, Object.keys(params).join())
})

t.test('digests a token without its signature', async (t) => {
  t.equal(assertionDigest('a.b.c'), assertionDigest('a.b.other'))
  t.not(assertionDigest('a.b.c'), assertionDigest('a.x.c'))
  t.not(assertionDigest('a.b.c'), assertionDigest('x.b.c'))
  t.match(assertionDigest('a.b.c'), /^[\w-]{43}$/)
})
