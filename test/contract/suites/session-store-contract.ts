import { deepEqual, equal, ok } from 'node:assert/strict'
import { REPLACED_SECRET_MS, type SessionStore } from '../../../lib/ports/session-store.ts'
import { partitionOf } from '../../../lib/protocol/digest.ts'
import { HOSTILE_STRINGS, caseOf, parallel } from '../../../lib/testing/contract.ts'
import type { ContractCase } from '../../../lib/testing/contract.ts'
import { NOW, live, renewal, renewed, session, sids, use } from './session-fixtures.ts'
import { MINUTE, T0, named } from './token-fixtures.ts'
import type { StateSubject } from './token-fixtures.ts'

/** Browser sessions: created, used, renewed. Part of `stateContract`. */
export function sessionStoreCases(make: () => Promise<StateSubject>): ContractCase[] {
  const cases: ContractCase[] = []
  const define = (name: string, check: (sessions: SessionStore) => Promise<void>): void => {
    cases.push(caseOf(make, `browserSessions: ${name}`, ({ state }) => check(state.browserSessions)))
  }

  define('finds a session by its sid and secret, as created', async (sessions) => {
    for (const created of [session(), session({ sid: named('sid-2'), userAgent: null, clientIds: [] })]) {
      await sessions.createSession(created, 'digest-0')
      deepEqual(await sessions.findSession(created.sid, 'digest-0', T0), created)
    }
    equal(await sessions.findSession(named('sid-3'), 'digest-0', T0), null)
  })

  define('finds no session by a wrong secret, and does not end it', async (sessions) => {
    await sessions.createSession(session(), 'digest-0')
    await sessions.createSession(session({ sid: named('sid-2') }), 'digest-2')
    deepEqual(await live(sessions, ['digest-2', '', 'digest', '["digest-0"]', 'digest-0']), ['digest-0'])
  })

  define('refuses a second session with the same sid', async (sessions) => {
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

  define('moves lastUsedAt and idleExpiresAt on use, but not beyond expiresAt', async (sessions) => {
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

  define('keeps clients in their order, each once', async (sessions) => {
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

  define('keeps all clients of 50 parallel uses', async (sessions) => {
    await sessions.createSession(session({ clientIds: [] }), 'digest-0')
    const clientIds = Array.from({ length: 50 }, (_, index) => `client-${index}`)
    ok((await parallel(50, (index) => sessions.useSession(use({ clientId: clientIds[index] ?? '' })))).every(Boolean))
    deepEqual((await sessions.findSession(named('sid-1'), 'digest-0', NOW))?.clientIds.toSorted(), clientIds.toSorted())
  })

  define('replaces the secret, the proofs and the lifetimes of a session on renewal', async (sessions) => {
    await sessions.createSession(session(), 'digest-0')
    equal(await sessions.renewSession(renewal()), true)
    deepEqual(await sessions.findSession(named('sid-1'), 'digest-1', NOW), renewed)
    deepEqual(await sessions.listSessionsOfUser('user-19367', NOW), [renewed])
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
      ['digest-7', 'digest-8', 'digest-9', 'digest-10'],
      'four secrets are kept'
    )
  })

  for (const after of [-1, 0, 1]) {
    const works = after < 0
    define(
      `${works ? 'accepts' : 'rejects'} the replaced secret ${REPLACED_SECRET_MS + after} ms after a renewal`,
      async (sessions) => {
        await sessions.createSession(session(), 'digest-0')
        await sessions.renewSession(renewal())
        const now = NOW + REPLACED_SECRET_MS + after
        const { authenticatedAt, methods } = session()
        deepEqual(
          await sessions.findSession(named('sid-1'), 'digest-0', now),
          works ? { ...renewed, authenticatedAt, methods } : null
        )
        equal(await sessions.useSession(use({ now })), works)
        deepEqual(await live(sessions, ['digest-1'], now), ['digest-1'])
      }
    )
  }

  define('renews no session by a replaced or unknown secret', async (sessions) => {
    await sessions.createSession(session(), 'digest-0')
    await sessions.renewSession(renewal())
    for (const formerDigest of ['digest-0', 'none', '', 'digest-2'])
      equal(await sessions.renewSession(renewal({ formerDigest, digest: 'digest-2' })), false, formerDigest)
    const long = { now: NOW + MINUTE, expiresAt: T0 + 61 * MINUTE, idleExpiresAt: T0 + 31 * MINUTE }
    equal(await sessions.renewSession(renewal({ ...long, digest: 'digest-2' })), false)
    deepEqual(await sessions.findSession(named('sid-1'), 'digest-1', NOW), renewed)
    equal(await sessions.findSession(named('sid-1'), 'digest-2', NOW), null)
    equal(await sessions.useSession(use({ digest: 'digest-2' })), false)
  })

  for (const count of [2, 50]) {
    define(`renews a session once in ${count} parallel renewals of the same secret`, async (sessions) => {
      await sessions.createSession(session(), 'digest-0')
      const done = await parallel(count, (index) => sessions.renewSession(renewal({ digest: `digest-${index + 1}` })))
      equal(done.filter(Boolean).length, 1)
      deepEqual(
        await live(
          sessions,
          Array.from({ length: count + 1 }, (_, index) => `digest-${index}`)
        ),
        ['digest-0', `digest-${done.indexOf(true) + 1}`]
      )
    })
  }

  define('does not renew the session of another user', async (sessions) => {
    await sessions.createSession(session(), 'digest-0')
    equal(await sessions.renewSession(renewal({ userId: 'user-104981' })), false)
    equal(await sessions.renewSession(renewal({ sid: named('sid-x') })), false)
    deepEqual(await sessions.findSession(named('sid-1'), 'digest-0', NOW), session())
    equal(await sessions.findSession(named('sid-1'), 'digest-1', NOW), null)
  })

  define('returns copies of sessions', async (sessions) => {
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
    define(`keeps strings unchanged: ${label}`, async (sessions) => {
      const sid = partitionOf(value) + value
      equal(await sessions.findSession(sid, value, NOW), null)
      const created = session({ sid, userId: value, userAgent: value, clientIds: [value] })
      await sessions.createSession(created, value)
      deepEqual(await sessions.findSession(sid, value, NOW), created)
      equal(
        await sessions.renewSession(renewal({ sid, userId: value, formerDigest: value, digest: `${value} 2` })),
        true
      )
      equal(await sessions.findSession(sid, value, NOW + REPLACED_SECRET_MS), null)
      equal(await sessions.useSession(use({ sid, digest: `${value} 2`, clientId: `${value} 2` })), true)
      deepEqual(
        (await sessions.listSessionsOfUser(value, NOW)).map((listed) => [listed.sid, listed.clientIds]),
        [[sid, [value, `${value} 2`]]]
      )
      ok(await sessions.findSession(sid, `${value} 2`, NOW))
      deepEqual(sids(await sessions.revokeSessionsOfUser(value, { sid: 'another', secret: null })), [sid])
    })
  }

  return cases
}
