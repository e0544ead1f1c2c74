import { deepEqual, equal, notEqual, ok, rejects } from 'node:assert/strict'
import { pageFrom } from '../boundary/answers.ts'
import { hostUserStore } from '../boundary/host-stores.ts'
import { steppedClock } from './doubles.ts'
import { HOSTILE_STRINGS, caseOf, parallel, tally } from './contract.ts'
import type { ContractCase } from './contract.ts'
import { identityCreationCases } from './identity-creation-contract.ts'
import { identityRemovalCases, userIdentityCases } from './user-identity-contract.ts'
import { userListCases } from './user-list-contract.ts'
import { userChangeCases } from './user-change-contract.ts'
import { userRemovalCases, userVerificationCases } from './user-removal-contract.ts'
import {
  ALICE,
  BOB,
  CODE,
  add,
  method,
  newUser,
  outcomeOf,
  saidOf,
  type DefineUserCase,
  type OptionalUserStoreMethod,
  type UserStoreSubject
} from './user-fixtures.ts'

/**
 * Wraps the store as the plugin does. The wrapper turns `undefined` into `null`, and reads 0, 1 and a Date as booleans.
 * A call rejects if the store returns another wrong value. Unlike the plugin, `list` keeps users above the `limit`, so
 * that a case finds them.
 */
function asRead<Subject extends UserStoreSubject>(subject: Subject): Subject {
  const { store } = subject
  const read = hostUserStore(store, steppedClock())
  if (read.list !== undefined) read.list = async (query) => pageFrom('users.list', await store.list?.(query), Infinity)
  return { ...subject, store: read }
}

/**
 * The contract of every `UserStore`. The suite also suits stores with one column for username and email address. `make`
 * is called for each case and returns a store without users. `without` lists the optional methods that your store omits
 * on purpose.
 */
export function userStoreContract(
  make: () => Promise<UserStoreSubject>,
  without: readonly OptionalUserStoreMethod[] = []
): ContractCase[] {
  const cases: ContractCase[] = []
  const define: DefineUserCase = (needs, name, check) => {
    if (needs === null || !without.includes(needs))
      cases.push(caseOf(make, `${needs ?? 'find'}: ${name}`, (subject) => check(asRead(subject))))
  }

  /** Defines a case that a store without the method skips. Most services need neither `list` nor `setDisabled`. */
  const defineWhere: DefineUserCase = (needs, name, check) => {
    define(needs, name, async (subject) => {
      if (needs === null || subject.store[needs] !== undefined) await check(subject)
    })
  }

  define(null, 'returns null for an unknown id or username', async ({ store }) => {
    equal(await store.findById('none'), null)
    equal(await store.findByUsername('none'), null)
    for (const [, value] of HOSTILE_STRINGS) {
      equal(await store.findById(value), null)
      equal(await store.findByUsername(value), null)
    }
  })

  define(null, 'finds a user by the whole email, in any case of its letters', async (subject) => {
    const { store } = subject
    if (store.findByEmail === undefined) return
    const idsBy = async (email: string): Promise<string[]> =>
      ((await store.findByEmail?.(email)) ?? []).map(({ id }) => id).toSorted((a, b) => (a < b ? -1 : 1))
    // Gives the user the same username and email address, because a schema may have one column for both.
    const alice = await add(subject, newUser({ email: ALICE }))
    deepEqual(await idsBy(ALICE), [alice.id])
    deepEqual(await idsBy('Alice@Example.com'), [alice.id])
    for (const other of [BOB, '', `${ALICE} `, '%', ...HOSTILE_STRINGS.map(([, value]) => value)])
      deepEqual(await idsBy(other), [])
  })

  define(null, 'finds the user by id and by username', async (subject) => {
    const alice = await add(subject, newUser())
    const bob = await add(subject, newUser({ username: BOB, passwordHash: 'hash-b' }))
    notEqual(alice.id, bob.id)
    deepEqual(saidOf(await subject.store.findById(alice.id)), saidOf(alice))
    deepEqual(saidOf(await subject.store.findByUsername(ALICE)), saidOf(alice))
    equal((await subject.store.findByUsername(BOB))?.id, bob.id)
    equal(await subject.store.findByUsername(alice.id), null, 'an id is no username')
    equal(await subject.store.findById(ALICE), null, 'a username is no id')
  })

  define(null, 'returns copies of users', async (subject) => {
    const alice = await add(subject, newUser())
    const first = await subject.store.findById(alice.id)
    ok(first)
    first.passwordHash = 'changed'
    first.disabled = true
    alice.username = 'changed'
    const second = await subject.store.findById(first.id)
    equal(second?.passwordHash, 'hash-0')
    equal(second?.username, ALICE)
    notEqual(second?.disabled, true)
  })

  define('create', 'returns the user as given, with a generated id', async ({ store }) => {
    const given = newUser({ email: ALICE, emailVerified: false })
    const created = await method(store, 'create')(given)
    ok(typeof created.id === 'string' && created.id.length > 0)
    for (const user of [created, await store.findById(created.id)]) {
      ok(user)
      // If the username is the address, a store may have no other column for it.
      deepEqual(
        [user.username, user.passwordHash, user.email ?? user.username, user.emailVerified === true],
        [ALICE, 'hash-0', ALICE, false]
      )
    }
    deepEqual(given, newUser({ email: ALICE, emailVerified: false }), 'what was given is left as it was')
  })

  define('create', 'returns the given email, the username or nothing as the email', async ({ store }) => {
    const created = await method(store, 'create')(newUser({ email: 'apart@example.com' }))
    for (const user of [created, await store.findById(created.id)]) {
      ok(user)
      equal(user.username, ALICE)
      ok([undefined, null, 'apart@example.com', ALICE].includes(user.email), `nobody's address: ${user.email}`)
    }
  })

  define('create', 'generates the id, and ignores a given one', async ({ store }) => {
    const created = await method(store, 'create')(newUser({ id: 'chosen' }))
    notEqual(created.id, 'chosen')
    equal(await store.findById('chosen'), null)
  })

  define('create', 'rejects a taken username, and leaves its user unchanged', async ({ store }) => {
    const first = await method(store, 'create')(newUser())
    await rejects(method(store, 'create')(newUser({ passwordHash: 'hash-other' })), { code: CODE })
    deepEqual(saidOf(await store.findByUsername(ALICE)), saidOf(first))
  })

  define('create', 'creates one user in 50 parallel calls with the same username', async ({ store }) => {
    const outcomes = await parallel(50, (index) =>
      outcomeOf(method(store, 'create')(newUser({ passwordHash: `hash-${index}` })))
    )
    deepEqual(tally(outcomes), { resolved: 1, [CODE]: 49 }, 'UsernameTakenError for the 49 others')
    const winner = outcomes.indexOf('resolved')
    equal(
      (await store.findByUsername(ALICE))?.passwordHash,
      `hash-${winner}`,
      'the one that resolved is the one stored'
    )
  })

  define(
    'create',
    'creates 50 users with different ids in 50 parallel calls with different usernames',
    async ({ store }) => {
      const users = await parallel(50, (index) =>
        method(store, 'create')(newUser({ username: `user-${index}@example.com` }))
      )
      equal(new Set(users.map(({ id }) => id)).size, 50)
    }
  )

  for (const [label, value] of HOSTILE_STRINGS) {
    define('create', `keeps a username and a hash unchanged: ${label}`, async ({ store }) => {
      const created = await method(store, 'create')({ username: value, passwordHash: value })
      const found = await store.findByUsername(value)
      equal(found?.id, created.id)
      equal(found?.username, value)
      equal(found?.passwordHash, value)
      await rejects(method(store, 'create')({ username: value, passwordHash: 'x' }), { code: CODE })
      equal(await store.findByUsername(`${value}x`), null)
    })
  }

  define('setPasswordHash', 'replaces the hash, and returns whether the user exists', async (subject) => {
    const { id } = await add(subject, newUser())
    const set = method(subject.store, 'setPasswordHash')
    equal(await set(id, 'hash-1'), true)
    equal((await subject.store.findById(id))?.passwordHash, 'hash-1')
    equal((await subject.store.findByUsername(ALICE))?.passwordHash, 'hash-1')
    for (const none of ['none', ...HOSTILE_STRINGS.map(([, value]) => value)]) {
      equal(await set(none, 'hash-2'), false)
      equal(await set(none, 'hash-2', 'hash-1'), false)
    }
  })

  define('setPasswordHash', 'replaces the hash only if it equals `expected`', async (subject) => {
    const { id } = await add(subject, newUser())
    const set = method(subject.store, 'setPasswordHash')
    equal(await set(id, 'hash-1', 'another'), false)
    equal(await set(id, 'hash-1', null), false, 'null is a value to compare with')
    equal((await subject.store.findById(id))?.passwordHash, 'hash-0', 'nothing is written')
    equal(await set(id, 'hash-1', 'hash-0'), true)
    equal((await subject.store.findById(id))?.passwordHash, 'hash-1')
  })

  define(
    'setPasswordHash',
    'removes the hash if the new one is null and the old one equals `expected`',
    async (subject) => {
      const { id } = await add(subject, newUser())
      const set = method(subject.store, 'setPasswordHash')
      equal(await set(id, null, 'another'), false)
      equal((await subject.store.findById(id))?.passwordHash, 'hash-0', 'nothing is written')
      equal(await set(id, null, 'hash-0'), true)
      equal((await subject.store.findById(id))?.passwordHash, null)
      equal(await set(id, 'hash-1', 'hash-0'), false, 'a new hash of the removed password is not written')
      equal(await set('none', null), false)
    }
  )

  define(
    'setPasswordHash',
    'sets `passwordChangedAt` to the given time when it writes the hash, if the store keeps it',
    async (subject) => {
      const { id } = await add(subject, newUser())
      const set = method(subject.store, 'setPasswordHash')
      const changedAt = async (): Promise<number | null> => {
        const at = (await subject.store.findById(id))?.passwordChangedAt
        return at === undefined || at === null ? null : Number(at)
      }
      const AT = 1_767_225_600_000
      equal(await set(id, 'hash-1', 'hash-0', AT), true)
      const told = await changedAt()
      ok(told === null || told === AT, 'the time that was given, to the millisecond')
      equal(await set(id, 'hash-2', 'another', AT + 1000), false)
      equal(await set(id, 'hash-2', 'hash-1'), true)
      equal(
        await changedAt(),
        told,
        'a new hash of the same password does not move it, and neither does one that is not written'
      )
      equal(await set(id, 'hash-3', undefined, AT + 2000), true)
      equal(await changedAt(), told === null ? null : AT + 2000, 'whatever hash was there')
    }
  )

  define(
    'setPasswordHash',
    'replaces the hash in one of 50 parallel calls with the same `expected`',
    async (subject) => {
      const { id } = await add(subject, newUser())
      const results = await parallel(50, (index) =>
        method(subject.store, 'setPasswordHash')(id, `next-${index}`, 'hash-0')
      )
      equal(results.filter(Boolean).length, 1)
      equal((await subject.store.findById(id))?.passwordHash, `next-${results.indexOf(true)}`)
    }
  )

  define('setPasswordHash', 'changes only the hash of that user', async (subject) => {
    const { id } = await add(subject, newUser())
    const bob = await add(subject, newUser({ username: BOB }))
    await method(subject.store, 'setPasswordHash')(id, 'hash-1', 'hash-0')
    equal((await subject.store.findById(bob.id))?.passwordHash, 'hash-0')
  })

  const has = (name: OptionalUserStoreMethod): boolean => !without.includes(name)
  userVerificationCases(define)
  userChangeCases(define, has)
  userListCases(defineWhere, has)
  userRemovalCases(define, has)
  userIdentityCases(define)
  identityRemovalCases(define)
  identityCreationCases(define, has)
  return cases
}
