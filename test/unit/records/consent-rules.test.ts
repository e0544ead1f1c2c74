import type { Consent } from '../../../lib/ports/state.ts'
import { findConsent, grantConsent, listConsents, revokeConsent } from '../../../lib/records/consent-rules.ts'
import t from '../../support/tap.ts'
import { viewOf } from './support/view.ts'

const consent = (fields: Partial<Consent> = {}): Consent => ({
  userId: 'ann',
  clientId: 'app',
  scopes: ['read'],
  grantedAt: 10,
  expiresAt: 100,
  ...fields
})

t.test('adds the scopes of a later grant to a consent that has not expired', async (t) => {
  for (const [grantedAt, scopes] of [
    [99, ['read', 'write']],
    [100, ['write']]
  ] as const) {
    const view = viewOf()
    grantConsent(view, consent())
    const later = consent({ scopes: ['write', 'write'], grantedAt, expiresAt: 200 })
    grantConsent(view, later)
    t.strictSame(listConsents(view, 'ann', grantedAt), [{ ...later, scopes }])
  }
})

t.test('lists valid consents, newest first, and keeps the record until the last one expires', async (t) => {
  const view = viewOf()
  for (const [clientId, grantedAt, expiresAt] of [
    ['a', 10, 100],
    ['b', 30, 60],
    ['c', 20, 90],
    ['d', 20, 90]
  ] as const)
    grantConsent(view, consent({ clientId, grantedAt, expiresAt }))
  const listed = (now: number): string[] => listConsents(view, 'ann', now).map(({ clientId }) => clientId)
  t.strictSame(listed(59), ['b', 'd', 'c', 'a'])
  t.strictSame(listed(60), ['d', 'c', 'a'])
  t.strictSame(listed(100), [])
  t.match(view.records.get('c'), { kind: 'consents', userId: 'ann', expiresAt: 100 })
  t.strictSame(findConsent(view, 'ann', 'c', 89)?.expiresAt, 90)
  t.equal(findConsent(view, 'ann', 'c', 90), null)
  t.strictSame(listConsents(view, 'bob', 0), [], 'of another user')
})

t.test('revokes one consent, and removes the record with the last', async (t) => {
  const view = viewOf()
  grantConsent(view, consent({ clientId: 'a' }))
  grantConsent(view, consent({ clientId: 'b' }))
  for (const [user, client, answer, left] of [
    ['ann', 'none', false, 2],
    ['bob', 'a', false, 2],
    ['ann', 'a', true, 1],
    ['ann', 'a', false, 1],
    ['ann', 'b', true, 0]
  ] as const) {
    t.equal(revokeConsent(view, user, client), answer)
    t.equal(listConsents(view, 'ann', 50).length, left)
  }
  t.strictSame(view.kinds(), [])
})
