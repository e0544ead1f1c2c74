import { deepEqual, equal, notDeepEqual, notEqual, ok } from 'node:assert/strict'
import { partitionOf } from '../../../lib/protocol/digest.ts'
import { HOSTILE_STRINGS, parallel, tally } from '../../../lib/testing/contract.ts'
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
  totpUse,
  unchanged,
  type DefineFactorCase
} from './factor-fixtures.ts'

/** Factors and handles, found as they were added. Part of `factorStoreContract`. */
export function factorAdditionCases(define: DefineFactorCase): void {
  define('returns an empty set for a user without factors', async (store) => {
    deepEqual(await store.findFactors('none'), NOTHING)
    for (const [, value] of HOSTILE_STRINGS) deepEqual(await store.findFactors(value), NOTHING)
    equal(await store.findByHandle(handleOf('none'), 'credential-1'), null)
  })

  define('finds the factors of a user as added, in their order', async (store) => {
    const apps = [totp({ id: 'b', name: null, createdAt: 9 }), totp({ id: 'a', failures: 3, lastUsedAt: 7 })]
    const keys = [
      passkey({
        id: 'z',
        credentialId: 'z',
        backupEligible: true,
        backedUp: true,
        signCount: 4_294_967_295,
        alg: -257,
        aaguid: null,
        name: null
      }),
      passkey({ id: 'y', credentialId: 'y', uvInitialized: false, transports: [], lastUsedAt: 8 })
    ]
    for (const factor of apps)
      deepEqual(await store.addTotp(totpAddition({ factor })), { outcome: 'added', codesStored: false })
    for (const one of keys)
      deepEqual(await store.addPasskey(passkeyAddition({ factor: one })), { outcome: 'added', codesStored: false })
    const { deviceEpoch, ...factors } = await store.findFactors(ALICE)
    deepEqual(factors, { handle: null, totp: apps, passkeys: keys, recoveryCodesLeft: 0, twoStepChosen: false })
    ok(deviceEpoch > 0)
    deepEqual(await store.findFactors(BOB), NOTHING)
  })

  define('copies factors that it takes and returns', async (store) => {
    const [factor, one] = [totp(), passkey()]
    await store.addTotp(totpAddition({ factor }))
    await store.addPasskey(passkeyAddition({ factor: one }))
    factor.lastStep = 0
    one.transports.push('usb')
    const found = await store.findFactors(ALICE)
    found.totp.pop()
    found.passkeys[0]?.transports.push('nfc')
    const { totp: apps, passkeys } = await store.findFactors(ALICE)
    deepEqual([apps, passkeys], [[totp()], [passkey()]])
  })

  for (const [label, value] of HOSTILE_STRINGS) {
    define(`keeps strings unchanged: ${label}`, async (store) => {
      const [factor, one] = [
        totp({ id: `t${value}`, sealedSecret: value, name: value }),
        passkey({ id: `p${value}`, name: value, transports: [value], rpId: value, aaguid: value })
      ]
      await store.addTotp(totpAddition({ userId: value, factor }))
      await store.addPasskey(passkeyAddition({ userId: value, factor: one }))
      const handle = partitionOf(value) + digestOf(value)
      equal(await store.claimHandle(value, handle), handle)
      const found = await store.findByHandle(handle, 'credential-1')
      deepEqual([found?.userId, found?.passkey, found?.factors.totp], [value, one, [factor]])
      equal(await store.useTotp(totpUse({ userId: value, factorId: `t${value}`, sealedSecret: `2${value}` })), 'used')
      equal(await store.renameFactor({ userId: value, factorId: `p${value}`, name: `2${value}` }), true)
      deepEqual((await store.findFactors(value)).totp[0]?.sealedSecret, `2${value}`)
      equal((await store.findFactors(value)).passkeys[0]?.name, `2${value}`)
      equal(await store.removeFactorsOfUser(`${value}x`), 0)
      equal(await store.removeFactorsOfUser(value), 2)
    })
  }

  define('claims one permanent handle per user', async (store) => {
    equal(await store.claimHandle(ALICE, handleOf('a')), handleOf('a'))
    equal(await store.claimHandle(ALICE, handleOf('b')), handleOf('a'))
    equal(await store.claimHandle(BOB, handleOf('c', BOB)), handleOf('c', BOB))
    equal((await store.findFactors(ALICE)).handle, handleOf('a'))
    equal((await store.findFactors(BOB)).handle, handleOf('c', BOB))
    await store.addPasskey(passkeyAddition())
    equal(await store.findByHandle(handleOf('b'), 'credential-1'), null, "the candidate that lost is nobody's")
  })

  define('returns the same handle to 50 parallel claims', async (store) => {
    const handles = await parallel(50, (index) => store.claimHandle(ALICE, handleOf(String(index))))
    equal(new Set(handles).size, 1)
    equal((await store.findFactors(ALICE)).handle, handles[0])
    await store.addPasskey(passkeyAddition())
    const found = await parallel(50, (index) => store.findByHandle(handleOf(String(index)), 'credential-1'))
    equal(found.filter((one) => one !== null).length, 1)
  })

  define('finds a user by handle and own passkey only, with all factors', async (store) => {
    await store.claimHandle(ALICE, handleOf('a'))
    await store.claimHandle(BOB, handleOf('b', BOB))
    equal(await store.findByHandle(handleOf('a'), 'credential-1'), null, 'before there is one')
    await store.addTotp(totpAddition({ recoveryDigests: codesOf('a') }))
    await store.addPasskey(passkeyAddition())
    await store.addPasskey(passkeyAddition({ userId: BOB, factor: passkey({ credentialId: 'credential-2' }) }))
    deepEqual(await store.findByHandle(handleOf('a'), 'credential-1'), {
      userId: ALICE,
      passkey: passkey(),
      factors: await store.findFactors(ALICE)
    })
    equal(await store.findByHandle(handleOf('a'), 'credential-2'), null, 'a passkey of somebody else')
    equal(await store.findByHandle(handleOf('b', BOB), 'credential-1'), null)
    equal(await store.findByHandle(handleOf('none'), 'credential-1'), null)
    equal(await store.findByHandle(ALICE, 'credential-1'), null, 'a user id is no handle')
    await store.removeFactor({ userId: ALICE, factorId: 'passkey-1', keepOne: false })
    equal(await store.findByHandle(handleOf('a'), 'credential-1'), null, 'nor one that was removed')
  })

  define('refuses a second factor with the same id or credential as a duplicate', async (store) => {
    await store.addTotp(totpAddition())
    await store.addPasskey(passkeyAddition())
    const recoveryDigests = codesOf('a')
    for (const add of [
      () => store.addTotp(totpAddition({ recoveryDigests })),
      () => store.addTotp(totpAddition({ factor: totp({ id: 'passkey-1' }), recoveryDigests })),
      () => store.addTotp(totpAddition({ limit: 1, recoveryDigests })),
      () => store.addPasskey(passkeyAddition({ recoveryDigests })),
      () => store.addPasskey(passkeyAddition({ factor: passkey({ id: 'passkey-2' }), recoveryDigests })),
      () => store.addPasskey(passkeyAddition({ factor: passkey({ credentialId: 'credential-2' }), recoveryDigests })),
      () =>
        store.addPasskey(
          passkeyAddition({ factor: passkey({ id: 'totp-1', credentialId: 'credential-2' }), recoveryDigests })
        ),
      () => store.addPasskey(passkeyAddition({ limit: 1, recoveryDigests }))
    ])
      deepEqual(await unchanged(store, ALICE, add), { outcome: 'duplicate' })
    deepEqual(
      await store.addPasskey(passkeyAddition({ userId: BOB })),
      { outcome: 'added', codesStored: false },
      'another user may have both'
    )
  })

  define('refuses factors above the limit of a kind as full', async (store) => {
    const recoveryDigests = codesOf('a')
    deepEqual(await store.addTotp(totpAddition({ limit: 1 })), { outcome: 'added', codesStored: false })
    deepEqual(
      await unchanged(store, ALICE, () =>
        store.addTotp(totpAddition({ factor: totp({ id: 'totp-2' }), limit: 1, recoveryDigests }))
      ),
      { outcome: 'full' }
    )
    deepEqual(
      await store.addPasskey(passkeyAddition({ limit: 1 })),
      { outcome: 'added', codesStored: false },
      'each kind has its own'
    )
    const second = passkey({ id: 'passkey-2', credentialId: 'credential-2' })
    deepEqual(
      await unchanged(store, ALICE, () =>
        store.addPasskey(passkeyAddition({ factor: second, limit: 1, recoveryDigests }))
      ),
      { outcome: 'full' }
    )
    deepEqual(await store.addPasskey(passkeyAddition({ factor: second, limit: 2 })), {
      outcome: 'added',
      codesStored: false
    })
  })

  define('leaves nothing of a refused addition', async (store) => {
    deepEqual(await store.addTotp(totpAddition({ limit: 0 })), { outcome: 'full' })
    deepEqual(await store.addPasskey(passkeyAddition({ limit: 0 })), { outcome: 'full' })
    for (const userId of [ALICE, BOB]) equal(await store.removeFactorsOfUser(userId), 0)
    deepEqual(await store.findFactors(ALICE), await store.findFactors(BOB))
  })

  define('adds as many of 50 parallel factors as the limit allows', async (store) => {
    const keys = await parallel(50, (index) =>
      store.addPasskey(passkeyAddition({ factor: passkey({ id: `p${index}`, credentialId: `c${index}` }), limit: 5 }))
    )
    deepEqual(tally(keys.map(({ outcome }) => outcome)), { added: 5, full: 45 })
    const apps = await parallel(50, (index) =>
      store.addTotp(totpAddition({ factor: totp({ id: `t${index}` }), limit: 2 }))
    )
    deepEqual(tally(apps.map(({ outcome }) => outcome)), { added: 2, full: 48 })
    const {
      totp: { length: totps },
      passkeys: { length: passkeys }
    } = await store.findFactors(ALICE)
    deepEqual([totps, passkeys], [2, 5])
  })

  define('adds one of 50 parallel additions of the same factor', async (store) => {
    const apps = await parallel(50, () => store.addTotp(totpAddition({ limit: 50 })))
    deepEqual(tally(apps.map(({ outcome }) => outcome)), { added: 1, duplicate: 49 })
    const keys = await parallel(50, (index) =>
      store.addPasskey(passkeyAddition({ factor: passkey({ id: `p${index}` }), limit: 50 }))
    )
    deepEqual(tally(keys.map(({ outcome }) => outcome)), { added: 1, duplicate: 49 })
  })

  define(
    'changes the device epoch with each change of factors or two-step sign-in, but not on a use or rename',
    async (store) => {
      const epochs = [0]
      const moves = async (act: () => Promise<unknown>): Promise<void> => {
        await act()
        epochs.push((await store.findFactors(ALICE)).deviceEpoch)
      }
      await moves(() => store.addTotp(totpAddition()))
      await moves(() => store.addPasskey(passkeyAddition({ recoveryDigests: codesOf('a') })))
      await moves(() => store.forgetDevices(ALICE))
      const before = await store.findFactors(ALICE)
      await store.useTotp(totpUse())
      await store.usePasskey(passkeyUse())
      await store.useRecoveryCode({ userId: ALICE, digest: digestOf('a 0') })
      await store.replaceRecoveryCodes(ALICE, codesOf('b'))
      await store.countFailure({ userId: ALICE, max: 1 })
      await store.renameFactor({ userId: ALICE, factorId: 'totp-1', name: 'x' })
      await store.claimHandle(ALICE, handleOf('a'))
      const after = await store.findFactors(ALICE)
      notDeepEqual(after, before)
      equal(after.deviceEpoch, before.deviceEpoch)
      await moves(() => store.removeFactor({ userId: ALICE, factorId: 'totp-1', keepOne: true }))
      await moves(() => store.setTwoStep({ userId: ALICE, on: true }))
      await moves(() => store.setTwoStep({ userId: ALICE, on: false }))
      await moves(() => store.removeFactorsOfUser(ALICE))
      equal(new Set(epochs).size, epochs.length, epochs.join())
    }
  )

  define('sets a new device epoch in each parallel forgetDevices, also without a factor', async (store) => {
    const epochs = await parallel(50, () => store.forgetDevices(ALICE))
    equal(new Set(epochs).size, 50)
    ok(epochs.includes((await store.findFactors(ALICE)).deviceEpoch))
    notEqual((await store.findFactors(ALICE)).deviceEpoch, 0)
    deepEqual(await store.findFactors(BOB), NOTHING)
  })
}
