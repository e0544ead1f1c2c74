import t from '../../support/tap.ts'
import { OAuthError } from '../../../lib/errors.ts'
import { type AttemptDeps, countFailure, reserveAttempt } from '../../../lib/limits/attempt.ts'
import { networkMax } from '../../../lib/limits/rules.ts'
import type { AttemptLimit, AttemptStanding } from '../../../lib/ports/attempt-store.ts'

const LIMIT: AttemptLimit = { rule: 'login', key: 'k', windowMs: 1000, max: 1 }
const OTHER: AttemptLimit = { ...LIMIT, rule: 'account' }
const STANDING = { rule: 'login', key: 'k' } as unknown as AttemptStanding

/** Dependencies that record each call. `allowed` is the answer of the store. */
function recorder(allowed = true): { calls: unknown[]; deps: AttemptDeps } {
  const calls: unknown[] = []
  return {
    calls,
    deps: {
      reserve: async (id, limits) => {
        calls.push(['reserve', id, limits])
        return allowed
          ? { allowed: true, standings: [STANDING] }
          : { allowed: false, standings: [STANDING], refusedBy: STANDING }
      },
      refund: (id, limits) => {
        calls.push(['refund', id, limits])
      },
      show: (standings) => {
        calls.push(['show', standings])
      },
      refuse: async (by) => {
        calls.push(['refuse', by])
        throw new Error('over the limit')
      }
    }
  }
}

const RESERVED = [
  ['reserve', 'id', [LIMIT, OTHER]],
  ['show', [STANDING]]
]

t.test('counts an attempt before the work, and refunds a success under limits that count failures', async (t) => {
  const { calls, deps } = recorder()
  t.equal(
    await reserveAttempt(
      { id: 'id', limits: [LIMIT, OTHER], givenBack: [OTHER] },
      async () => calls.push('work') > 0 && 'result',
      deps
    ),
    'result'
  )
  t.strictSame(calls, [...RESERVED, 'work', ['refund', 'id', [OTHER]]])
  const all = recorder()
  await reserveAttempt({ id: 'id', limits: [LIMIT, OTHER], givenBack: [] }, async () => 'result', all.deps)
  t.strictSame(all.calls, RESERVED, 'nothing is given back where all count')
})

t.test('rejects an attempt over a limit without doing the work', async (t) => {
  const { calls, deps } = recorder(false)
  await t.rejects(
    reserveAttempt(
      { id: 'id', limits: [LIMIT, OTHER], givenBack: [LIMIT] },
      async () => {
        calls.push('work')
      },
      deps
    ),
    { message: 'over the limit' }
  )
  t.strictSame(calls, [...RESERVED, ['refuse', STANDING]])
})

t.test('refunds all limits after an outage, and keeps the attempt counted after other errors', async (t) => {
  const outage = Object.assign(new Error('down'), { code: 'ECONNREFUSED' })
  const cases: Array<[error: Error, isGivenBack: boolean]> = [
    [new OAuthError('temporarily_unavailable', 'The queue is full.'), true],
    [new OAuthError('temporarily_unavailable', 'The store is down.', { cause: outage }), true],
    [outage, true],
    [new OAuthError('temporarily_unavailable', 'A bug.', { cause: new TypeError('x') }), false],
    [new OAuthError('invalid_grant', 'Wrong.'), false],
    [new OAuthError('invalid_grant', 'Wrong.', { cause: outage }), false],
    [new TypeError('a bug'), false]
  ]
  for (const [error, isGivenBack] of cases) {
    const { calls, deps } = recorder()
    await t.rejects(
      reserveAttempt(
        { id: 'id', limits: [LIMIT, OTHER], givenBack: [OTHER] },
        async () => {
          throw error
        },
        deps
      ),
      error
    )
    t.strictSame(calls, isGivenBack ? [...RESERVED, ['refund', 'id', [LIMIT, OTHER]]] : RESERVED, error.message)
  }
})

t.test('counts a failure only after the proof was rejected, and rejects a failure over the limit', async (t) => {
  const plan =
    (calls: unknown[], limits: readonly AttemptLimit[] = [LIMIT, OTHER]) =>
    async () => {
      calls.push('plan')
      return { id: 'id', limits }
    }
  const good = recorder()
  t.equal(await countFailure(plan(good.calls), async () => 'result', good.deps), 'result')
  t.strictSame(good.calls, [])
  for (const code of ['invalid_client', 'invalid_grant', 'invalid_token'] as const) {
    const { calls, deps } = recorder()
    await t.rejects(
      countFailure(
        plan(calls),
        async () => {
          throw new OAuthError(code, 'Wrong.')
        },
        deps
      ),
      { code: 'FST_AUTHORITY_OAUTH', error: code }
    )
    t.strictSame(calls, ['plan', ...RESERVED], code)
    const over = recorder(false)
    await t.rejects(
      countFailure(
        plan(over.calls),
        async () => {
          throw new OAuthError(code, 'Wrong.')
        },
        over.deps
      ),
      { message: 'over the limit' }
    )
  }
  for (const error of [
    new OAuthError('invalid_scope', 'No.'),
    new OAuthError('temporarily_unavailable', 'Down.'),
    Object.assign(new Error('a bug'), { error: 'invalid_grant' })
  ]) {
    const { calls, deps } = recorder(false)
    await t.rejects(
      countFailure(
        plan(calls),
        async () => {
          throw error
        },
        deps
      ),
      error
    )
    t.strictSame(calls, [], error.message)
  }
  const unlimited = recorder(false)
  await t.rejects(
    countFailure(
      plan(unlimited.calls, []),
      async () => {
        throw new OAuthError('invalid_grant', 'Wrong.')
      },
      unlimited.deps
    ),
    { code: 'FST_AUTHORITY_OAUTH', error: 'invalid_grant' }
  )
  t.strictSame(unlimited.calls, ['plan'], 'without a limit no store is asked')
})

// covers RL-30
t.test('allows a /48 network twenty times the limit of a /64, up to 10,000 and never less', async (t) => {
  for (const [max, ofNetwork] of [
    [1, 20],
    [10, 200],
    [500, 10_000],
    [501, 10_000],
    [10_000, 10_000],
    [20_000, 20_000]
  ] as const)
    t.equal(networkMax(max), ofNetwork)
})
