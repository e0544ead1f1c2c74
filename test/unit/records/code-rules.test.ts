import {
  createCode,
  createFamily,
  listFamiliesOfUser,
  redeemCode,
  rotateToken,
  useToken
} from '../../../lib/records/family-rules.ts'
import { createSession, findSession } from '../../../lib/records/session-rules.ts'
import { session, use as sessionUse } from '../../contract/suites/session-fixtures.ts'
import {
  code,
  family,
  MINUTE,
  named,
  next,
  redeemed,
  redemption,
  T0,
  use
} from '../../contract/suites/token-fixtures.ts'
import t from '../../support/tap.ts'
import { viewOf } from './support/view.ts'

const USER = 'user-19367'
const MAX = 3

t.test('redeems a code once, for its own client, before it expires', async (t) => {
  const rows: Array<[what: string, fields: Parameters<typeof redemption>[0], outcome: string, isLeft: boolean]> = [
    ['right', {}, 'redeemed', true],
    ['in its last millisecond', { now: T0 + MINUTE - 1 }, 'redeemed', true],
    ['at its end', { now: T0 + MINUTE }, 'unknown', true],
    ['of another client', { clientId: 'client-2' }, 'unknown', true],
    ['of another sid', { sid: named('sid-2') }, 'unknown', true],
    ['with another secret', { digest: 'other' }, 'replayed', false]
  ]
  for (const [what, fields, outcome, isLeft] of rows) {
    const view = viewOf()
    createCode(view, code(), undefined, MAX)
    t.equal(redeemCode(view, redemption(fields), MAX).outcome, outcome, what)
    t.equal(view.records.has(`f:${named('sid-1')}`), isLeft, what)
    if (outcome === 'redeemed') t.equal(redeemCode(view, redemption(fields), MAX).outcome, 'replayed', `${what}, again`)
  }
})

t.test('ends the family when a code is used a second time, even after a rotation', async (t) => {
  const view = viewOf()
  createCode(view, code(), undefined, MAX)
  redeemCode(view, redemption(), MAX)
  rotateToken(view, use({ now: T0 + 2000 }), next(1))
  t.equal(redeemCode(view, redemption({ now: T0 + 3000 }), MAX).outcome, 'replayed')
  t.strictSame(view.kinds(), [])
})

t.test('creates a family with the lifetime of its kind when a code is redeemed', async (t) => {
  for (const offline of [true, false]) {
    const view = viewOf()
    createCode(view, code({ offline }), undefined, MAX)
    t.strictSame(view.kinds()[0], [`f:${named('sid-1')}`, 'code'])
    t.strictSame(listFamiliesOfUser(view, USER, T0), [], 'a code is no family yet')
    t.equal(useToken(view, use({ digest: 'code-digest', now: T0 })).outcome, 'unknown', 'nor a token')
    t.strictSame(redeemCode(view, redemption(), MAX), {
      outcome: 'redeemed',
      family: redeemed(code({ offline }), redemption())
    })
    t.equal(listFamiliesOfUser(view, USER, T0 + 1000).length, 1)
  }
})

t.test('creates a code only if its session can be used at the same time', async (t) => {
  for (const [digest, isMade] of [
    ['digest-0', true],
    ['other', false]
  ] as const) {
    const view = viewOf()
    createSession(view, session(), 'digest-0', MAX)
    const made = createCode(view, code({ sid: named('code') }), sessionUse({ digest, clientId: 'client-2' }), MAX)
    t.equal(made, isMade)
    t.equal(view.records.has(`f:${named('code')}`), isMade)
    t.strictSame(
      findSession(view, named('sid-1'), 'digest-0', T0)?.clientIds,
      isMade ? ['client-1', 'client-2'] : ['client-1']
    )
  }
})

t.test('drops the oldest codes over the limit, but no family', async (t) => {
  const view = viewOf()
  createFamily(view, family({ sid: named('device') }), MAX)
  for (let index = 0; index < 5; index++)
    createCode(view, code({ sid: named(`code-${index}`), createdAt: T0 + index }), undefined, MAX)
  t.strictSame(
    view.kinds().map(([key]) => key),
    [...['code-2', 'code-3', 'code-4', 'device'].map((name) => `f:${named(name)}`), 'i']
  )
})
