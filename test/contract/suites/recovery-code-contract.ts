import { deepEqual, equal, ok } from 'node:assert/strict'
import type { FactorStore } from '../../../lib/ports/factor-store.ts'
import { parallel, tally } from '../../../lib/testing/contract.ts'
import {
  ALICE,
  BOB,
  codesOf,
  digestOf,
  passkey,
  passkeyAddition,
  totp,
  totpAddition,
  unchanged,
  type DefineFactorCase
} from './factor-fixtures.ts'

const use = (store: FactorStore, digest: string, userId = ALICE): ReturnType<FactorStore['useRecoveryCode']> =>
  store.useRecoveryCode({ userId, digest })

/** Recovery codes. Part of `factorStoreContract`. */
export function recoveryCodeCases(define: DefineFactorCase): void {
  define(
    'stores recovery codes with a factor that turns on two-step sign-in, if the user has no codes left',
    async (store) => {
      deepEqual(await store.addTotp(totpAddition({ recoveryDigests: codesOf('a') })), {
        outcome: 'added',
        codesStored: true
      })
      equal((await store.findFactors(ALICE)).recoveryCodesLeft, 10)
      deepEqual(await store.addPasskey(passkeyAddition({ recoveryDigests: codesOf('b') })), {
        outcome: 'added',
        codesStored: false
      })
      deepEqual(await use(store, digestOf('b 0')), { outcome: 'unknown' })
      for (let index = 0; index < 10; index++)
        deepEqual(await use(store, digestOf(`a ${index}`)), { outcome: 'used', left: 9 - index })
      deepEqual(await store.addTotp(totpAddition({ factor: totp({ id: 'totp-2' }), recoveryDigests: [] })), {
        outcome: 'added',
        codesStored: false
      })
      deepEqual(
        await store.addTotp(totpAddition({ factor: totp({ id: 'totp-3' }), recoveryDigests: codesOf('c') })),
        { outcome: 'added', codesStored: true },
        'the others are used up'
      )
      deepEqual(await use(store, digestOf('c 9')), { outcome: 'used', left: 9 })
      deepEqual(
        await store.addPasskey(passkeyAddition({ userId: BOB, turnsOn: true, recoveryDigests: codesOf('a') })),
        { outcome: 'added', codesStored: true },
        'another user has their own'
      )
    }
  )

  define('accepts a recovery code once, for its user only', async (store) => {
    await store.addTotp(totpAddition({ recoveryDigests: codesOf('a') }))
    await store.addTotp(totpAddition({ userId: BOB, recoveryDigests: codesOf('b') }))
    for (const userId of [BOB, 'none']) deepEqual(await use(store, digestOf('a 0'), userId), { outcome: 'unknown' })
    deepEqual(await use(store, digestOf('a 0')), { outcome: 'used', left: 9 })
    deepEqual(await unchanged(store, ALICE, () => use(store, digestOf('a 0'))), { outcome: 'unknown' })
    for (const digest of ['', '%', digestOf('none'), digestOf('a 1').toLowerCase()])
      deepEqual(await unchanged(store, ALICE, () => use(store, digest)), { outcome: 'unknown' })
    equal((await store.findFactors(BOB)).recoveryCodesLeft, 10)
  })

  define('accepts one of 50 parallel uses of a recovery code', async (store) => {
    await store.addTotp(totpAddition({ recoveryDigests: codesOf('a') }))
    const results = await parallel(50, () => use(store, digestOf('a 0')))
    deepEqual(tally(results.map(({ outcome }) => outcome)), { used: 1, unknown: 49 })
    equal((await store.findFactors(ALICE)).recoveryCodesLeft, 9)
  })

  define('accepts each recovery code once in parallel uses, and returns the number left', async (store) => {
    await store.addTotp(totpAddition({ recoveryDigests: codesOf('a') }))
    const results = await parallel(50, (index) => use(store, digestOf(`a ${index % 10}`)))
    deepEqual(
      results.flatMap((result) => (result.outcome === 'used' ? [result.left] : [])).toSorted((a, b) => a - b),
      [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
    )
  })

  define('replaces all recovery codes with new ones', async (store) => {
    await store.addTotp(totpAddition({ recoveryDigests: codesOf('a') }))
    await store.addTotp(totpAddition({ userId: BOB, recoveryDigests: codesOf('a') }))
    await use(store, digestOf('a 0'))
    equal(await store.replaceRecoveryCodes(ALICE, codesOf('b').slice(0, 8)), true)
    for (let index = 0; index < 10; index++) deepEqual(await use(store, digestOf(`a ${index}`)), { outcome: 'unknown' })
    deepEqual(await use(store, digestOf('b 7')), { outcome: 'used', left: 7 })
    equal(await store.replaceRecoveryCodes(ALICE, [digestOf('b 7')]), true, 'one that was used may be given again')
    deepEqual(await use(store, digestOf('b 7')), { outcome: 'used', left: 0 })
    equal((await store.findFactors(BOB)).recoveryCodesLeft, 10)
  })

  define('stores no recovery codes without a factor', async (store) => {
    equal(await unchanged(store, ALICE, () => store.replaceRecoveryCodes(ALICE, codesOf('a'))), false)
    await store.forgetDevices(ALICE)
    equal(await store.replaceRecoveryCodes(ALICE, codesOf('a')), false)
    await store.addPasskey(passkeyAddition())
    equal(await store.replaceRecoveryCodes(ALICE, codesOf('a')), true, 'a passkey is one')
    await store.removeFactor({ userId: ALICE, factorId: 'passkey-1', keepOne: false })
    equal((await store.findFactors(ALICE)).recoveryCodesLeft, 0)
    deepEqual(await use(store, digestOf('a 0')), { outcome: 'unknown' })
    await store.addPasskey(passkeyAddition())
    deepEqual(await use(store, digestOf('a 0')), { outcome: 'unknown' }, 'nor do they come back')
  })

  define('keeps the codes of one of 20 parallel replacements', async (store) => {
    await store.addTotp(totpAddition({ recoveryDigests: codesOf('a') }))
    await parallel(20, (index) => store.replaceRecoveryCodes(ALICE, codesOf(`set ${index}`)))
    equal((await store.findFactors(ALICE)).recoveryCodesLeft, 10)
    const results = await parallel(20, async (index) => (await use(store, digestOf(`set ${index} 0`))).outcome)
    deepEqual(tally(results), { used: 1, unknown: 19 })
  })

  define('accepts a recovery code at most once during its replacement, and uses up no new code', async (store) => {
    await store.addTotp(totpAddition({ recoveryDigests: codesOf('a') }))
    const [results] = await Promise.all([
      parallel(10, () => use(store, digestOf('a 0'))),
      store.replaceRecoveryCodes(ALICE, codesOf('b'))
    ])
    ok(results.filter(({ outcome }) => outcome === 'used').length <= 1)
    equal((await store.findFactors(ALICE)).recoveryCodesLeft, 10)
  })

  define('stores the recovery codes of one of 20 parallel enrolments, and reports which one', async (store) => {
    const results = await parallel(20, (index) =>
      index % 2 === 0
        ? store.addTotp(
            totpAddition({ factor: totp({ id: `t${index}` }), limit: 50, recoveryDigests: codesOf(`set ${index}`) })
          )
        : store.addPasskey(
            passkeyAddition({
              factor: passkey({ id: `p${index}`, credentialId: `c${index}` }),
              recoveryDigests: codesOf(`set ${index}`)
            })
          )
    )
    const stored = results.flatMap((result, index) => (result.outcome === 'added' && result.codesStored ? [index] : []))
    equal(results.filter(({ outcome }) => outcome === 'added').length, 20)
    equal(stored.length, 1)
    equal((await store.findFactors(ALICE)).recoveryCodesLeft, 10)
    const used = await parallel(20, async (index) => (await use(store, digestOf(`set ${index} 3`))).outcome)
    deepEqual(
      used.flatMap((outcome, index) => (outcome === 'used' ? [index] : [])),
      stored
    )
  })
}
