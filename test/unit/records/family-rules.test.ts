import type { RefreshTokenFamily } from '../../../lib/ports/token-store.ts'
import { aliveFamily, storedFamily } from '../../../lib/records/family-record.ts'
import {
  createFamily,
  listFamiliesOfUser,
  peekToken,
  revokeFamiliesOfClient,
  revokeFamiliesOfUser,
  revokeFamily,
  revokeSession,
  rotateToken,
  undoRotation,
  useToken
} from '../../../lib/records/family-rules.ts'
import { createSession } from '../../../lib/records/session-rules.ts'
import { session } from '../../contract/suites/session-fixtures.ts'
import { family, GRACE, MINUTE, named, next, publicPart, T0, use } from '../../contract/suites/token-fixtures.ts'
import t from '../../support/tap.ts'
import { type TestView, viewOf } from './support/view.ts'

const USER = 'user-19367'
const SID = named('sid-1')
const MAX = 3

/** A family whose token `digest-0` was replaced by `digest-1` at `T0 + MINUTE`. */
function rotatedOnce(): TestView {
  const view = viewOf()
  createFamily(view, family(), MAX)
  rotateToken(view, use(), next(1))
  return view
}

t.test('creates a family with its index entry, and rejects a sid that is in use', async (t) => {
  const view = viewOf()
  createFamily(view, family(), MAX)
  t.strictSame(view.kinds(), [
    [`f:${SID}`, 'family'],
    ['i', 'index']
  ])
  t.equal(view.records.get(`f:${SID}`)?.expiresAt, T0 + 30 * MINUTE, 'the idle end comes first')
  t.equal(view.records.get('i')?.expiresAt, T0 + 60 * MINUTE)
  t.throws(() => createFamily(view, family({ createdAt: T0 + 1 }), MAX), TypeError)
})

t.test('judges a presented token as current, replaced or replayed by its digest and its time', async (t) => {
  const ROTATED = T0 + MINUTE
  const rows: Array<[digest: string, now: number, graceMs: number, rotates: string, uses: string, peeks: boolean]> = [
    ['digest-1', ROTATED, GRACE, 'rotated', 'used', true],
    ['digest-0', ROTATED, GRACE, 'repeated', 'used', true],
    ['digest-0', ROTATED + GRACE, GRACE, 'repeated', 'used', true],
    ['digest-0', ROTATED + GRACE + 1, GRACE, 'replayed', 'replayed', false],
    ['digest-0', ROTATED, 0, 'replayed', 'replayed', false],
    ['digest-9', ROTATED, GRACE, 'replayed', 'replayed', false],
    ['digest-1', T0 + 31 * MINUTE - 1, GRACE, 'rotated', 'used', true],
    ['digest-1', T0 + 31 * MINUTE, GRACE, 'unknown', 'unknown', false]
  ]
  for (const [digest, now, graceMs, rotates, uses, peeks] of rows) {
    const call = use({ digest, now, graceMs, idleExpiresAt: T0 + 90 * MINUTE })
    const name = `${digest}, ${now - ROTATED} ms after the rotation, grace ${graceMs}`
    const [rotated, used] = [rotatedOnce(), rotatedOnce()]
    t.equal(peekToken(rotated, call) !== null, peeks, name)
    t.equal(rotateToken(rotated, call, next(2)).outcome, rotates, name)
    t.equal(useToken(used, call).outcome, uses, name)
    for (const view of [rotated, used])
      if (rotates === 'replayed') t.strictSame(view.kinds(), [], `${name}: nothing is left`)
    if (rotates === 'rotated')
      t.match(aliveFamily(rotated, SID, now), {
        currentDigest: 'digest-2',
        previous: { digest: 'digest-1', rotatedAt: now, sealed: 'sealed-2' },
        holders: 1,
        family: { lastUsedAt: now, idleExpiresAt: T0 + 60 * MINUTE }
      })
  }
})

t.test('treats a family as ended from the earlier of its two expiries on', async (t) => {
  for (const [expiresAt, idleExpiresAt, now, isAlive] of [
    [100, 200, 99, true],
    [100, 200, 100, false],
    [200, 100, 99, true],
    [200, 100, 100, false]
  ] as const) {
    const view = viewOf()
    createFamily(view, family({ expiresAt, idleExpiresAt, createdAt: 0 }), MAX)
    const name = `ends ${expiresAt} and ${idleExpiresAt}, at ${now}`
    t.equal(aliveFamily(view, SID, now) !== null, isAlive, name)
    t.equal(listFamiliesOfUser(view, USER, now).length, isAlive ? 1 : 0, name)
  }
})

t.test('lets only the client of a family use the family', async (t) => {
  for (const [clientId, outcome] of [
    [undefined, 'used'],
    ['client-1', 'used'],
    ['client-2', 'unknown'],
    [null, 'unknown']
  ] as const) {
    const view = rotatedOnce()
    const call = use({ digest: 'digest-1', ...(clientId === undefined ? {} : { clientId }) })
    t.equal(useToken(view, call).outcome, outcome)
    t.equal(rotateToken(view, call, next(2)).outcome, outcome === 'used' ? 'rotated' : 'unknown')
  }
})

t.test('undoes a rotation only when every holder has given the token back', async (t) => {
  const view = viewOf()
  createFamily(view, family(), MAX)
  const rotated = rotateToken(view, use(), next(1))
  const repeated = rotateToken(view, use(), next(9))
  if (rotated.outcome !== 'rotated' || repeated.outcome !== 'repeated') throw new Error('rotated and repeated')
  t.equal(repeated.sealed, 'sealed-1')
  t.equal(storedFamily(view, SID)?.holders, 2)
  undoRotation(view, rotated.undo)
  t.match(storedFamily(view, SID), { currentDigest: 'digest-1', holders: 1 })
  undoRotation(view, { ...repeated.undo, digest: 'digest-9' })
  t.match(storedFamily(view, SID), { currentDigest: 'digest-1', holders: 1 }, 'the undo of another rotation')
  undoRotation(view, repeated.undo)
  t.match(storedFamily(view, SID), { currentDigest: 'digest-0', previous: null, holders: 0 })
})

t.test('does not undo the creation of a family, or a rotation whose token was rotated since', async (t) => {
  const created = viewOf()
  createFamily(created, family(), MAX)
  undoRotation(created, { sid: SID, digest: 'digest-0', replacedDigest: 'none', former: null })
  t.match(storedFamily(created, SID), { currentDigest: 'digest-0', holders: 0 }, 'the first token')

  const view = rotatedOnce()
  const second = rotateToken(view, use({ digest: 'digest-1' }), next(2))
  if (second.outcome !== 'rotated') throw new Error(second.outcome)
  undoRotation(view, second.undo)
  t.match(storedFamily(view, SID), { currentDigest: 'digest-1', previous: { digest: 'digest-0' }, holders: 0 })
  const repeated = rotateToken(view, use(), next(9))
  if (repeated.outcome !== 'repeated') throw new Error(repeated.outcome)
  undoRotation(view, repeated.undo)
  t.match(storedFamily(view, SID), { currentDigest: 'digest-1' }, 'a token whose successor was taken back')
})

t.test('revokes the families that a call names, and no others', async (t) => {
  const all: Array<[name: string, fields: Partial<RefreshTokenFamily>]> = [
    ['online', { sessionSid: named('session'), offline: false }],
    ['offline', { sessionSid: named('session') }],
    ['device', { clientId: 'client-2' }]
  ]
  const rows: Array<[what: string, end: (view: TestView) => unknown, answer: unknown, left: string[]]> = [
    ['one', (view) => revokeFamily(view, named('device')), true, ['offline', 'online']],
    ['one of the user', (view) => revokeFamily(view, named('device'), USER), true, ['offline', 'online']],
    ['one of another', (view) => revokeFamily(view, named('device'), 'bob'), false, ['device', 'offline', 'online']],
    ['none', (view) => revokeFamily(view, named('none')), false, ['device', 'offline', 'online']],
    ['all', (view) => revokeFamiliesOfUser(view, USER), ['online', 'offline', 'device'].map((one) => named(one)), []],
    [
      'all but one',
      (view) => revokeFamiliesOfUser(view, USER, named('device')),
      ['online', 'offline'].map((one) => named(one)),
      ['device']
    ],
    [
      'those of a client',
      (view) => revokeFamiliesOfClient(view, USER, 'client-2'),
      [named('device')],
      ['offline', 'online']
    ],
    ['a session', (view) => revokeSession(view, USER, named('session')).sids, [named('online')], ['device', 'offline']],
    [
      'a session, with the offline families of a client',
      (view) => revokeSession(view, USER, named('session'), 'client-1').sids,
      ['online', 'offline'].map((one) => named(one)),
      ['device']
    ]
  ]
  for (const [what, end, answer, left] of rows) {
    const view = viewOf()
    for (const [name, fields] of all) createFamily(view, family({ sid: named(name), ...fields }), MAX)
    createSession(view, session({ sid: named('session') }), 'digest', MAX)
    t.strictSame(end(view), answer, what)
    t.strictSame(
      listFamiliesOfUser(view, USER, T0)
        .map(({ sid }) => sid)
        .sort(),
      left.map((one) => named(one)),
      what
    )
    t.equal(view.records.has(`s:${named('session')}`), !what.startsWith('a session'), what)
  }
})

t.test('keeps the newest families of each kind, and drops an ended one first', async (t) => {
  const view = viewOf()
  const make = (name: string, fields: Partial<RefreshTokenFamily> = {}): void =>
    createFamily(view, family({ sid: named(name), ...fields }), MAX)
  make('online', { offline: false })
  make('a')
  make('b', { createdAt: T0 + 2, idleExpiresAt: T0 + 3 })
  make('d', { createdAt: T0 + 3 })
  make('c', { createdAt: T0 + 1 })
  make('e', { createdAt: T0 + 4 })
  t.strictSame(
    listFamiliesOfUser(view, USER, T0 + 4).map(({ sid }) => sid),
    ['e', 'd', 'c', 'online'].map((one) => named(one))
  )
  t.strictSame(listFamiliesOfUser(view, USER, T0 + 30 * MINUTE), [])
})

t.test('accepts a family in a store that evicts only if the index lists the family', async (t) => {
  for (const lost of ['i', 'g']) {
    const view = viewOf({ evicts: true })
    createFamily(view, family(), MAX)
    t.strictSame(listFamiliesOfUser(view, USER, T0), [publicPart(family())])
    view.records.delete(lost)
    createFamily(view, family({ sid: named('other') }), MAX)
    t.equal(aliveFamily(view, SID, T0), null, `${lost} was lost`)
    t.strictSame(
      listFamiliesOfUser(view, USER, T0).map(({ sid }) => sid),
      [named('other')]
    )
  }
})
