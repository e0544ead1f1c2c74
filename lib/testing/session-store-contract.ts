import { deepEqual, equal, ok } from 'node:assert/strict'
import type { SessionStore } from '../ports/session-store.ts'
import { partitionOf } from '../protocol/partition.ts'
import { HOSTILE_STRINGS, caseOf, parallel } from './contract.ts'
import type { ContractCase } from './contract.ts'
import { NOW, live, renewal, renewed, session, sids, use } from './session-fixtures.ts'
import { MINUTE, T0, named } from './token-fixtures.ts'
import type { StateSubject } from './token-fixtures.ts'

/** Browser sessions: created, used, renewed. Part of `stateContract`. */
export function sessionStoreCases(make: () => Promise<StateSubject>): ContractCase[] {
  const cases: ContractCase[] = []
  const define = (name: string, check: (sessions: SessionStore) => Promise<void>): void => {
    cases.push(caseOf(make, `browserSessions: ${name}`, ({ state }) => check(state.browserSessions)))
  }

  define('a session is found by its sid and secret, as it was created', async (sessions) => {
    for (const created of [session(), session({ sid: named('sid-2'), userAgent: null, clientIds: [] })]) {
      await sessions.createSession(created, 'digest-0')
      deepEqual(await sessions.findSession(created.sid, 'digest-0', T0), created)
    }
    equal(await sessions.findSession(named('sid-3'), 'digest-0', T0), null)
  })

  define('another secret finds nothing and ends nothing', async (sessions) => {
    await sessions.createSession(session(), 'digest-0')
    await sessions.createSession(session({ sid: named('sid-2') }), 'digest-2')
    deepEqual(await live(sessions, ['digest-2', '', 'digest', '["digest-0"]', 'digest-0']), ['digest-0'])
  })

  define('a sid is taken', async (sessions) => {
    await sessions.createSession(session(), 'digest-0')
    equal(
      await sessions.createSession(session({ userId: 'user-104981' }), 'digest-1').then(
        () => 'created',
        () => 'refused'
      ),
      'refused'
    )
    deepEqual(await sessions.findSession(named('sid-1'), 'digest-0', T0), session())
    equal(await sessions.findSession(named('sid-1'), 'digest-1', T0), null)
  })

  define('a use moves lastUsedAt and idleExpiresAt, the latter not beyond expiresAt', async (sessions) => {
    await sessions.createSession(session(), 'digest-0')
    equal(await sessions.useSession(use()), true)
    deepEqual(
      await sessions.findSession(named('sid-1'), 'digest-0', NOW),
      session({ lastUsedAt: NOW, idleExpiresAt: T0 + 31 * MINUTE })
    )
    equal(await sessions.useSession(use({ idleExpiresAt: T0 + 61 * MINUTE })), true)
    equal((await sessions.findSession(named('sid-1'), 'digest-0', NOW))?.idleExpiresAt, T0 + 60 * MINUTE)
    equal(await sessions.useSession(use({ sid: named('sid-x') })), false)
  })

  define('clients are kept in the order they came, each once', async (sessions) => {
    await sessions.createSession(session({ clientIds: [] }), 'digest-0')
    for (const clientId of ['client-2', 'client-1', 'client-2', '__proto__'])
      await sessions.useSession(use({ clientId }))
    await sessions.useSession(use())
    deepEqual((await sessions.findSession(named('sid-1'), 'digest-0', NOW))?.clientIds, [
      'client-2',
      'client-1',
      '__proto__'
    ])
  })

  define('of 50 parallel uses by 50 clients none is lost', async (sessions) => {
    await sessions.createSession(session({ clientIds: [] }), 'digest-0')
    const clientIds = Array.from({ length: 50 }, (_, index) => `client-${index}`)
    ok((await parallel(50, (index) => sessions.useSession(use({ clientId: clientIds[index] ?? '' })))).every(Boolean))
    deepEqual((await sessions.findSession(named('sid-1'), 'digest-0', NOW))?.clientIds.toSorted(), clientIds.toSorted())
  })

  define('a renewal begins the lifetimes anew under a new secret, and the former is dead', async (sessions) => {
    await sessions.createSession(session(), 'digest-0')
    equal(await sessions.renewSession(renewal()), true)
    equal(await sessions.findSession(named('sid-1'), 'digest-0', NOW), null)
    deepEqual(await sessions.findSession(named('sid-1'), 'digest-1', NOW), renewed)
    for (let index = 1; index < 10; index++)
      equal(
        await sessions.renewSession(renewal({ formerDigest: `digest-${index}`, digest: `digest-${index + 1}` })),
        true
      )
    deepEqual(
      await live(
        sessions,
        Array.from({ length: 11 }, (_, index) => `digest-${index}`)
      ),
      ['digest-10']
    )
  })

  define('of two parallel renewals both new secrets work, and the former does not', async (sessions) => {
    await sessions.createSession(session(), 'digest-0')
    deepEqual(await parallel(2, (index) => sessions.renewSession(renewal({ digest: `digest-${index + 1}` }))), [
      true,
      true
    ])
    deepEqual(await live(sessions, ['digest-0', 'digest-1', 'digest-2']), ['digest-1', 'digest-2'])
  })

  define('of 50 parallel renewals four new secrets work', async (sessions) => {
    await sessions.createSession(session(), 'digest-0')
    ok(
      (await parallel(50, (index) => sessions.renewSession(renewal({ digest: `digest-${index + 1}` })))).every(Boolean)
    )
    const works = await live(
      sessions,
      Array.from({ length: 51 }, (_, index) => `digest-${index}`)
    )
    equal(works.length, 4)
    ok(!works.includes('digest-0'))
  })

  define('with four secrets, one more ends the oldest', async (sessions) => {
    await sessions.createSession(session(), 'digest-0')
    for (const index of [1, 2, 3, 4, 5]) await sessions.renewSession(renewal({ digest: `digest-${index}` }))
    deepEqual(await live(sessions, ['digest-0', 'digest-1', 'digest-2', 'digest-3', 'digest-4', 'digest-5']), [
      'digest-2',
      'digest-3',
      'digest-4',
      'digest-5'
    ])
    await sessions.renewSession(renewal({ formerDigest: 'digest-5', digest: 'digest-6' }))
    deepEqual(await live(sessions, ['digest-2', 'digest-3', 'digest-4', 'digest-5', 'digest-6']), [
      'digest-2',
      'digest-3',
      'digest-4',
      'digest-6'
    ])
  })

  define("another user's session is not renewed", async (sessions) => {
    await sessions.createSession(session(), 'digest-0')
    equal(await sessions.renewSession(renewal({ userId: 'user-104981' })), false)
    equal(await sessions.renewSession(renewal({ sid: named('sid-x') })), false)
    deepEqual(await sessions.findSession(named('sid-1'), 'digest-0', NOW), session())
    equal(await sessions.findSession(named('sid-1'), 'digest-1', NOW), null)
  })

  define('sessions handed out are copies', async (sessions) => {
    const given = session()
    await sessions.createSession(given, 'digest-0')
    given.clientIds.push('changed')
    given.userId = 'changed'
    for (const copy of [
      await sessions.findSession(named('sid-1'), 'digest-0', T0),
      ...(await sessions.listSessionsOfUser('user-19367', T0))
    ]) {
      ok(copy)
      copy.expiresAt = 0
      copy.clientIds.push('changed')
    }
    deepEqual(await sessions.findSession(named('sid-1'), 'digest-0', T0), session())
  })

  for (const [label, value] of HOSTILE_STRINGS) {
    define(`strings are kept as they are: ${label}`, async (sessions) => {
      const sid = partitionOf(value) + value
      equal(await sessions.findSession(sid, value, NOW), null)
      const created = session({ sid, userId: value, userAgent: value, clientIds: [value] })
      await sessions.createSession(created, value)
      deepEqual(await sessions.findSession(sid, value, NOW), created)
      equal(
        await sessions.renewSession(renewal({ sid, userId: value, formerDigest: value, digest: `${value} 2` })),
        true
      )
      equal(await sessions.findSession(sid, value, NOW), null)
      equal(await sessions.useSession(use({ sid, clientId: `${value} 2` })), true)
      deepEqual(
        (await sessions.listSessionsOfUser(value, NOW)).map((listed) => [listed.sid, listed.clientIds]),
        [[sid, [value, `${value} 2`]]]
      )
      ok(await sessions.findSession(sid, `${value} 2`, NOW))
      deepEqual(sids(await sessions.revokeSessionsOfUser(value, 'another')), [sid])
    })
  }

  return cases
}
