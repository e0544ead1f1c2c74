import t from '../../support/tap.ts'
import { readLogoutParams } from '../../../lib/protocol/request-params.ts'

const LIMITS: Record<string, number> = {
  id_token_hint: 8192,
  logout_hint: 512,
  client_id: 1536,
  post_logout_redirect_uri: 2048,
  state: 2048,
  ui_locales: 512
}
const invalid = (message: string | RegExp) => ({
  code: 'FST_AUTHORITY_OAUTH',
  error: 'invalid_request',
  statusCode: 400,
  message
})

// covers OIDF-oidcc-rp-initiated-logout
t.test('keeps known parameters as sent, and ignores empty and unknown ones', async (t) => {
  for (const nothing of [undefined, null, {}, Object.create(null), { state: '' }, { extra: 'x', client_secret: ['a'] }])
    t.same(readLogoutParams(nothing), {}, 'OIDF-oidcc-rp-initiated-logout-no-params')
  const params = Object.fromEntries(Object.keys(LIMITS).map((name) => [name, `${name} +%20é`]))
  t.same(readLogoutParams(Object.assign(Object.create(null) as object, params)), params)
  t.same(readLogoutParams({ state: 's' }), { state: 's' }, 'OIDF-oidcc-rp-initiated-logout-only-state')
})

t.test('DOS-authorize-parameters names the parameter that is too long or not a string', async (t) => {
  for (const raw of ['state=s', 1, []]) t.throws(() => readLogoutParams(raw), invalid(/must hold/))
  for (const [name, limit] of Object.entries(LIMITS)) {
    t.equal(readLogoutParams({ [name]: 'x'.repeat(limit) })[name as 'state'], 'x'.repeat(limit))
    t.throws(() => readLogoutParams({ [name]: 'x'.repeat(limit + 1) }), invalid(`${name} is too long.`))
    for (const value of [['a', 'b'], 1, null, {}])
      t.throws(() => readLogoutParams({ [name]: value }), invalid(`${name} must be a string, sent once.`))
  }
})

// covers C8
t.test('accepts returnTo, the name that Auth0 uses, as post_logout_redirect_uri', async (t) => {
  t.same(readLogoutParams({ returnTo: 'https://app.example/' }), { post_logout_redirect_uri: 'https://app.example/' })
  t.same(readLogoutParams({ returnTo: 'https://evil.example/', post_logout_redirect_uri: 'https://app.example/' }), {
    post_logout_redirect_uri: 'https://app.example/'
  })
  t.same(readLogoutParams({ returnTo: '' }), {})
  t.throws(() => readLogoutParams({ returnTo: 'x'.repeat(2049) }), invalid('returnTo is too long.'))
  t.throws(() => readLogoutParams({ returnTo: ['a', 'b'] }), invalid('returnTo must be a string, sent once.'))
})
