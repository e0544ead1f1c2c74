import { deepEqual, equal, ok } from 'node:assert/strict'
import type { SessionStore } from '../../../lib/ports/session-store.ts'
import { caseOf, parallel } from '../../../lib/testing/contract.ts'
import type { ContractCase } from '../../../lib/testing/contract.ts'
import { NOW, live, renewal, renewed, session, sids, staying, use } from './session-fixtures.ts'
import { MINUTE, T0, named, timeAt } from './token-fixtures.ts'
import type { StateSubject } from './token-fixtures.ts'

/** How browser sessions end: expired, revoked, swept. Part of `stateContract`. */
export function sessionLifetimeCases(make: () => Promise<StateSubject>): ContractCase[] {
  const cases: ContractCase[] = []
  const define = (name: string, check: (sessions: SessionStore, subject: StateSubject) => Promise<void>): void => {
    cases.push(caseOf(make, `browserSessions: ${name}`, (subject) => check(subject.state.browserSessions, subject)))
  }

  for (const [what, ends] of [
    ['idleExpiresAt', 30 * MINUTE],
    ['expiresAt', 20 * MINUTE]
  ] as const) {
    for (const offset of [-1, 0, 1]) {
      define(`${offset < 0 ? 'finds' : 'does not find'} a session ${timeAt(offset, what)}`, async (sessions) => {
        const now = T0 + ends + offset
        const isAlive = offset < 0
        const fields = what === 'expiresAt' ? { expiresAt: T0 + ends } : {}
        for (const sid of [named('sid-1'), named('sid-2'), named('sid-3')])
          await sessions.createSession(session({ sid, ...fields }), 'digest-0')
        equal((await sessions.listSessionsOfUser('user-19367', now)).length, isAlive ? 3 : 0)
        equal((await sessions.findSession(named('sid-1'), 'digest-0', now)) !== null, isAlive)
        equal(await sessions.useSession(use({ sid: named('sid-2'), now, idleExpiresAt: now + MINUTE })), isAlive)
        equal(
          await sessions.renewSession(
            renewal({ sid: named('sid-3'), now, expiresAt: now + MINUTE, idleExpiresAt: now + MINUTE })
          ),
          isAlive
        )
        equal((await sessions.listSessionsOfUser('user-19367', now)).length, isAlive ? 3 : 0, 'nothing revives it')
      })
    }
  }

  define('revokeSession returns the ended session, of that user only', async (sessions, { state: { tokens } }) => {
    await sessions.createSession(session(), 'digest-0')
    await sessions.useSession(use({ clientId: 'client-2' }))
    const nothing = { session: null, sids: [] }
    deepEqual(await tokens.revokeSession('user-19367', named('sid-x')), nothing)
    deepEqual(await tokens.revokeSession('user-104981', named('sid-1')), nothing)
    deepEqual(await tokens.revokeSession('user-19367', named('sid-1')), {
      session: session({ lastUsedAt: NOW, idleExpiresAt: T0 + 31 * MINUTE, clientIds: ['client-1', 'client-2'] }),
      sids: []
    })
    deepEqual(await tokens.revokeSession('user-19367', named('sid-1')), nothing)
    equal(await sessions.findSession(named('sid-1'), 'digest-0', NOW), null)
    equal(await sessions.useSession(use()), false)
    equal(await sessions.renewSession(renewal()), false)
    deepEqual(await sessions.listSessionsOfUser('user-19367', NOW), [])
  })

  define('returns the session from one of 50 parallel revocations', async (sessions, { state: { tokens } }) => {
    await sessions.createSession(session(), 'digest-0')
    equal(
      (await parallel(50, () => tokens.revokeSession('user-19367', named('sid-1')))).filter(
        (ended) => ended.session !== null
      ).length,
      1
    )
  })

  define('ends a session when its revocation races a renewal or a use', async (sessions, { state: { tokens } }) => {
    for (let turn = 0; turn < 12; turn++) {
      await sessions.createSession(session(), 'digest-0')
      const calls: Array<() => Promise<unknown>> = [
        () => sessions.renewSession(renewal()),
        () =>
          turn % 2 === 0
            ? tokens.revokeSession('user-19367', named('sid-1'))
            : sessions.revokeSessionsOfUser('user-19367'),
        () => sessions.useSession(use())
      ]
      await Promise.all([...calls.slice(turn % 3), ...calls.slice(0, turn % 3)].map(async (call) => await call()))
      deepEqual(await live(sessions, ['digest-0', 'digest-1']), [])
      deepEqual(await sessions.listSessionsOfUser('user-19367', NOW), [])
    }
  })

  define('revokeSessionsOfUser ends all sessions of the user except one, and returns them', async (sessions) => {
    for (const sid of [named('sid-1'), named('sid-2'), named('sid-3')])
      await sessions.createSession(session({ sid }), 'digest-0')
    await sessions.createSession(session({ sid: named('sid-4', 'user-104981'), userId: 'user-104981' }), 'digest-0')
    const ended = await sessions.revokeSessionsOfUser('user-19367', staying('sid-2'))
    deepEqual(
      ended.toSorted((a, b) => (a.sid < b.sid ? -1 : 1)),
      [session(), session({ sid: named('sid-3') })]
    )
    deepEqual(sids(await sessions.listSessionsOfUser('user-19367', NOW)), [named('sid-2')])
    equal(await sessions.findSession(named('sid-1'), 'digest-0', NOW), null)
    equal(await sessions.findSession(named('sid-2'), 'digest-0', NOW), null, 'the secret that it had')
    deepEqual(await sessions.findSession(named('sid-2'), 'digest-1', NOW), session({ sid: named('sid-2') }))
    deepEqual(
      sids(await sessions.revokeSessionsOfUser('user-19367', staying('sid-4'))),
      [named('sid-2')],
      'the exception of another user keeps nothing of this one'
    )
    deepEqual(await sessions.revokeSessionsOfUser('user-19367'), [])
    ok(await sessions.findSession(named('sid-4', 'user-104981'), 'digest-0', NOW))
  })

  define(
    'revokeSessionsOfUser keeps the excepted session with its proofs, under the new secret only',
    async (sessions) => {
      await sessions.createSession(session(), 'digest-a')
      await sessions.renewSession(renewal({ formerDigest: 'digest-a', digest: 'digest-0' }))
      for (const turn of ['once', 'again', 'for a third time']) {
        deepEqual(await sessions.revokeSessionsOfUser('user-19367', staying()), [], turn)
        deepEqual(await live(sessions, ['digest-a', 'digest-0', 'digest-1']), ['digest-1'], turn)
        deepEqual(await sessions.findSession(named('sid-1'), 'digest-1', NOW), renewed, turn)
        equal(await sessions.useSession(use()), false, turn)
      }
      equal(await sessions.renewSession(renewal({ formerDigest: 'digest-0', digest: 'digest-2' })), false)
      equal(await sessions.renewSession(renewal({ formerDigest: 'digest-1', digest: 'digest-2' })), true)
    }
  )

  define(
    'revokeSessionsOfUser ends the excepted session too if its former secret is outdated or wrong',
    async (sessions) => {
      for (const formerDigest of ['digest-0', 'none']) {
        await sessions.createSession(session(), 'digest-0')
        await sessions.renewSession(renewal())
        const stays = staying('sid-1', { formerDigest, digest: 'digest-2' })
        deepEqual(await sessions.revokeSessionsOfUser('user-19367', stays), [renewed])
        deepEqual(await live(sessions, ['digest-0', 'digest-1', 'digest-2']), [])
      }
    }
  )

  define('lists a session that is kept without a secret, and accepts no secret for it', async (sessions, { state }) => {
    await sessions.createSession(session(), 'digest-0')
    await sessions.renewSession(renewal())
    deepEqual(await sessions.revokeSessionsOfUser('user-19367', staying('sid-1', null)), [])
    deepEqual(await live(sessions, ['digest-0', 'digest-1']), [])
    for (const digest of ['digest-0', 'digest-1']) {
      equal(await sessions.useSession(use({ digest })), false)
      equal(await sessions.renewSession(renewal({ formerDigest: digest, digest: 'digest-2' })), false)
    }
    deepEqual(await sessions.listSessionsOfUser('user-19367', NOW), [renewed])
    deepEqual((await state.tokens.revokeSession('user-19367', named('sid-1'))).session, renewed)
  })

  define('lists the sessions of one user, newest first', async (sessions) => {
    for (const [sid, age] of [
      [named('sid-1'), 2],
      [named('sid-2'), 0],
      [named('sid-3'), 3],
      [named('sid-4'), 1]
    ] as const) {
      await sessions.createSession(session({ sid, createdAt: T0 - age }), 'digest-0')
    }
    await sessions.createSession(session({ sid: named('sid-5', 'user-104981'), userId: 'user-104981' }), 'digest-0')
    await sessions.useSession(use({ sid: named('sid-3') }))
    await sessions.renewSession(renewal())
    deepEqual(sids(await sessions.listSessionsOfUser('user-19367', NOW)), [
      named('sid-2'),
      named('sid-4'),
      named('sid-1'),
      named('sid-3')
    ])
    deepEqual(await sessions.listSessionsOfUser('user-646148', NOW), [])
  })

  define('sweeps expired sessions, and keeps live ones', async (sessions, { state, expiresByItself }) => {
    await sessions.createSession(session(), 'digest-0')
    await sessions.createSession(session({ sid: named('sid-2'), idleExpiresAt: NOW }), 'digest-0')
    await sessions.createSession(session({ sid: named('sid-3'), expiresAt: NOW }), 'digest-0')
    await state.sweep(NOW)
    deepEqual(sids(await sessions.listSessionsOfUser('user-19367', expiresByItself ? NOW : T0)), [named('sid-1')])
  })

  return cases
}
