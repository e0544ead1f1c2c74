import t from '../../support/tap.ts'
import { parseClaimsRequest } from '../../../lib/protocol/user-claims.ts'
import { formatAuthorizationDetails, readAuthorizationDetails } from '../../../lib/protocol/authorization-request.ts'

const invalid = (message: RegExp) => ({
  code: 'FST_AUTHORITY_OAUTH',
  error: 'invalid_request',
  statusCode: 400,
  message
})
const parse = (value: unknown) => parseClaimsRequest(JSON.stringify(value))

// covers OIDF-oidcc-claims-essential
t.test('reads the requested claims', async (t) => {
  const whole = {
    userinfo: {
      given_name: { essential: true },
      nickname: null,
      email: {},
      'http://example.info/claims/groups': null,
      'name#ja-Hani-JP': null
    },
    id_token: {
      auth_time: { essential: true },
      acr: { values: ['urn:mace:incommon:iap:silver'] },
      sub: { value: '248289761001' }
    }
  }
  t.same(parse(whole), whole)
  for (const nothing of [{}, { userinfo: {} }, { id_token: {} }, { userinfo: {}, id_token: {} }])
    t.same(parse(nothing), nothing)
  t.same(parse({ userinfo: { a: { value: null }, b: { value: 0, values: [] }, c: { value: false } } }), {
    userinfo: { a: { value: null }, b: { value: 0, values: [] }, c: { value: false } }
  })
})

t.test('ignores unknown members and invalid claim names of a claims request', async (t) => {
  t.same(
    parse({
      other: { x: 1 },
      userinfo: { name: { essential: true, purpose: 'x', max_age: 1 }, verified_claims: { claims: { name: null } } }
    }),
    { userinfo: { name: { essential: true }, verified_claims: {} } }
  )
  for (const name of ['', ' ', 'a b', 'é', 'a\nb', '\u0000', 'x'.repeat(129), '__proto__'])
    t.same(
      parseClaimsRequest(`{"userinfo":{${JSON.stringify(name)}:null,"name":null}}`),
      { userinfo: { name: null } },
      'a name that no claim has'
    )
  t.same(parse({ userinfo: { ['x'.repeat(128)]: null } }), { userinfo: { ['x'.repeat(128)]: null } })
})

// covers ASVS-15.3.6
t.test('parses only the sent members of a claims request, and no inherited ones', async (t) => {
  const json =
    '{"__proto__":{"userinfo":{"a":null}},"id_token":{"__proto__":{"essential":true},"constructor":null,"acr":{"__proto__":{"essential":true},"value":"1"}}}'
  const claims = parseClaimsRequest(json)
  t.equal(claims.userinfo, undefined)
  t.same(Object.keys(claims.id_token ?? {}), ['constructor', 'acr'])
  t.equal(claims.id_token?.['acr']?.essential, undefined)
  t.equal(claims.id_token?.['toString'], undefined, 'no prototype')
  t.equal(claims.id_token?.['essential'], undefined)
  t.equal(Object.getPrototypeOf(claims.id_token?.['acr'] ?? {}), null)
  t.equal(({} as Record<string, unknown>)['essential'], undefined)
  t.same(
    readAuthorizationDetails(formatAuthorizationDetails({ redirectUri: 'https://app.example/cb', claims })).claims,
    { id_token: { constructor: null, acr: { value: '1' } } },
    'and it is kept'
  )
})

t.test('answers invalid_request to a malformed claims request', async (t) => {
  for (const json of ['', ' ', '{', '{}x', 'undefined', '{"a":1,}', '\u0000', '\ufeff{}', "{'userinfo':{}}"])
    t.throws(() => parseClaimsRequest(json), invalid(/^claims is not valid JSON/), JSON.stringify(json))
  for (const json of ['null', '1', '"x"', 'true', '[]', '[{}]'])
    t.throws(() => parseClaimsRequest(json), invalid(/^claims must be a JSON object/), json)
  for (const member of ['userinfo', 'id_token']) {
    for (const value of [null, 1, 'x', true, [], ['name']])
      t.throws(() => parse({ [member]: value }), invalid(new RegExp(`an object as ${member}`)), JSON.stringify(value))
    for (const value of [1, 'x', true, false, [], ['a']])
      t.throws(() => parse({ [member]: { name: value } }), invalid(/null or an object/), JSON.stringify(value))
    for (const essential of [null, 1, 'true', [], {}])
      t.throws(() => parse({ [member]: { name: { essential } } }), invalid(/as essential/), JSON.stringify(essential))
    for (const values of [null, 1, 'x', {}])
      t.throws(() => parse({ [member]: { name: { values } } }), invalid(/as values/), JSON.stringify(values))
  }
})

t.test('DOS-authorize-parameters limits the length, depth, names and values of claims', async (t) => {
  const padded = (length: number): string => '{}'.padEnd(length, ' ')
  t.same(parseClaimsRequest(padded(4096)), {})
  t.throws(() => parseClaimsRequest(padded(4097)), invalid(/^claims is too long/))
  t.throws(() => parseClaimsRequest(' '.repeat(100_000)), invalid(/^claims is too long/))
  t.doesNotThrow(() => parse({ userinfo: { a: { value: { b: 1 } } } }))
  t.throws(() => parse({ userinfo: { a: { value: { b: {} } } } }), invalid(/nested too deep/))
  t.throws(() => parse({ userinfo: { a: { values: [[]] } } }), invalid(/nested too deep/))
  t.throws(() => parse({ other: { a: { b: { c: { d: 1 } } } } }), invalid(/nested too deep/), 'whether known or not')
  for (const depth of [50, 680])
    t.throws(() => parseClaimsRequest(`${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`), invalid(/nested too deep/))
  t.throws(() => parseClaimsRequest(`{"a":${'['.repeat(2000)}${']'.repeat(2000)}}`), invalid(/nested too deep/))
  const names = (count: number): object => ({
    userinfo: Object.fromEntries(Array.from({ length: count }, (_, index) => [`c${index}`, null]))
  })
  t.doesNotThrow(() => parse(names(50)))
  t.throws(() => parse(names(51)), invalid(/more than 50 claims in userinfo/))
  t.doesNotThrow(() => parse({ id_token: { acr: { values: Array.from({ length: 20 }, () => '1') } } }))
  t.throws(() => parse({ id_token: { acr: { values: Array.from({ length: 21 }, () => '1') } } }), invalid(/at most 20/))
})
