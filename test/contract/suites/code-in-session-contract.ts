import { deepEqual, equal, ok, rejects } from 'node:assert/strict'
import { REPLACED_SECRET_MS } from '../../../lib/ports/session-store.ts'
import type { State } from '../../../lib/ports/state.ts'
import { caseOf, parallel } from '../../../lib/testing/contract.ts'
import type { ContractCase } from '../../../lib/testing/contract.ts'
import { renewal, session, use } from './session-fixtures.ts'
import { code, MINUTE, redemption, T0, named } from './token-fixtures.ts'
import type { StateSubject } from './token-fixtures.ts'

const NOW = T0 + MINUTE
/** A code of the session named(`sid-1`). */
const ofSession = (fields: Partial<Parameters<typeof code>[0]> = {}): ReturnType<typeof code> =>
  code({ sid: named('sid-code'), sessionSid: named('sid-1'), codeExpiresAt: T0 + 2 * MINUTE, ...fields })

/** Authorization codes that are made with a use of their browser session. Part of `stateContract`. */
export function codeInSessionCases(make: () => Promise<StateSubject>): ContractCase[] {
  const cases: ContractCase[] = []
  const define = (name: string, check: (state: State) => Promise<void>): void => {
    cases.push(caseOf(make, `codes of a session: ${name}`, ({ state }) => check(state)))
  }
  const outcomeOf = async ({ tokens }: State, sid = named('sid-code')): Promise<string> =>
    (await tokens.redeemCode(redemption({ sid, now: NOW }))).outcome

  define('creates a code, and records the use of its session', async (state) => {
    const { tokens, browserSessions } = state
    await browserSessions.createSession(session(), 'digest-0')
    await browserSessions.createSession(session({ sid: named('sid-2') }), 'digest-0')
    equal(await tokens.createCode(ofSession(), use({ clientId: 'client-2' })), true)
    equal(await tokens.createCode(ofSession({ sid: named('sid-code-2') }), use({ clientId: 'client-2' })), true)
    deepEqual(
      await browserSessions.findSession(named('sid-1'), 'digest-0', NOW),
      session({ lastUsedAt: NOW, idleExpiresAt: T0 + 31 * MINUTE, clientIds: ['client-1', 'client-2'] })
    )
    deepEqual(
      await browserSessions.findSession(named('sid-2'), 'digest-0', NOW),
      session({ sid: named('sid-2') }),
      'no other is'
    )
    equal(await outcomeOf(state), 'redeemed')
    equal(await outcomeOf(state, named('sid-code-2')), 'redeemed')
  })

  define(
    'adds no client when none is given, and extends no session beyond its end',
    async ({ tokens, browserSessions }) => {
      await browserSessions.createSession(session(), 'digest-0')
      equal(await tokens.createCode(ofSession(), use({ idleExpiresAt: T0 + 90 * MINUTE })), true)
      deepEqual(
        await browserSessions.findSession(named('sid-1'), 'digest-0', NOW),
        session({ lastUsedAt: NOW, idleExpiresAt: T0 + 60 * MINUTE })
      )
    }
  )

  for (const [what, end] of Object.entries<(state: State) => Promise<unknown>>({
    'was never there': async () => {},
    'was ended': async ({ browserSessions, tokens }) => {
      await browserSessions.createSession(session(), 'digest-0')
      await tokens.revokeSession('user-19367', named('sid-1'))
    },
    'has expired': async ({ browserSessions }) => {
      await browserSessions.createSession(session({ expiresAt: NOW }), 'digest-0')
    },
    'was idle for too long': async ({ browserSessions }) => {
      await browserSessions.createSession(session({ idleExpiresAt: NOW }), 'digest-0')
    }
  })) {
    define(`creates no code when the session ${what}`, async (state) => {
      await end(state)
      equal(await state.tokens.createCode(ofSession(), use({ clientId: 'client-2' })), false)
      equal(await outcomeOf(state), 'unknown')
      deepEqual(await state.tokens.revokeFamiliesOfUser('user-19367'), [], 'nothing is left of it')
      equal(await state.browserSessions.findSession(named('sid-1'), 'digest-0', NOW), null)
    })
  }

  define('does not use the session when the sid of the code is taken', async (state) => {
    await state.browserSessions.createSession(session(), 'digest-0')
    await state.tokens.createCode(ofSession())
    await rejects(state.tokens.createCode(ofSession({ codeDigest: 'other' }), use({ clientId: 'client-2' })))
    deepEqual(await state.browserSessions.findSession(named('sid-1'), 'digest-0', NOW), session())
    equal(await outcomeOf(state), 'redeemed', 'and the code is the first')
  })

  define('leaves no code after a sign-out that races 40 new codes', async (state) => {
    const { tokens, browserSessions } = state
    await browserSessions.createSession(session(), 'digest-0')
    const created: boolean[] = []
    await parallel(41, async (index) => {
      if (index === 20) {
        ok((await tokens.revokeSession('user-19367', named('sid-1'))).session)
      } else {
        created.push(
          await tokens.createCode(ofSession({ sid: named(`sid-code-${index}`) }), use({ clientId: `client-${index}` }))
        )
      }
    })
    equal(created.length, 40)
    deepEqual(await tokens.revokeFamiliesOfUser('user-19367'), [])
  })

  define('creates no code for a wrong or long replaced secret', async (state) => {
    const { tokens, browserSessions } = state
    await browserSessions.createSession(session(), 'digest-0')
    await browserSessions.renewSession(renewal())
    equal(await tokens.createCode(ofSession(), use({ digest: 'none' })), false)
    equal(await tokens.createCode(ofSession(), use({ now: NOW + REPLACED_SECRET_MS })), false)
    await browserSessions.revokeSessionsOfUser('user-19367', {
      sid: named('sid-1'),
      secret: { formerDigest: 'digest-1', digest: 'digest-2' }
    })
    for (const digest of ['digest-0', 'digest-1']) equal(await tokens.createCode(ofSession(), use({ digest })), false)
    equal(await outcomeOf(state), 'unknown')
    equal(await tokens.createCode(ofSession(), use({ digest: 'digest-2' })), true)
  })

  define(
    'records the clients of 27 codes that race three renewals of their session',
    async ({ tokens, browserSessions }) => {
      await browserSessions.createSession(session(), 'digest-0')
      const done = await parallel(30, (index) =>
        index % 10 === 0
          ? browserSessions.renewSession(renewal({ digest: `digest-${index}` }))
          : tokens.createCode(ofSession({ sid: named(`sid-code-${index}`) }), use({ clientId: `client-${index}` }))
      )
      const renewals = [0, 10, 20].filter((index) => done[index])
      equal(renewals.length, 1)
      equal(done.filter(Boolean).length, 28)
      const found = await browserSessions.findSession(named('sid-1'), `digest-${renewals[0]}`, NOW)
      equal(found?.clientIds.length, 27, 'client-1 was there already')
      equal((await tokens.revokeFamiliesOfUser('user-19367')).length, 27)
    }
  )

  return cases
}
