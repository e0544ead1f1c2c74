import t from '../../support/tap.ts'
import { resolveRateLimits } from '../../../lib/settings/sections/rate-limit.ts'

t.test('RL has the documented default rate limits', async (t) => {
  t.same(resolveRateLimits(), {
    rules: {
      login: { windowMs: 900_000, max: 5, count: 'all' },
      register: { windowMs: 3_600_000, max: 3, count: 'all' },
      passwordReset: { windowMs: 3_600_000, max: 3, count: 'all' },
      account: { windowMs: 900_000, max: 10, count: 'failed' },
      secondFactor: { windowMs: 900_000, max: 5, count: 'failed' },
      refresh: { windowMs: 900_000, max: 100, count: 'failed' },
      connect: { windowMs: 900_000, max: 30, count: 'failed' },
      emailCode: { windowMs: 3_600_000, max: 3, count: 'all' },
      device: { windowMs: 600_000, max: 5, count: 'failed' },
      clientMetadata: { windowMs: 60_000, max: 30, count: 'all' },
      admin: { windowMs: 60_000, max: 120, count: 'all' }
    },
    bypass: [],
    prefix: 'rl:',
    onStoreError: 'local',
    key: null,
    apiKey: null,
    onLimit: null
  })
})

t.test('RL merges given limits into the default rules, and turns off one rule or all', async (t) => {
  const verify = () => true
  const resolved = resolveRateLimits({
    login: { max: 7 },
    account: false,
    refresh: { windowMs: 5 },
    register: { count: 'failed' },
    apiKey: { header: 'X-Partner', verify }
  })
  t.match(resolved, {
    rules: {
      login: { windowMs: 900_000, max: 7, count: 'all' },
      account: false,
      refresh: { windowMs: 5, max: 100, count: 'failed' },
      register: { max: 3, count: 'failed' }
    }
  })
  t.same(resolved && resolved.apiKey, { header: 'x-partner', verify }, 'as Node spells headers')
  t.match(resolveRateLimits({ apiKey: { verify } }), { apiKey: { header: 'x-api-key' } })
  t.equal(resolveRateLimits(false), false)
})
