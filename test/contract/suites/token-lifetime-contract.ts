import { deepEqual, equal, ok } from 'node:assert/strict'
import type { State } from '../../../lib/ports/state.ts'
import type { TokenStore } from '../../../lib/ports/token-store.ts'
import { caseOf, parallel } from '../../../lib/testing/contract.ts'
import type { ContractCase } from '../../../lib/testing/contract.ts'
import { MINUTE, T0, family, next, use, named, timeAt } from './token-fixtures.ts'
import type { StateSubject } from './token-fixtures.ts'

/** How families end: expired, revoked, swept. Part of `stateContract`. */
export function tokenLifetimeCases(make: () => Promise<StateSubject>): ContractCase[] {
  const cases: ContractCase[] = []
  const define = (name: string, check: (tokens: TokenStore, state: State) => Promise<void>): void => {
    cases.push(caseOf(make, `tokens: ${name}`, ({ state }) => check(state.tokens, state)))
  }

  for (const [what, ends] of [
    ['idleExpiresAt', 30 * MINUTE],
    ['expiresAt', 20 * MINUTE]
  ] as const) {
    for (const offset of [-1, 0, 1]) {
      define(`${offset < 0 ? 'finds' : 'does not find'} a family ${timeAt(offset, what)}`, async (tokens) => {
        const now = T0 + ends + offset
        const fields = what === 'expiresAt' ? { expiresAt: T0 + ends } : {}
        for (const sid of [named('sid-1'), named('sid-2'), named('sid-3')])
          await tokens.createFamily(family({ sid, ...fields }))
        equal((await tokens.listFamiliesOfUser('user-19367', now)).length, offset < 0 ? 3 : 0)
        equal((await tokens.findFamily(named('sid-1'), now)) !== null, offset < 0)
        equal((await tokens.peekToken(use({ now }))) !== null, offset < 0)
        equal((await tokens.useToken(use({ sid: named('sid-2'), now }))).outcome, offset < 0 ? 'used' : 'unknown')
        equal(
          (await tokens.rotateToken(use({ sid: named('sid-3'), now }), next(1))).outcome,
          offset < 0 ? 'rotated' : 'unknown'
        )
      })
    }
  }

  define('keeps an idle family alive on use, but not beyond expiresAt', async (tokens) => {
    await tokens.createFamily(family())
    await tokens.useToken(use({ now: T0 + 29 * MINUTE, idleExpiresAt: T0 + 59 * MINUTE }))
    await tokens.rotateToken(use({ now: T0 + 58 * MINUTE, idleExpiresAt: T0 + 88 * MINUTE }), next(1))
    equal(
      (await tokens.useToken(use({ digest: 'digest-1', now: T0 + 60 * MINUTE - 1, idleExpiresAt: T0 + 99 * MINUTE })))
        .outcome,
      'used'
    )
    equal(
      (await tokens.useToken(use({ digest: 'digest-1', now: T0 + 60 * MINUTE, idleExpiresAt: T0 + 99 * MINUTE })))
        .outcome,
      'unknown'
    )
  })

  define('revokeFamily returns whether it ended a family, of that user if given', async (tokens) => {
    await tokens.createFamily(family())
    equal(await tokens.revokeFamily(named('sid-x')), false)
    equal(await tokens.revokeFamily(named('sid-1'), 'user-104981'), false)
    equal((await tokens.useToken(use())).outcome, 'used')
    equal(await tokens.revokeFamily(named('sid-1'), 'user-19367'), true)
    equal(await tokens.revokeFamily(named('sid-1'), 'user-19367'), false)
    equal(await tokens.revokeFamily(named('sid-1')), false)
    equal((await tokens.useToken(use())).outcome, 'unknown')
    equal((await tokens.rotateToken(use(), next(1))).outcome, 'unknown')
    deepEqual(await tokens.listFamiliesOfUser('user-19367', T0), [])
  })

  define('returns true from one of 50 parallel revocations', async (tokens) => {
    await tokens.createFamily(family())
    const results = await parallel(50, () => tokens.revokeFamily(named('sid-1')))
    equal(results.filter(Boolean).length, 1)
  })

  define('ends a family when its revocation races a rotation or a use', async (tokens) => {
    const sids = Array.from({ length: 25 }, (_, index) => named(`sid-${index}`))
    for (const sid of sids) await tokens.createFamily(family({ sid }))
    await Promise.all(
      sids.flatMap((sid, index) => {
        const calls: Array<() => Promise<unknown>> = [
          () => tokens.rotateToken(use({ sid }), next(1)),
          () => tokens.useToken(use({ sid })),
          () => tokens.revokeFamily(sid)
        ]
        return [...calls.slice(index % 3), ...calls.slice(0, index % 3)].map(async (call) => await call())
      })
    )
    for (const sid of sids) {
      equal(await tokens.findFamily(sid, T0), null)
      for (const digest of ['digest-0', 'digest-1'])
        equal((await tokens.useToken(use({ sid, digest }))).outcome, 'unknown')
    }
    deepEqual(await tokens.listFamiliesOfUser('user-19367', T0), [])
  })

  define('revokeFamiliesOfUser ends all families of the user except one, and returns their sids', async (tokens) => {
    for (const sid of [named('sid-1'), named('sid-2'), named('sid-3')]) await tokens.createFamily(family({ sid }))
    await tokens.createFamily(family({ sid: named('sid-4', 'user-104981'), userId: 'user-104981' }))
    deepEqual((await tokens.revokeFamiliesOfUser('user-19367', named('sid-2'))).toSorted(), [
      named('sid-1'),
      named('sid-3')
    ])
    deepEqual(
      (await tokens.listFamiliesOfUser('user-19367', T0)).map(({ sid }) => sid),
      [named('sid-2')]
    )
    equal((await tokens.useToken(use())).outcome, 'unknown')
    deepEqual(
      await tokens.revokeFamiliesOfUser('user-19367', named('sid-4')),
      [named('sid-2')],
      'the exception of another user keeps nothing of this one'
    )
    deepEqual(await tokens.revokeFamiliesOfUser('user-19367'), [])
    ok(await tokens.findFamily(named('sid-4', 'user-104981'), T0))
  })

  define('lists the families of one user, newest first', async (tokens) => {
    for (const [sid, age] of [
      [named('sid-1'), 2],
      [named('sid-2'), 0],
      [named('sid-3'), 3],
      [named('sid-4'), 1]
    ] as const) {
      await tokens.createFamily(family({ sid, createdAt: T0 - age }))
    }
    await tokens.createFamily(family({ sid: named('sid-5', 'user-104981'), userId: 'user-104981' }))
    await tokens.useToken(use({ sid: named('sid-3') }))
    deepEqual(
      (await tokens.listFamiliesOfUser('user-19367', T0)).map(({ sid }) => sid),
      [named('sid-2'), named('sid-4'), named('sid-1'), named('sid-3')]
    )
    deepEqual(await tokens.listFamiliesOfUser('user-646148', T0), [])
  })

  define('sweeps expired families, and keeps live ones with their grace time', async (tokens, state) => {
    await tokens.createFamily(family())
    await tokens.createFamily(family({ sid: named('sid-2'), idleExpiresAt: T0 + MINUTE }))
    await tokens.createFamily(family({ sid: named('sid-3'), expiresAt: T0 + MINUTE }))
    await tokens.rotateToken(use(), next(1))
    await state.sweep(T0 + MINUTE)
    deepEqual(
      (await tokens.listFamiliesOfUser('user-19367', T0 + MINUTE)).map(({ sid }) => sid),
      [named('sid-1')]
    )
    equal((await tokens.rotateToken(use(), next(2))).outcome, 'repeated')
  })

  return cases
}
