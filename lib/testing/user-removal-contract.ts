import { deepEqual, equal, notEqual, ok } from 'node:assert/strict'
import type { User } from '../ports/user-store.ts'
import { HOSTILE_STRINGS, parallel, tally } from './contract.ts'
import {
  add,
  addMany,
  ALICE,
  BOB,
  CAROL,
  type DefineUserCase,
  method,
  newUser,
  type OptionalUserStoreMethod,
  outcomeOf,
  ownerOf,
  ROUNDS,
  saidOf,
  subjectOf
} from './user-fixtures.ts'

/** Normalizes a user for comparison, without the version, because each store counts versions in its own way. */
function saidBut(user: User | null): Record<string, unknown> {
  const { version: _version, ...said } = saidOf(user)
  return said
}

/** The cases of `remove`. `has`: true for an optional method that the suite expects. */
export function userRemovalCases(define: DefineUserCase, has: (name: OptionalUserStoreMethod) => boolean): void {
  define('remove', 'removes only the user with that id, and ignores an unknown id', async (subject) => {
    const { id } = await add(subject, newUser({ email: ALICE }))
    const bob = await add(subject, newUser({ username: BOB }))
    const remove = method(subject.store, 'remove')
    for (const given of ['none', ALICE, ...HOSTILE_STRINGS.map(([, value]) => value)]) await remove(given)
    ok(await subject.store.findById(id), 'a username is no id')
    await remove(id)
    await remove(id)
    equal(await subject.store.findById(id), null)
    equal(await subject.store.findByUsername(ALICE), null)
    deepEqual(saidBut(await subject.store.findByUsername(BOB)), saidBut(bob))
  })

  define('remove', 'frees the username for a new user with another id', async (subject) => {
    if (!has('create')) return
    const create = method(subject.store, 'create')
    const first = await create(newUser({ emailVerified: true }))
    await method(subject.store, 'remove')(first.id)
    const second = await create(newUser({ passwordHash: 'hash-1' }))
    notEqual(second.id, first.id)
    deepEqual([second.passwordHash, second.emailVerified ?? false], ['hash-1', false], 'nothing is left of the first')
    equal(await subject.store.findById(first.id), null)
  })

  define('remove', 'resolves in each of 20 parallel calls for the same user', async (subject) => {
    const { id } = await add(subject, newUser())
    deepEqual(tally(await parallel(20, () => outcomeOf(method(subject.store, 'remove')(id)))), { resolved: 20 })
    equal(await subject.store.findById(id), null)
  })

  define('remove', 'removes the user despite parallel writes, and later writes find no user', async (subject) => {
    const { id } = await add(subject, newUser({ emailVerified: false }))
    const { store } = subject
    const writes = (): Array<Promise<unknown>> => [
      ...(has('update')
        ? [method(store, 'update')(id, { username: CAROL }), method(store, 'update')(id, { emailVerified: true })]
        : []),
      ...(has('setPasswordHash')
        ? [method(store, 'setPasswordHash')(id, 'hash-1'), method(store, 'setPasswordHash')(id, 'hash-2', 'hash-0')]
        : []),
      ...(has('setEmailVerified') ? [method(store, 'setEmailVerified')(id)] : [])
    ]
    await Promise.all([...writes(), method(store, 'remove')(id), ...writes()])
    const found = await Promise.all([store.findById(id), store.findByUsername(ALICE), store.findByUsername(CAROL)])
    deepEqual(found, [null, null, null])
    const late = await Promise.all(writes())
    ok(
      late.every((answer) => answer === null || answer === false || answer === undefined),
      'and what comes after finds nobody'
    )
    equal(await store.findById(id), null)
  })

  define('remove', 'removes the links of the user, and frees their identities', async (subject) => {
    if (!has('linkIdentity')) return
    const { store } = subject
    const { id } = await add(subject, newUser())
    const bob = await add(subject, newUser({ username: BOB }))
    for (const index of [0, 1]) await method(store, 'linkIdentity')(id, subjectOf(index))
    await method(store, 'linkIdentity')(bob.id, subjectOf(2))
    await method(store, 'remove')(id)
    deepEqual(await method(store, 'listIdentities')(id), [])
    deepEqual(
      [
        await ownerOf(subject, subjectOf(0)),
        await ownerOf(subject, subjectOf(1)),
        await ownerOf(subject, subjectOf(2))
      ],
      [null, null, bob.id]
    )
    equal(await method(store, 'linkIdentity')(id, subjectOf(0)), 'unknown_user')
    equal(await method(store, 'unlinkIdentity')(id, subjectOf(0), true), 'unknown')
    equal(await method(store, 'linkIdentity')(bob.id, subjectOf(0)), 'linked')
  })

  define('remove', 'leaves no link that a parallel call adds', async (subject) => {
    if (!has('linkIdentity')) return
    const { store } = subject
    const users = await addMany(subject, ROUNDS)
    const next = await add(subject, newUser({ username: BOB }))
    for (const [round, { id }] of users.entries()) {
      const first = round % 2 === 0 ? [] : [method(store, 'remove')(id)]
      const linking = method(store, 'linkIdentity')(id, subjectOf(round))
      await Promise.all([linking, first[0] ?? method(store, 'remove')(id)])
      ok(['linked', 'unknown_user'].includes(await linking))
      deepEqual([await ownerOf(subject, subjectOf(round)), await method(store, 'listIdentities')(id)], [null, []])
      equal(await method(store, 'linkIdentity')(next.id, subjectOf(round)), 'linked', 'the identity is free')
    }
  })
}

/** The cases of `setEmailVerified` and `emailProvedAt`. Part of `userStoreContract`. */
export function userVerificationCases(define: DefineUserCase): void {
  define(
    'setEmailVerified',
    'verifies a user only if the given address is their email, or their username if they have no email',
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

  define('setEmailVerified', 'verifies only that user, is idempotent, and ignores an unknown id', async (subject) => {
    const { id } = await add(subject, newUser({ email: ALICE, emailVerified: false }))
    const bob = await add(subject, newUser({ username: BOB, emailVerified: false }))
    const setVerified = method(subject.store, 'setEmailVerified')
    await setVerified(id)
    await setVerified(id)
    for (const none of ['none', ...HOSTILE_STRINGS.map(([, value]) => value)]) await setVerified(none)
    equal((await subject.store.findById(id))?.emailVerified, true)
    notEqual((await subject.store.findById(bob.id))?.emailVerified, true)
    equal(await subject.store.findById('none'), null)
  })

  define(
    'setEmailVerified',
    'sets emailProvedAt only for the current address and a given time, if the store has the field',
    async (subject) => {
      const { id } = await add(subject, newUser({ email: ALICE, emailVerified: true, emailProvedAt: 0 }))
      const setVerified = method(subject.store, 'setEmailVerified')
      const provedAt = async (): Promise<unknown> => (await subject.store.findById(id))?.emailProvedAt
      // Skips the rest for a host without a column for `emailProvedAt`.
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
