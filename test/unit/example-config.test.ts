import t from 'tap'
import { readConfig } from '../../examples/server/config.ts'

const env = { AUTH_SECRET: 'x'.repeat(40) }

// covers H16
t.test('the example server takes LOG_LEVEL', async (t) => {
  t.equal(readConfig(env).logLevel, 'info')
  t.equal(readConfig({ ...env, LOG_LEVEL: 'warn' }).logLevel, 'warn')
  t.throws(() => readConfig({ ...env, LOG_LEVEL: 'loud' }), /LOG_LEVEL is "loud"; it takes one of trace, /)
})

// covers H15
t.test('the example server leaves this machine unlimited outside production alone, and where nobody says otherwise', async (t) => {
  t.same(readConfig(env).bypass, ['127.0.0.0/8', '::1'])
  t.same(readConfig({ ...env, NODE_ENV: 'production' }).bypass, [])
  t.same(readConfig({ ...env, RATE_LIMIT_BYPASS: '' }).bypass, [])
  t.same(readConfig({ ...env, NODE_ENV: 'production', RATE_LIMIT_BYPASS: '10.0.0.0/8, ::1' }).bypass, ['10.0.0.0/8', '::1'])
})
