import t from '../support/tap.ts'
import { readConfig } from '../../examples/server/config.ts'

const env = { AUTH_SECRET: 'x'.repeat(40) }

// covers H16
t.test('reads LOG_LEVEL in the example server, and rejects an unknown level', async (t) => {
  t.equal(readConfig(env).logLevel, 'info')
  t.equal(readConfig({ ...env, LOG_LEVEL: 'warn' }).logLevel, 'warn')
  t.throws(() => readConfig({ ...env, LOG_LEVEL: 'loud' }), /LOG_LEVEL is "loud"; it takes one of trace, /)
})

t.test('makes ann@example.com the example administrator on a developer machine, or the user in ADMIN', async (t) => {
  t.equal(readConfig(env).admin, 'ann@example.com')
  t.equal(readConfig({ ...env, ADMIN: 'zoe@example.com' }).admin, 'zoe@example.com')
  for (const [name, value] of [
    ['NODE_ENV', 'production'],
    ['HOST', '0.0.0.0'],
    ['SMTP_URL', 'smtp://mail.example'],
    ['TRUST_PROXY', '10.0.0.1']
  ] as const) {
    t.equal(readConfig({ ...env, [name]: value }).admin, undefined, name)
    t.equal(readConfig({ ...env, [name]: value, ADMIN: 'zoe' }).admin, 'zoe')
  }
})

t.test('reads DRAIN_SECONDS in the example server, and rejects values outside 0 to 300', async (t) => {
  t.equal(readConfig(env).drainSeconds, 0)
  t.equal(readConfig({ ...env, DRAIN_SECONDS: '15' }).drainSeconds, 15)
  for (const wrong of ['-1', '1.5', 'soon', '301'])
    t.throws(
      () => readConfig({ ...env, DRAIN_SECONDS: wrong }),
      /DRAIN_SECONDS is .*; it takes a whole number from 0 to 300/
    )
})

t.test('reads ALLOW_INSECURE_ISSUER in the example server, and rejects a value other than true or false', async (t) => {
  t.equal(readConfig(env).allowInsecureIssuer, false)
  t.equal(readConfig({ ...env, ALLOW_INSECURE_ISSUER: 'true' }).allowInsecureIssuer, true)
  t.throws(
    () => readConfig({ ...env, ALLOW_INSECURE_ISSUER: 'yes' }),
    /ALLOW_INSECURE_ISSUER is "yes"; it takes true or false/
  )
})

// covers H15
t.test('exempts localhost from rate limits by default only outside production in the example server', async (t) => {
  t.same(readConfig(env).bypass, ['127.0.0.0/8', '::1'])
  t.same(readConfig({ ...env, NODE_ENV: 'production' }).bypass, [])
  t.same(readConfig({ ...env, RATE_LIMIT_BYPASS: '' }).bypass, [])
  t.same(readConfig({ ...env, NODE_ENV: 'production', RATE_LIMIT_BYPASS: '10.0.0.0/8, ::1' }).bypass, [
    '10.0.0.0/8',
    '::1'
  ])
})

t.test('reads the provider clients in the example server, and rejects an incomplete one', async (t) => {
  t.strictSame(readConfig(env).connections, [])
  const client = (name: string): Record<string, string> => ({
    [`${name}_CLIENT_ID`]: 'id',
    [`${name}_CLIENT_SECRET`]: 'secret'
  })
  const all = {
    ...client('GOOGLE'),
    ...client('MICROSOFT'),
    ...client('GITHUB'),
    ...client('DISCORD'),
    ...client('FACEBOOK'),
    ...client('OIDC'),
    OIDC_ISSUER: 'https://sso.example',
    APPLE_CLIENT_ID: 'id',
    APPLE_TEAM_ID: 't',
    APPLE_KEY_ID: 'k',
    APPLE_PRIVATE_KEY: 'p',
    OTHER_PORT: '3001'
  }
  t.strictSame(
    readConfig({ ...env, ...all }).connections.map(({ id, name }) => `${id}: ${name}`),
    [
      'google: Google',
      'apple: Apple',
      'microsoft: Microsoft',
      'github: GitHub',
      'discord: Discord',
      'facebook: Facebook',
      'oidc: sso.example',
      'other: the other instance'
    ]
  )
  t.throws(
    () => readConfig({ ...env, GOOGLE_CLIENT_ID: 'id' }),
    /GOOGLE_CLIENT_SECRET must be set where GOOGLE_CLIENT_ID is/
  )
  t.throws(() => readConfig({ ...env, OTHER_PORT: 'soon' }), /OTHER_PORT is "soon"/)
})
