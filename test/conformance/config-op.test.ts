import t, { type Test } from '../support/tap.ts'
import type { AuthorityOptions } from '../../lib/index.ts'
import { openidApp } from '../support/openid.ts'
import { faultsOf, MEMBERS } from './support/discovery-schema.ts'
import { checkKeys, readKeys } from './support/jwt-checks.ts'
import { startOp, SUITE_CLIENTS, SUITE_SCOPES } from './support/op.ts'

type Document = Readonly<Record<string, unknown>>

/** The metadata of an https issuer, by `inject`. */
async function documentOf(
  t: Test,
  issuer: string,
  options: Partial<AuthorityOptions> = {}
): Promise<{ document: Document; get: (url: string) => Promise<{ statusCode: number; json: Document }> }> {
  const { app, close } = await openidApp({ issuer, clients: SUITE_CLIENTS, scopes: SUITE_SCOPES, ...options })
  t.teardown(close)
  const get = async (url: string): Promise<{ statusCode: number; json: Document }> => {
    const { origin } = new URL(issuer)
    const reply = await app.inject({ url: url.slice(origin.length), headers: { host: new URL(issuer).host } })
    t.match(reply.headers['content-type'], /^application\/json/)
    return { statusCode: reply.statusCode, json: reply.json() }
  }
  const { json, statusCode } = await get(`${issuer}/.well-known/openid-configuration`)
  t.equal(statusCode, 200)
  return { document: json, get }
}

// covers OIDF-oidcc-discovery-endpoint-verification
t.test('serves valid metadata and a key for each algorithm over a socket', async (t) => {
  const { document, issuer, keys } = await startOp(t)
  t.equal(document['issuer'], issuer)
  t.strictSame(faultsOf(document), [])
  checkKeys(t, keys)
  t.strictSame(
    new Set(keys.map(({ alg }) => alg)),
    new Set(document['id_token_signing_alg_values_supported'] as string[]),
    'a key for each algorithm'
  )
})

for (const issuer of [
  'https://auth.example.com',
  'https://auth.example.com:8443',
  'https://auth.example.com/tenants/one'
]) {
  // covers OIDF-oidcc-discovery-endpoint-verification
  t.test(`serves valid metadata for the issuer ${issuer}`, async (t) => {
    const { document, get } = await documentOf(t, issuer)
    t.equal(document['issuer'], issuer, 'exactly')
    t.strictSame(faultsOf(document), [])
    for (const [name, value] of Object.entries(document)) {
      if (/_(?:endpoint|uri)$/.test(name))
        t.ok(
          String(value).startsWith(`${new URL(issuer).origin}/`) && String(value).startsWith('https:'),
          `${name} is https, and there`
        )
    }
    const jwks = await get(String(document['jwks_uri']))
    t.equal(jwks.statusCode, 200)
    checkKeys(t, readKeys(jwks.json))
  })
}

// covers OIDF-oidcc-discovery-endpoint-verification
t.test('answers at every endpoint that the metadata lists', async (t) => {
  const { document } = await startOp(t)
  const empty = { method: 'POST', headers: { 'content-type': 'application/x-www-form-urlencoded' } }
  const asked: Array<[string, RequestInit, number]> = [
    ['authorization_endpoint', {}, 400],
    ['authorization_endpoint', empty, 303],
    ['token_endpoint', empty, 400],
    ['userinfo_endpoint', {}, 401],
    ['userinfo_endpoint', empty, 401],
    ['jwks_uri', {}, 200],
    ['revocation_endpoint', empty, 400],
    ['introspection_endpoint', { ...empty, body: 'token=x' }, 401],
    ['end_session_endpoint', {}, 200],
    ['end_session_endpoint', empty, 303]
  ]
  for (const [name, init, status] of asked) {
    const response = await fetch(String(document[name]), { redirect: 'manual', ...init })
    t.equal(response.status, status, `${init.method ?? 'GET'} ${name}`)
    await response.body?.cancel()
  }
  const endpoints = Object.keys(document).filter((name) => /_(?:endpoint|uri)$/.test(name))
  t.strictSame(new Set(asked.map(([name]) => name)), new Set(endpoints), 'all of them')
})

t.test('lists exactly the configured scopes in the metadata', async (t) => {
  const { document } = await documentOf(t, 'https://auth.example.com', { scopes: ['openid', 'read:all', 'phone'] })
  t.strictSame(document['scopes_supported'], ['openid', 'read:all', 'phone'])
  t.strictSame(faultsOf(document), [])
})

t.test('reports missing and invalid members of the metadata', async (t) => {
  const { document } = await documentOf(t, 'https://auth.example.com')
  for (const [name, { required }] of Object.entries(MEMBERS)) {
    if (required !== true) continue
    const { [name]: _, ...without } = document
    t.strictSame(faultsOf(without), [`${name} is missing`])
  }
  for (const [name, value, fault] of [
    ['token_endpoint', 'http://auth.example.com/auth/token', 'is not https'],
    ['issuer', 'https://auth.example.com?x', 'has a query'],
    ['scopes_supported', 'openid', 'is no list with elements'],
    ['scopes_supported', ['openid', 'a b'], 'must not hold "a b"'],
    ['subject_types_supported', [], 'is no list with elements'],
    ['id_token_signing_alg_values_supported', ['RS256', 'none'], 'must not hold "none"'],
    ['ui_locales_supported', ['en', 'pt-br'], 'must not hold "pt-br"'],
    ['claims_parameter_supported', 'true', 'is no boolean'],
    ['check_session_iframe', 'https://auth.example.com/session', 'is not known']
  ] as const)
    t.match(faultsOf({ ...document, [name]: value })[0], `${name} ${fault}`)
})
