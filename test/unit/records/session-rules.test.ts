import { MAX_SECRETS, REPLACED_SECRET_MS } from '../../../lib/ports/session-store.ts'
import {
  createSession,
  endSession,
  findSession,
  listSessionsOfUser,
  renewSession,
  revokeSessionsOfUser,
  useSession
} from '../../../lib/records/session-rules.ts'
import { createFamily } from '../../../lib/records/family-rules.ts'
import { NOW, renewal, renewed, session, staying, use } from '../../contract/suites/session-fixtures.ts'
import { family, MINUTE, named, T0 } from '../../contract/suites/token-fixtures.ts'
import t from '../../support/tap.ts'
import { type TestView, viewOf } from './support/view.ts'

const USER = 'user-19367'
const SID = named('sid-1')
const MAX = 3

function begun(): TestView {
  const view = viewOf()
  createSession(view, session(), 'digest-0', MAX)
  return view
}

t.test('finds a session by its secret until it expires', async (t) => {
  const view = begun()
  t.strictSame(view.kinds(), [
    ['i', 'index'],
    [`s:${SID}`, 'session']
  ])
  t.equal(view.records.get(`s:${SID}`)?.expiresAt, T0 + 30 * MINUTE)
  t.throws(() => createSession(view, session(), 'digest-9', MAX), TypeError)
  for (const [digest, now, isFound] of [
    ['digest-0', T0, true],
    ['digest-0', T0 + 30 * MINUTE - 1, true],
    ['digest-0', T0 + 30 * MINUTE, false],
    ['digest-9', T0, false]
  ] as const)
    t.strictSame(findSession(view, SID, digest, now), isFound ? session() : null)
})

t.test('extends the idle expiry on use up to the absolute one, and records the client once', async (t) => {
  const view = begun()
  for (const [idleExpiresAt, end] of [
    [T0 + 40 * MINUTE, T0 + 40 * MINUTE],
    [T0 + 90 * MINUTE, T0 + 60 * MINUTE]
  ] as const) {
    t.equal(useSession(view, use({ idleExpiresAt, clientId: 'client-2' })), true)
    t.match(findSession(view, SID, 'digest-0', NOW), {
      idleExpiresAt: end,
      lastUsedAt: NOW,
      clientIds: ['client-1', 'client-2']
    })
  }
  t.equal(useSession(view, use({ digest: 'digest-9' })), false)
  t.equal(useSession(view, use()), true)
  t.strictSame(findSession(view, SID, 'digest-0', NOW)?.clientIds, ['client-1', 'client-2'])
})

t.test('treats a session as ended from the earlier of its two expiries on', async (t) => {
  for (const [expiresAt, idleExpiresAt, now, isAlive] of [
    [100, 200, 99, true],
    [100, 200, 100, false],
    [200, 100, 99, true],
    [200, 100, 100, false]
  ] as const) {
    const view = viewOf()
    createSession(view, session({ expiresAt, idleExpiresAt, createdAt: 0 }), 'digest-0', MAX)
    const name = `ends ${expiresAt} and ${idleExpiresAt}, at ${now}`
    t.equal(findSession(view, SID, 'digest-0', now) !== null, isAlive, name)
    t.equal(listSessionsOfUser(view, USER, now).length, isAlive ? 1 : 0, name)
  }
})

t.test('ends every session in the index, even one whose record is gone', async (t) => {
  const view = begun()
  createFamily(view, family(), MAX)
  createSession(view, session({ sid: named('sid-2') }), 'digest-0', MAX)
  view.records.delete(`s:${SID}`)
  t.strictSame(
    revokeSessionsOfUser(view, USER, staying()).map(({ sid }) => sid),
    [named('sid-2')],
    'a session without a record does not stay'
  )
  t.strictSame(
    view.kinds().map(([key]) => key),
    [`f:${SID}`, 'i']
  )
  createSession(view, session(), 'digest-0', MAX)
  view.records.delete(`s:${SID}`)
  t.equal(endSession(view, USER, SID), null)
  t.equal(view.records.get('i')?.expiresAt, family().expiresAt)
  t.equal(JSON.stringify(view.get('i')).split(SID).length, 2, 'only the family of that name is in the index')
})

t.test('ends a session on renewal if a store that evicts has lost its index', async (t) => {
  const view = viewOf({ evicts: true })
  createSession(view, session(), 'digest-0', MAX)
  view.records.delete('i')
  t.equal(renewSession(view, renewal()), false)
  t.equal(findSession(view, SID, 'digest-0', NOW), null)
})

t.test('replaces the secret on renewal, and accepts the former one for a moment', async (t) => {
  const view = begun()
  t.equal(renewSession(view, renewal({ userId: 'bob' })), false)
  t.equal(renewSession(view, renewal({ formerDigest: 'digest-9' })), false)
  t.equal(renewSession(view, renewal()), true)
  t.equal(renewSession(view, renewal({ digest: 'digest-2' })), false, 'the former secret renews nothing')
  t.strictSame(findSession(view, SID, 'digest-1', NOW), renewed)
  const { authenticatedAt, methods } = session()
  t.strictSame(findSession(view, SID, 'digest-0', NOW + REPLACED_SECRET_MS - 1), {
    ...renewed,
    authenticatedAt,
    methods
  })
  t.equal(findSession(view, SID, 'digest-0', NOW + REPLACED_SECRET_MS), null)
  for (let index = 1; index <= MAX_SECRETS; index++)
    t.ok(renewSession(view, renewal({ formerDigest: `digest-${index}`, digest: `digest-${index + 1}` })))
  t.equal(findSession(view, SID, 'digest-1', NOW), null, 'only the newest secrets are kept')
  t.not(findSession(view, SID, 'digest-2', NOW), null)
})

t.test('ends one session, and only for its own user', async (t) => {
  const view = begun()
  t.throws(() => endSession(viewWith(view, 'bob'), USER, named('none')), /another user/)
  t.equal(endSession(view, 'bob', SID), null)
  t.equal(endSession(view, USER, named('none')), null)
  t.strictSame(endSession(view, USER, SID), session())
  t.strictSame(view.kinds(), [])
})

/** The same records, with the index of another user. */
function viewWith(view: TestView, userId: string): TestView {
  const other = viewOf()
  for (const [key, draft] of view.records)
    other.records.set(key, key === 'i' ? { ...draft, value: [userId, []] } : draft)
  return other
}

t.test('ends all sessions except the one to keep, and also that one if its secret is outdated', async (t) => {
  const rows: Array<[what: string, stays: Parameters<typeof revokeSessionsOfUser>[2], ended: string[], by: string[]]> =
    [
      ['none stays', undefined, ['sid-1', 'sid-2'], []],
      ['one stays', staying(), ['sid-2'], ['digest-1']],
      ['a repeat of the call', staying('sid-1', { formerDigest: 'x', digest: 'digest-0' }), ['sid-2'], ['digest-0']],
      ['one stays without a secret', staying('sid-1', null), ['sid-2'], []],
      ['a secret that is not live', staying('sid-1', { formerDigest: 'x', digest: 'y' }), ['sid-1', 'sid-2'], []],
      ['one that is not there', staying('sid-9'), ['sid-1', 'sid-2'], []]
    ]
  for (const [what, stays, ended, digests] of rows) {
    const view = begun()
    createSession(view, session({ sid: named('sid-2') }), 'digest-0', MAX)
    t.strictSame(
      revokeSessionsOfUser(view, USER, stays).map(({ sid }) => sid),
      ended.map((one) => named(one)),
      what
    )
    t.strictSame(
      ['digest-0', 'digest-1'].filter((digest) => findSession(view, SID, digest, NOW) !== null),
      digests,
      what
    )
    t.equal(listSessionsOfUser(view, USER, NOW).length, 2 - ended.length, what)
  }
})

t.test('keeps the newest sessions, and drops an ended one first', async (t) => {
  const view = viewOf()
  for (const [index, name] of ['a', 'b', 'd', 'c', 'e'].entries()) {
    const ends = name === 'b' ? { idleExpiresAt: T0 + 2 } : {}
    createSession(
      view,
      session({ sid: named(name), createdAt: T0 + (name === 'd' ? 3 : name === 'c' ? 2 : index), ...ends }),
      'digest',
      MAX
    )
  }
  t.strictSame(
    listSessionsOfUser(view, USER, T0 + 4).map(({ sid }) => sid),
    ['e', 'd', 'c'].map((one) => named(one))
  )
  t.strictSame(listSessionsOfUser(view, USER, T0 + 30 * MINUTE), [])
})
