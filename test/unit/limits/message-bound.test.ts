import t from '../../support/tap.ts'
import { messageBound, messageKey } from '../../../lib/limits/attempt.ts'
import type { Rule } from '../../../lib/limits/rules.ts'

const RULE: Rule = { windowMs: 1000, max: 5, count: 'all' }

function bound(
  rule: Rule | false,
  allowed = true
): { calls: unknown[]; send: (work: () => Promise<void>) => Promise<boolean> } {
  const calls: unknown[] = []
  const { send } = messageBound(rule, {
    reserve: async (id, limits) => {
      calls.push(['reserve', id, limits])
      return { allowed, standings: [] } as never
    },
    refund: async (id, limits) => {
      calls.push(['refund', id, limits])
    },
    random: { id: () => 'id', secret: () => 'secret' } as never
  })
  return { calls, send: async (work) => await send(['reset', 'u1'], work) }
}

const LIMITS = [{ rule: 'passwordReset', key: messageKey(['reset', 'u1']), windowMs: 300_000, max: 1 }]

// covers A11
t.test('counts one message per user in five minutes, and sends none over that limit', async (t) => {
  const first = bound(RULE)
  t.equal(
    await first.send(async () => {
      first.calls.push('work')
    }),
    true
  )
  t.strictSame(first.calls, [['reserve', 'id', LIMITS], 'work'])
  const second = bound(RULE, false)
  t.equal(
    await second.send(async () => {
      second.calls.push('work')
    }),
    false
  )
  t.strictSame(second.calls, [['reserve', 'id', LIMITS]])
})

// covers A11
t.test('does not count a message that could not be sent', async (t) => {
  const { calls, send } = bound(RULE)
  await t.rejects(
    send(async () => {
      throw new Error('no mail')
    }),
    { message: 'no mail' }
  )
  t.strictSame(calls, [
    ['reserve', 'id', LIMITS],
    ['refund', 'id', LIMITS]
  ])
})

t.test('sends a message without counting if there is no rate limit rule', async (t) => {
  const { calls, send } = bound(false, false)
  t.equal(
    await send(async () => {
      calls.push('work')
    }),
    true
  )
  t.strictSame(calls, ['work'])
})
