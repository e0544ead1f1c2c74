import { deepEqual, equal, ok } from 'node:assert/strict'
import { parallel, tally } from '../../../lib/testing/contract.ts'
import {
  ALICE,
  appOf,
  BOB,
  digestOf,
  passkey,
  passkeyAddition,
  passkeyUse,
  totp,
  totpAddition,
  totpUse,
  unchanged,
  type DefineFactorCase
} from './factor-fixtures.ts'
import { T0 } from './token-fixtures.ts'

/** Right codes of authenticator apps, and answered challenges. Part of `factorStoreContract`. */
export function factorUseCases(define: DefineFactorCase): void {
  define('useTotp: accepts a code of a newer step once', async (store) => {
    await store.addTotp(totpAddition({ factor: totp({ failures: 7 }) }))
    for (const step of [100, 99, 0])
      equal(
        await unchanged(store, ALICE, () => store.useTotp(totpUse({ step }))),
        'replayed',
        `step ${step} of the enrolment or before`
      )
    equal(await store.useTotp(totpUse({ step: 102, now: T0 + 9 })), 'used')
    deepEqual(await appOf(store), totp({ lastStep: 102, lastUsedAt: T0 + 9 }), 'and no failure counts any more')
    for (const step of [102, 101])
      equal(
        await unchanged(store, ALICE, () => store.useTotp(totpUse({ step, sealedSecret: 'sealed-2' }))),
        'replayed',
        'an older one after a newer'
      )
    equal(await store.useTotp(totpUse({ step: 103, sealedSecret: 'sealed-2' })), 'used')
    equal((await appOf(store))?.sealedSecret, 'sealed-2')
    equal(await store.useTotp(totpUse({ step: 104 })), 'used')
    equal((await appOf(store))?.sealedSecret, 'sealed-2', 'it stays where none is given')
  })

  define('useTotp: answers unknown for a missing factor or one of another user', async (store) => {
    await store.addTotp(totpAddition())
    await store.addPasskey(passkeyAddition())
    await store.addTotp(totpAddition({ userId: BOB, factor: totp({ id: 'totp-2' }) }))
    for (const fields of [
      { factorId: 'totp-2' },
      { factorId: 'passkey-1' },
      { factorId: '' },
      { userId: 'none' },
      { userId: BOB }
    ]) {
      equal(await unchanged(store, ALICE, () => unchanged(store, BOB, () => store.useTotp(totpUse(fields)))), 'unknown')
    }
  })

  define('useTotp: accepts one of 50 parallel uses of a step', async (store) => {
    await store.addTotp(totpAddition())
    deepEqual(tally(await parallel(50, () => store.useTotp(totpUse()))), { used: 1, replayed: 49 })
  })

  define('useTotp: stores the newest step after parallel uses of 50 steps', async (store) => {
    await store.addTotp(totpAddition())
    const results = await parallel(50, (index) => store.useTotp(totpUse({ step: 101 + ((index * 7) % 50) })))
    ok(results.every((outcome) => outcome === 'used' || outcome === 'replayed'))
    equal((await appOf(store))?.lastStep, 150)
  })

  define('usePasskey: accepts one answer to a challenge, from any passkey of the user', async (store) => {
    await store.addPasskey(passkeyAddition({ factor: passkey({ backupEligible: true }) }))
    await store.addPasskey(passkeyAddition({ factor: passkey({ id: 'passkey-2', credentialId: 'credential-2' }) }))
    await store.addPasskey(passkeyAddition({ userId: BOB }))
    deepEqual(await store.usePasskey(passkeyUse({ signCount: 5, backedUp: true, now: T0 + 9 })), {
      outcome: 'used',
      regressed: false
    })
    const [first] = (await store.findFactors(ALICE)).passkeys
    deepEqual(first, passkey({ backupEligible: true, signCount: 5, backedUp: true, lastUsedAt: T0 + 9 }))
    for (const fields of [{ signCount: 6 }, { signCount: 1 }, { credentialId: 'credential-2' }]) {
      deepEqual(await unchanged(store, ALICE, () => store.usePasskey(passkeyUse(fields))), { outcome: 'replayed' })
    }
    deepEqual(
      await store.usePasskey(passkeyUse({ userId: BOB })),
      { outcome: 'used', regressed: false },
      "what one has claimed is not in another's way"
    )
    deepEqual(await store.usePasskey(passkeyUse({ claim: digestOf('another'), signCount: 6, backedUp: false })), {
      outcome: 'used',
      regressed: false
    })
    equal((await store.findFactors(ALICE)).passkeys[0]?.backedUp, false)
  })

  for (const [stored, given, backupEligible, expected] of [
    [0, 0, false, { outcome: 'used', regressed: false }],
    [0, 1, false, { outcome: 'used', regressed: false }],
    [5, 6, false, { outcome: 'used', regressed: false }],
    [5, 5, false, { outcome: 'regressed' }],
    [5, 4, false, { outcome: 'regressed' }],
    [5, 0, false, { outcome: 'regressed' }],
    [5, 5, true, { outcome: 'used', regressed: true }],
    [5, 0, true, { outcome: 'used', regressed: true }],
    [0, 0, true, { outcome: 'used', regressed: false }],
    [4_294_967_294, 4_294_967_295, false, { outcome: 'used', regressed: false }]
  ] as const) {
    const answers = expected.outcome === 'used' ? 'accepts' : 'rejects'
    define(
      `usePasskey: ${answers} a counter of ${given} after ${stored}${backupEligible ? ' of a synced passkey' : ''}`,
      async (store) => {
        await store.addPasskey(passkeyAddition({ factor: passkey({ signCount: stored, backupEligible }) }))
        if (expected.outcome === 'used') {
          deepEqual(await store.usePasskey(passkeyUse({ signCount: given })), expected)
          equal((await store.findFactors(ALICE)).passkeys[0]?.signCount, given)
        } else {
          deepEqual(await unchanged(store, ALICE, () => store.usePasskey(passkeyUse({ signCount: given }))), expected)
          deepEqual(
            await store.usePasskey(passkeyUse({ signCount: 9 })),
            { outcome: 'used', regressed: false },
            'and the challenge is not claimed'
          )
        }
      }
    )
  }

  define('usePasskey: answers unknown for a missing or foreign credential, and claims nothing', async (store) => {
    await store.addPasskey(passkeyAddition())
    await store.addPasskey(passkeyAddition({ userId: BOB, factor: passkey({ credentialId: 'credential-2' }) }))
    for (const fields of [
      { credentialId: 'credential-2' },
      { credentialId: 'passkey-1' },
      { userId: BOB },
      { userId: 'none' }
    ]) {
      deepEqual(
        await unchanged(store, ALICE, () => unchanged(store, BOB, () => store.usePasskey(passkeyUse(fields)))),
        { outcome: 'unknown' }
      )
    }
    deepEqual(await store.usePasskey(passkeyUse()), { outcome: 'used', regressed: false })
  })

  define('usePasskey: accepts one of 50 parallel answers to a challenge', async (store) => {
    await store.addPasskey(passkeyAddition())
    await store.addPasskey(passkeyAddition({ factor: passkey({ id: 'passkey-2', credentialId: 'credential-2' }) }))
    const results = await parallel(50, (index) =>
      store.usePasskey(passkeyUse({ credentialId: `credential-${1 + (index % 2)}`, signCount: 1 + index }))
    )
    deepEqual(tally(results.map(({ outcome }) => outcome)), { used: 1, replayed: 49 })
  })

  define('usePasskey: stores the greatest counter of parallel answers', async (store) => {
    await store.addPasskey(passkeyAddition())
    const results = await parallel(50, (index) =>
      store.usePasskey(passkeyUse({ claim: digestOf(`c${index}`), signCount: 1 + ((index * 7) % 50) }))
    )
    ok(results.every(({ outcome }) => outcome === 'used' || outcome === 'regressed'))
    equal((await store.findFactors(ALICE)).passkeys[0]?.signCount, 50)
  })

  define('usePasskey: remembers a claim until its end', async (store, { store: swept }) => {
    await store.addPasskey(passkeyAddition())
    const use = passkeyUse({ claimExpiresAt: T0 + 600_000 })
    equal((await store.usePasskey(use)).outcome, 'used')
    await swept.sweep?.(T0 + 599_999)
    equal((await store.usePasskey({ ...use, now: T0 + 599_999 })).outcome, 'replayed')
    await swept.sweep?.(T0 + 600_000)
    equal((await store.findFactors(ALICE)).passkeys.length, 1, 'and a sweep takes nothing else')
  })
}
