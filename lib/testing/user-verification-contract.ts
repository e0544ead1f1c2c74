import { deepEqual, equal, notEqual } from 'node:assert/strict'
import { HOSTILE_STRINGS } from './contract.ts'
import { add, ALICE, BOB, type DefineUserCase, method, newUser } from './user-fixtures.ts'

/** The cases of `setEmailVerified` and `emailProvedAt`. Part of `userStoreContract`. */
export function userVerificationCases(define: DefineUserCase): void {
  define(
    'setEmailVerified',
    'marks no address but the one that it names: of the user by then, which is the username where there is no other',
    async (subject) => {
      const { id } = await add(subject, newUser({ email: ALICE, emailVerified: false }))
      const bob = await add(subject, newUser({ username: BOB, emailVerified: false }))
      const setVerified = method(subject.store, 'setEmailVerified')
      const verified = async (): Promise<boolean[]> =>
        await Promise.all([id, bob.id].map(async (one) => (await subject.store.findById(one))?.emailVerified === true))
      for (const other of [BOB, '', `${ALICE} `, '%', ...HOSTILE_STRINGS.map(([, value]) => value)])
        await setVerified(id, other)
      for (const other of [ALICE, '']) await setVerified(bob.id, other)
      deepEqual(await verified(), [false, false])
      await setVerified(id, ALICE)
      await setVerified(bob.id, BOB)
      deepEqual(await verified(), [true, true])
    }
  )

  define('setEmailVerified', 'is idempotent, and does nothing where there is no such user', async (subject) => {
    const { id } = await add(subject, newUser({ email: ALICE, emailVerified: false }))
    const bob = await add(subject, newUser({ username: BOB, emailVerified: false }))
    const setVerified = method(subject.store, 'setEmailVerified')
    await setVerified(id)
    await setVerified(id)
    await setVerified('none')
    equal((await subject.store.findById(id))?.emailVerified, true)
    notEqual((await subject.store.findById(bob.id))?.emailVerified, true)
    equal(await subject.store.findById('none'), null)
  })

  define(
    'setEmailVerified',
    'keeps when the address was proved, where it keeps that at all, and only for the address that it names',
    async (subject) => {
      const { id } = await add(subject, newUser({ email: ALICE, emailVerified: true, emailProvedAt: 0 }))
      const setVerified = method(subject.store, 'setEmailVerified')
      const provedAt = async (): Promise<unknown> => (await subject.store.findById(id))?.emailProvedAt
      // A host may have no column for it.
      if (((await provedAt()) ?? null) === null) return
      equal(Number(await provedAt()), 0)
      await setVerified(id, ALICE)
      equal(Number(await provedAt()), 0, 'without a time it stays as it is')
      await setVerified(id, BOB, 1_700_000_000_000)
      equal(Number(await provedAt()), 0, 'another address was proved')
      await setVerified(id, ALICE, 1_700_000_000_000)
      equal(Number(await provedAt()), 1_700_000_000_000)
    }
  )
}
