import t from '../../support/tap.ts'
import { required, tokenRequestReader } from '../../../lib/protocol/request-params.ts'

const LIMITS = {
  grant_type: 256,
  username: 1024,
  password: 16384,
  client_id: 1536,
  client_secret: 1024,
  code: 16384,
  redirect_uri: 2048,
  code_verifier: 256,
  refresh_token: 16384
}
const parse = tokenRequestReader(LIMITS)
const invalid = (message: string | RegExp) => ({
  code: 'FST_AUTHORITY_OAUTH',
  error: 'invalid_request',
  statusCode: 400,
  message
})

// covers R6749-3.2
t.test('reads the parameters of a token request, and ignores unknown ones', async (t) => {
  t.same(
    parse({ grant_type: 'password', username: 'ann', password: ' p ' }),
    { grant_type: 'password', username: 'ann', password: ' p ' },
    'values are left as they came'
  )
  t.same(
    parse({ grant_type: 'password', nonsense: 1, others: ['x'] }),
    { grant_type: 'password' },
    'unknown ones are ignored'
  )
  t.same(
    parse({ grant_type: 'password', scope: '', client_id: '' }),
    { grant_type: 'password' },
    'one without a value counts as not sent'
  )
  const bare = Object.assign(Object.create(null) as Record<string, unknown>, { grant_type: 'x' })
  t.same(parse(bare), { grant_type: 'x' }, 'a form without a prototype')
})

// covers R6749-5.2
t.test('answers invalid_request with the name of a missing, malformed or overlong parameter', async (t) => {
  for (const body of ['grant_type=password', 1, true, [], [{ grant_type: 'password' }]])
    t.throws(() => parse(body), invalid(/must hold its parameters by name/), JSON.stringify(body))
  for (const body of [undefined, null])
    t.throws(() => parse(body), invalid('grant_type is missing.'), JSON.stringify(body))
  t.throws(() => parse({}), invalid('grant_type is missing.'))
  t.throws(() => parse({ grant_type: '' }), invalid('grant_type is missing.'))
  t.throws(
    () => parse(Object.create({ grant_type: 'password' })),
    invalid('grant_type is missing.'),
    'what is inherited was not sent'
  )
  for (const name of [...Object.keys(LIMITS), 'scope'])
    for (const value of [1, true, null, ['a'], ['a', 'b'], { a: 1 }])
      t.throws(
        () => parse({ grant_type: 'password', [name]: value }),
        invalid(`${name} must be a string, sent once.`),
        `${name}: ${JSON.stringify(value)}`
      )
  for (const [name, limit] of Object.entries(LIMITS)) {
    t.equal(
      parse({ grant_type: 'password', [name]: 'x'.repeat(limit) })[name as 'username'],
      'x'.repeat(limit),
      `${name} of ${limit} characters`
    )
    t.throws(
      () => parse({ grant_type: 'password', [name]: 'x'.repeat(limit + 1) }),
      invalid(`${name} is too long.`),
      `${name} of ${limit + 1}`
    )
  }
})

t.test('refuses a request that lacks a parameter of its grant', async (t) => {
  const params = parse({ grant_type: 'password', username: 'ann' })
  t.equal(required(params, 'username'), 'ann')
  t.throws(() => required(params, 'password'), invalid('password is missing.'))
})
