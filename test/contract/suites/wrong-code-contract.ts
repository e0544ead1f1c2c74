import { deepEqual, equal, notEqual, ok } from 'node:assert/strict'
import { parallel, tally } from '../../../lib/testing/contract.ts'
import {
  ALICE,
  appOf,
  BOB,
  passkeyAddition,
  totp,
  totpAddition,
  totpUse,
  unchanged,
  type DefineFactorCase
} from './factor-fixtures.ts'
import { T0 } from './token-fixtures.ts'

/** Wrong codes of authenticator apps. Part of `factorStoreContract`. */
export function wrongCodeCases(define: DefineFactorCase): void {
  define('countFailure: disables an app after max wrong codes, for right codes too', async (store) => {
    await store.addTotp(totpAddition())
    equal(await store.countFailure({ userId: ALICE, max: 3 }), 'counted')
    equal(await store.countFailure({ userId: ALICE, max: 3 }), 'counted')
    deepEqual(await appOf(store), totp({ failures: 2 }))
    equal(await store.countFailure({ userId: ALICE, max: 3 }), 'disabled')
    deepEqual(await appOf(store), totp({ failures: 3, disabled: true }))
    equal(
      await unchanged(store, ALICE, () => store.countFailure({ userId: ALICE, max: 3 })),
      'unknown',
      'nothing is left to count on'
    )
    equal(await unchanged(store, ALICE, () => store.useTotp(totpUse())), 'disabled')
    equal(
      await unchanged(store, ALICE, () => store.useTotp(totpUse({ step: 1 }))),
      'disabled',
      'an old code tells no more'
    )
  })

  define('countFailure: answers unknown for a user without an authenticator app', async (store) => {
    await store.addPasskey(passkeyAddition())
    await store.addTotp(totpAddition({ userId: BOB }))
    for (const userId of [ALICE, 'none'])
      equal(
        await unchanged(store, ALICE, () => unchanged(store, BOB, () => store.countFailure({ userId, max: 1 }))),
        'unknown'
      )
  })

  define('countFailure: counts a wrong code for each app, and resets all on a right one', async (store) => {
    await store.addTotp(totpAddition())
    await store.countFailure({ userId: ALICE, max: 9 })
    await store.addTotp(totpAddition({ factor: totp({ id: 'totp-2' }) }))
    equal(await store.countFailure({ userId: ALICE, max: 9 }), 'counted')
    deepEqual(
      (await store.findFactors(ALICE)).totp.map(({ failures }) => failures),
      [2, 1]
    )
    equal(await store.countFailure({ userId: ALICE, max: 3 }), 'disabled', 'one of both')
    deepEqual(
      (await store.findFactors(ALICE)).totp.map(({ disabled }) => disabled),
      [true, false]
    )
    equal(await store.useTotp(totpUse({ factorId: 'totp-2' })), 'used')
    deepEqual(
      (await store.findFactors(ALICE)).totp.map(({ failures, disabled }) => [failures, disabled]),
      [
        [3, true],
        [0, false]
      ],
      'one that is disabled stays so'
    )
    equal(await store.countFailure({ userId: ALICE, max: 1 }), 'disabled')
  })

  define(
    'countFailure: counts failures in known browsers separately, and never disables an app for them',
    async (store) => {
      await store.addTotp(totpAddition())
      await store.countFailure({ userId: ALICE, max: 9 })
      equal(await store.countFailure({ userId: ALICE, max: 2, isKnown: true }), 'counted')
      deepEqual(await appOf(store), totp({ failures: 1, knownFailures: 1 }))
      const { deviceEpoch } = await store.findFactors(ALICE)
      equal(await store.countFailure({ userId: ALICE, max: 2, isKnown: true }), 'forgotten')
      deepEqual(await appOf(store), totp({ failures: 1 }))
      notEqual((await store.findFactors(ALICE)).deviceEpoch, deviceEpoch, 'no browser is known any more')
      equal(await store.countFailure({ userId: BOB, max: 2, isKnown: true }), 'unknown')
    }
  )

  define('useTotp: accepts a disabled app in known browsers only, and keeps it disabled', async (store) => {
    await store.addTotp(totpAddition())
    await store.countFailure({ userId: ALICE, max: 9, isKnown: true })
    equal(await store.countFailure({ userId: ALICE, max: 1 }), 'disabled')
    equal(await unchanged(store, ALICE, () => store.useTotp(totpUse())), 'disabled')
    equal(await store.useTotp(totpUse({ isKnown: true })), 'used')
    deepEqual(await appOf(store), totp({ failures: 1, disabled: true, lastStep: 101, lastUsedAt: T0 + 5 }))
  })

  define('countFailure: disables an app in one of 50 parallel failures', async (store) => {
    await store.addTotp(totpAddition())
    deepEqual(tally(await parallel(50, () => store.countFailure({ userId: ALICE, max: 10 }))), {
      counted: 9,
      disabled: 1,
      unknown: 40
    })
    deepEqual(await appOf(store), totp({ failures: 10, disabled: true }))
  })

  define('countFailure: keeps a consistent count with parallel right and wrong codes', async (store) => {
    await store.addTotp(totpAddition())
    await parallel(40, (index) =>
      index % 2 === 0 ? store.countFailure({ userId: ALICE, max: 100 }) : store.useTotp(totpUse({ step: 101 + index }))
    )
    const app = await appOf(store)
    ok(app !== undefined && app.failures <= 20 && !app.disabled)
    equal(await store.useTotp(totpUse({ step: 500 })), 'used')
    equal((await appOf(store))?.failures, 0)
  })
}
