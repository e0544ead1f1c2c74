import { deepEqual, equal, notEqual } from 'node:assert/strict'
import type { FactorStore } from '../../../lib/ports/factor-store.ts'
import { parallel, tally } from '../../../lib/testing/contract.ts'
import {
  ALICE,
  BOB,
  NOTHING,
  codesOf,
  digestOf,
  passkey,
  passkeyAddition,
  totp,
  totpAddition,
  unchanged,
  type DefineFactorCase
} from './factor-fixtures.ts'

const turn = (store: FactorStore, on: boolean, codes?: string, userId = ALICE): ReturnType<FactorStore['setTwoStep']> =>
  store.setTwoStep({ userId, on, ...(codes === undefined ? {} : { recoveryDigests: codesOf(codes) }) })
const stateOf = async (store: FactorStore, userId = ALICE): Promise<[boolean, number]> => {
  const { twoStepChosen, recoveryCodesLeft } = await store.findFactors(userId)
  return [twoStepChosen, recoveryCodesLeft]
}

/** First factors, and two-step sign-in as the user turns it on and off. Part of `factorStoreContract`. */
export function twoStepCases(define: DefineFactorCase): void {
  define('setTwoStep: requires a factor to turn on, and writes nothing without one', async (store) => {
    equal(await unchanged(store, ALICE, () => turn(store, true, 'a')), 'refused')
    equal(await unchanged(store, ALICE, () => turn(store, false)), 'unchanged')
    equal(await store.removeFactorsOfUser(ALICE), 0)
    deepEqual(await store.findFactors(ALICE), NOTHING)
  })

  define('setTwoStep: turns on for one user with new recovery codes, and off without any', async (store) => {
    await store.addPasskey(passkeyAddition({ recoveryDigests: codesOf('z') }))
    await store.addPasskey(passkeyAddition({ userId: BOB }))
    deepEqual(await stateOf(store), [false, 0], 'a passkey brings no recovery codes')
    const { deviceEpoch } = await store.findFactors(ALICE)
    equal(await turn(store, true, 'a'), 'changed')
    deepEqual(await stateOf(store), [true, 10])
    notEqual((await store.findFactors(ALICE)).deviceEpoch, deviceEpoch)
    equal(await unchanged(store, ALICE, () => turn(store, true, 'b')), 'unchanged')
    deepEqual(await store.useRecoveryCode({ userId: ALICE, digest: digestOf('a 0') }), { outcome: 'used', left: 9 })
    deepEqual(await stateOf(store, BOB), [false, 0])
    equal(await turn(store, false), 'changed')
    deepEqual(await stateOf(store), [false, 0])
    equal(await unchanged(store, ALICE, () => turn(store, false)), 'unchanged')
    equal(await turn(store, true), 'changed', 'recovery codes are no condition')
    deepEqual(await stateOf(store), [true, 0])
  })

  define(
    'keepSeal: keeps the first of four parallel seals, and replaces it only if `former` names it',
    async (store) => {
      if (store.keepSeal === undefined) return
      const [first = '', ...others] = await parallel(4, async (index) => await store.keepSeal?.(`seal ${index}`, null))
      deepEqual(others, [first, first, first])
      equal(await store.keepSeal('another', 'what is not kept'), first)
      equal(await store.keepSeal('another', first), 'another')
      equal(await store.keepSeal('a third', null), 'another')
    }
  )

  define('setTwoStep: keeps existing recovery codes when none are given', async (store) => {
    await store.addPasskey(passkeyAddition())
    await store.replaceRecoveryCodes(ALICE, codesOf('a'))
    equal(await turn(store, true), 'changed')
    deepEqual(await stateOf(store), [true, 10])
  })

  define('setTwoStep: stays on while the user has an app', async (store) => {
    await store.addTotp(totpAddition({ recoveryDigests: codesOf('a') }))
    await store.addPasskey(passkeyAddition())
    equal(await unchanged(store, ALICE, () => turn(store, true, 'b')), 'unchanged')
    equal(await unchanged(store, ALICE, () => turn(store, false)), 'refused')
    equal(await store.removeFactor({ userId: ALICE, factorId: 'totp-1', keepOne: false }), 'removed')
    deepEqual(await stateOf(store), [false, 0], 'the recovery codes go with the app')
  })

  define('setTwoStep: stays on after the app is removed, and ends with the last factor', async (store) => {
    await store.addPasskey(passkeyAddition())
    await turn(store, true, 'a')
    await store.addTotp(totpAddition())
    await store.removeFactor({ userId: ALICE, factorId: 'totp-1', keepOne: false })
    deepEqual(await stateOf(store), [true, 10])
    await store.removeFactor({ userId: ALICE, factorId: 'passkey-1', keepOne: false })
    deepEqual(await stateOf(store), [false, 0])
    await store.addPasskey(passkeyAddition())
    deepEqual(await stateOf(store), [false, 0], 'and does not come back')
    await turn(store, true, 'a')
    await store.removeFactorsOfUser(ALICE)
    deepEqual(await stateOf(store), [false, 0])
  })

  define('removeFactor: keeps the recovery codes with keepOne when a passkey remains', async (store) => {
    await store.addTotp(totpAddition({ recoveryDigests: codesOf('a') }))
    await store.addPasskey(passkeyAddition())
    await store.removeFactor({ userId: ALICE, factorId: 'totp-1', keepOne: true })
    deepEqual(await stateOf(store), [false, 10])
  })

  define('addPasskey: turns two-step sign-in on with recovery codes when turnsOn is set', async (store) => {
    deepEqual(await store.addPasskey(passkeyAddition({ turnsOn: true, recoveryDigests: codesOf('a') })), {
      outcome: 'added',
      codesStored: true
    })
    deepEqual(await stateOf(store), [true, 10])
    await store.addPasskey(passkeyAddition({ factor: passkey({ id: 'passkey-2', credentialId: 'credential-2' }) }))
    deepEqual(await stateOf(store), [true, 10])
  })

  define('refuses an addition with onlyIfFirst when another factor exists', async (store) => {
    const onlyIfFirst = true
    const added = await store.addPasskey(passkeyAddition({ onlyIfFirst }))
    deepEqual(added, { outcome: 'added', codesStored: false })
    for (const add of [
      () => store.addTotp(totpAddition({ onlyIfFirst, recoveryDigests: codesOf('a') })),
      () => store.addTotp(totpAddition({ onlyIfFirst, limit: 0 })),
      () =>
        store.addPasskey(
          passkeyAddition({ onlyIfFirst, factor: passkey({ id: 'passkey-2', credentialId: 'credential-2' }) })
        )
    ])
      deepEqual(await unchanged(store, ALICE, add), { outcome: 'not_first' })
    deepEqual(await store.addPasskey(passkeyAddition({ onlyIfFirst })), { outcome: 'duplicate' })
    deepEqual(await store.addTotp(totpAddition({ userId: BOB, onlyIfFirst })), { outcome: 'added', codesStored: false })
  })

  define('adds one of 50 parallel factors with onlyIfFirst, of either kind', async (store) => {
    const results = await parallel(50, (index) =>
      index % 2 === 0
        ? store.addTotp(totpAddition({ factor: totp({ id: `t${index}` }), limit: 50, onlyIfFirst: true }))
        : store.addPasskey(
            passkeyAddition({ factor: passkey({ id: `p${index}`, credentialId: `c${index}` }), onlyIfFirst: true })
          )
    )
    deepEqual(tally(results.map(({ outcome }) => outcome)), { added: 1, not_first: 49 })
  })

  define('setTwoStep: turns on in one of 20 parallel calls, and stores its recovery codes', async (store) => {
    await store.addPasskey(passkeyAddition())
    const results = await parallel(20, (index) => turn(store, true, `set ${index}`))
    deepEqual(tally(results), { changed: 1, unchanged: 19 })
    const digest = digestOf(`set ${results.indexOf('changed')} 0`)
    deepEqual(await store.useRecoveryCode({ userId: ALICE, digest }), { outcome: 'used', left: 9 })
  })

  define('setTwoStep: does not stay on when the last factor is removed meanwhile', async (store) => {
    for (let round = 0; round < 5; round++) {
      await store.addPasskey(passkeyAddition())
      await Promise.all([
        turn(store, true, 'a'),
        store.removeFactor({ userId: ALICE, factorId: 'passkey-1', keepOne: false }),
        turn(store, true, 'b')
      ])
      deepEqual(await stateOf(store), [false, 0])
    }
  })
}
