import { deepEqual, equal, notEqual, ok } from 'node:assert/strict'
import { parallel, tally } from '../../../lib/testing/contract.ts'
import {
  ALICE,
  BOB,
  NOTHING,
  codesOf,
  digestOf,
  handleOf,
  passkey,
  passkeyAddition,
  passkeyUse,
  totp,
  totpAddition,
  unchanged,
  type DefineFactorCase
} from './factor-fixtures.ts'

/** Factors renamed and removed. Part of `factorStoreContract`. */
export function factorRemovalCases(define: DefineFactorCase): void {
  define('renameFactor: renames only the given factor, of either kind', async (store) => {
    await store.addTotp(totpAddition())
    await store.addPasskey(passkeyAddition())
    await store.addTotp(totpAddition({ userId: BOB, factor: totp({ id: 'totp-2' }) }))
    equal(await store.renameFactor({ userId: ALICE, factorId: 'totp-1', name: 'new' }), true)
    equal(await store.renameFactor({ userId: ALICE, factorId: 'passkey-1', name: null }), true)
    for (const [userId, factorId] of [
      [ALICE, 'totp-2'],
      [BOB, 'totp-1'],
      [BOB, 'passkey-1'],
      ['none', 'totp-1'],
      [ALICE, 'credential-1'],
      [ALICE, '']
    ] as const) {
      equal(await store.renameFactor({ userId, factorId, name: 'x' }), false)
    }
    const { totp: apps, passkeys } = await store.findFactors(ALICE)
    deepEqual(
      [apps, passkeys, (await store.findFactors(BOB)).totp],
      [[totp({ name: 'new' })], [passkey({ name: null })], [totp({ id: 'totp-2' })]]
    )
  })

  define('removeFactor: removes only the given factor, of either kind', async (store) => {
    await store.addTotp(totpAddition({ recoveryDigests: codesOf('a') }))
    await store.addPasskey(passkeyAddition({ turnsOn: true }))
    await store.addPasskey(passkeyAddition({ factor: passkey({ id: 'passkey-2', credentialId: 'credential-2' }) }))
    await store.addTotp(totpAddition({ userId: BOB }))
    for (const [userId, factorId] of [
      [ALICE, 'none'],
      [BOB, 'passkey-1'],
      ['none', 'totp-1'],
      [ALICE, 'credential-1'],
      [ALICE, '']
    ] as const) {
      for (const keepOne of [false, true])
        equal(await unchanged(store, ALICE, () => store.removeFactor({ userId, factorId, keepOne })), 'unknown')
    }
    equal(await store.removeFactor({ userId: ALICE, factorId: 'totp-1', keepOne: false }), 'removed')
    equal(await store.removeFactor({ userId: ALICE, factorId: 'totp-1', keepOne: false }), 'unknown', 'a second time')
    equal(await store.removeFactor({ userId: ALICE, factorId: 'passkey-2', keepOne: true }), 'removed')
    const left = await store.findFactors(ALICE)
    deepEqual([left.totp, left.passkeys, left.recoveryCodesLeft], [[], [passkey()], 10])
    equal((await store.findFactors(BOB)).totp.length, 1)
  })

  define('removeFactor: keeps the last enabled factor with keepOne', async (store) => {
    await store.addTotp(totpAddition())
    equal(
      await unchanged(store, ALICE, () => store.removeFactor({ userId: ALICE, factorId: 'totp-1', keepOne: true })),
      'last'
    )
    await store.addPasskey(passkeyAddition())
    await store.countFailure({ userId: ALICE, max: 1 })
    equal(
      await unchanged(store, ALICE, () => store.removeFactor({ userId: ALICE, factorId: 'passkey-1', keepOne: true })),
      'last',
      'the other is disabled'
    )
    equal(
      await store.removeFactor({ userId: ALICE, factorId: 'totp-1', keepOne: true }),
      'removed',
      'a disabled one may go'
    )
    await store.addTotp(totpAddition({ factor: totp({ id: 'totp-2', disabled: true }) }))
    await store.addTotp(totpAddition({ factor: totp({ id: 'totp-3' }) }))
    equal(await store.removeFactor({ userId: ALICE, factorId: 'passkey-1', keepOne: true }), 'removed')
    equal(
      await store.removeFactor({ userId: ALICE, factorId: 'totp-3', keepOne: false }),
      'removed',
      'without keepOne any may'
    )
    equal(
      await store.removeFactor({ userId: ALICE, factorId: 'totp-2', keepOne: true }),
      'last',
      'the only one stays, disabled or not'
    )
  })

  define('removeFactor: removes the recovery codes with the last factor, disabled or not', async (store) => {
    await store.addTotp(totpAddition({ recoveryDigests: codesOf('a') }))
    await store.addTotp(totpAddition({ factor: totp({ id: 'totp-2' }) }))
    await store.countFailure({ userId: ALICE, max: 1 })
    await store.removeFactor({ userId: ALICE, factorId: 'totp-1', keepOne: false })
    equal((await store.findFactors(ALICE)).recoveryCodesLeft, 10)
    await store.removeFactor({ userId: ALICE, factorId: 'totp-2', keepOne: false })
    deepEqual(await store.findFactors(ALICE), { ...NOTHING, deviceEpoch: (await store.findFactors(ALICE)).deviceEpoch })
  })

  define('removeFactor: keeps one of the last two factors in parallel removals with keepOne', async (store) => {
    for (let round = 0; round < 5; round++) {
      await store.addTotp(totpAddition({ factor: totp({ id: 'one' }) }))
      await store.addPasskey(passkeyAddition({ factor: passkey({ id: 'two' }) }))
      const results = await parallel(10, (index) =>
        store.removeFactor({ userId: ALICE, factorId: index % 2 === 0 ? 'one' : 'two', keepOne: true })
      )
      equal(results.filter((outcome) => outcome === 'removed').length, 1)
      equal(results.filter((outcome) => outcome === 'last').length, 5, 'and the other was the last for each who asked')
      const { totp: apps, passkeys } = await store.findFactors(ALICE)
      equal(apps.length + passkeys.length, 1)
      await store.removeFactorsOfUser(ALICE)
    }
  })

  define('removeFactor: removes a factor in one of 50 parallel removals', async (store) => {
    await store.addTotp(totpAddition())
    deepEqual(
      tally(await parallel(50, () => store.removeFactor({ userId: ALICE, factorId: 'totp-1', keepOne: false }))),
      { removed: 1, unknown: 49 }
    )
  })

  define('removeFactor: removes new recovery codes that race the removal of the last factor', async (store) => {
    for (let round = 0; round < 5; round++) {
      await store.addTotp(totpAddition({ recoveryDigests: codesOf('a') }))
      await Promise.all([
        store.replaceRecoveryCodes(ALICE, codesOf('b')),
        store.removeFactor({ userId: ALICE, factorId: 'totp-1', keepOne: false }),
        store.replaceRecoveryCodes(ALICE, codesOf('c'))
      ])
      equal((await store.findFactors(ALICE)).recoveryCodesLeft, 0)
    }
  })

  define('removeFactor: keeps the reported recovery codes of a factor that is added meanwhile', async (store) => {
    for (let round = 0; round < 5; round++) {
      await store.addTotp(totpAddition({ recoveryDigests: codesOf('a') }))
      const [added, removed] = await Promise.all([
        store.addPasskey(passkeyAddition({ turnsOn: true, recoveryDigests: codesOf('b') })),
        store.removeFactor({ userId: ALICE, factorId: 'totp-1', keepOne: false })
      ])
      deepEqual([added.outcome, removed], ['added', 'removed'])
      const stored = added.outcome === 'added' && added.codesStored
      deepEqual(
        await store.useRecoveryCode({ userId: ALICE, digest: digestOf('b 0') }),
        stored ? { outcome: 'used', left: 9 } : { outcome: 'unknown' }
      )
      equal(
        (await store.useRecoveryCode({ userId: ALICE, digest: digestOf('a 0') })).outcome,
        stored ? 'unknown' : 'used'
      )
      await store.removeFactorsOfUser(ALICE)
    }
  })

  define('removeProvisional: removes only provisional factors, and with them the recovery codes', async (store) => {
    deepEqual(await unchanged(store, ALICE, () => store.removeProvisional(ALICE)), [])
    await store.addTotp(totpAddition({ recoveryDigests: codesOf('a') }))
    await store.addPasskey(passkeyAddition({ userId: BOB, factor: passkey({ provisional: true }) }))
    deepEqual(await unchanged(store, ALICE, () => store.removeProvisional(ALICE)), [])
    await store.addTotp(totpAddition({ factor: totp({ id: 'totp-2', provisional: true }) }))
    await store.addPasskey(passkeyAddition({ factor: passkey({ provisional: true }) }))
    const { deviceEpoch } = await store.findFactors(ALICE)
    deepEqual(await store.removeProvisional(ALICE), [
      { id: 'totp-2', kind: 'totp' },
      { id: 'passkey-1', kind: 'passkey' }
    ])
    const after = await store.findFactors(ALICE)
    deepEqual(after, { ...NOTHING, totp: [totp()], deviceEpoch: after.deviceEpoch })
    notEqual(after.deviceEpoch, deviceEpoch)
    equal((await store.findFactors(BOB)).passkeys.length, 1)
    deepEqual(await store.removeProvisional(BOB), [{ id: 'passkey-1', kind: 'passkey' }])
    equal((await store.findFactors(BOB)).twoStepChosen, false)
  })

  define('removeFactorsOfUser: removes everything of that user except the handle', async (store) => {
    equal(await store.removeFactorsOfUser(ALICE), 0)
    await store.claimHandle(ALICE, handleOf('a'))
    await store.addTotp(totpAddition({ recoveryDigests: codesOf('a') }))
    await store.addPasskey(passkeyAddition())
    await store.addTotp(totpAddition({ userId: BOB, recoveryDigests: codesOf('b') }))
    const bob = await store.findFactors(BOB)
    const before = await store.findFactors(ALICE)
    equal(await store.removeFactorsOfUser(ALICE), 2)
    const after = await store.findFactors(ALICE)
    notEqual(after.deviceEpoch, before.deviceEpoch)
    deepEqual(after, { ...NOTHING, handle: handleOf('a'), deviceEpoch: after.deviceEpoch })
    deepEqual(await store.findFactors(BOB), bob)
    equal(await store.findByHandle(handleOf('a'), 'credential-1'), null)
    equal((await store.usePasskey(passkeyUse())).outcome, 'unknown')
    equal(await store.removeFactorsOfUser(ALICE), 0)
    await store.addPasskey(passkeyAddition())
    equal((await store.findByHandle(handleOf('a'), 'credential-1'))?.userId, ALICE)
  })

  define('removeFactorsOfUser: keeps a factor that is added meanwhile completely or not at all', async (store) => {
    for (let round = 0; round < 5; round++) {
      await store.addTotp(totpAddition({ recoveryDigests: codesOf('a') }))
      await Promise.all([
        store.removeFactorsOfUser(ALICE),
        store.addPasskey(passkeyAddition({ turnsOn: true, recoveryDigests: codesOf('b') })),
        store.countFailure({ userId: ALICE, max: 5 }),
        store.replaceRecoveryCodes(ALICE, codesOf('c'))
      ])
      const { totp: apps, passkeys, recoveryCodesLeft } = await store.findFactors(ALICE)
      equal(apps.length, 0)
      ok(
        passkeys.length === 1 ? recoveryCodesLeft === 10 : recoveryCodesLeft === 0,
        `${passkeys.length} ${recoveryCodesLeft}`
      )
      await store.removeFactorsOfUser(ALICE)
    }
  })
}
