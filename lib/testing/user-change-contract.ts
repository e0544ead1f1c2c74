import { deepEqual, equal, notEqual, ok, rejects } from 'node:assert/strict'
import type { User, UserPatch } from '../ports/user-store.ts'
import { HOSTILE_STRINGS, parallel, tally } from './contract.ts'
import {
  ALICE,
  BOB,
  CAROL,
  CODE,
  add,
  method,
  newUser,
  outcomeOf,
  saidOf,
  type DefineUserCase,
  type OptionalUserStoreMethod
} from './user-fixtures.ts'

/** The email address of a user. A store may have no column `email` if the username is the address. */
const addressIn = (user: User | null): string | null | undefined => user?.email ?? user?.username

/** The cases of `update`. `has`: true for an optional method that the suite expects. */
export function userChangeCases(define: DefineUserCase, has: (name: OptionalUserStoreMethod) => boolean): void {
  define('update', 'changes only the fields in the patch, and returns the changed user', async (subject) => {
    const { id } = await add(subject, newUser({ email: ALICE, emailVerified: false }))
    const bob = await add(subject, newUser({ username: BOB, passwordHash: 'hash-b' }))
    const patch: UserPatch = { emailVerified: true }
    const changed = await method(subject.store, 'update')(id, patch)
    deepEqual(patch, { emailVerified: true }, 'what was given is left as it was')
    const found = await subject.store.findById(id)
    deepEqual(saidOf(changed), saidOf(found))
    deepEqual(
      [found?.id, found?.username, found?.passwordHash, addressIn(found), found?.emailVerified],
      [id, ALICE, 'hash-0', ALICE, true]
    )
    deepEqual(saidOf(await subject.store.findById(bob.id)), saidOf(bob), 'another user stays')
  })

  define('update', 'leaves undefined fields unchanged, and accepts an empty patch', async (subject) => {
    const { id } = await add(subject, newUser({ email: ALICE, emailVerified: true }))
    for (const patch of [{}, { username: undefined, email: undefined, emailVerified: undefined }]) {
      const changed = await method(subject.store, 'update')(id, patch)
      deepEqual([changed?.username, addressIn(changed), changed?.emailVerified], [ALICE, ALICE, true])
    }
  })

  define('update', 'removes a field that is null in the patch', async (subject) => {
    const { id } = await add(subject, newUser({ username: 'alice', email: ALICE, emailVerified: true }))
    await method(subject.store, 'update')(id, { email: null, emailVerified: null })
    const found = await subject.store.findById(id)
    ok([undefined, null, 'alice'].includes(found?.email), `the email is removed, and not ${found?.email}`)
    notEqual(found?.emailVerified, true)
    equal(found?.username, 'alice')
  })

  define('update', 'stores a profile field exactly as given, or not at all', async (subject) => {
    const { id } = await add(subject, newUser())
    const update = method(subject.store, 'update')
    await update(id, { nickname: 'Al', city: 'Bern' })
    const kept = (await subject.store.findById(id))?.['nickname']
    ok([undefined, null, 'Al'].includes(kept as string), 'as it was given')
    await update(id, { nickname: null })
    const found = await subject.store.findById(id)
    equal(found?.['nickname'] ?? null, null)
    equal(found?.['city'] ?? null, kept === 'Al' ? 'Bern' : null, 'what the second patch does not name')
  })

  define('update', 'returns null for an unknown user, and creates none', async ({ store }) => {
    const update = method(store, 'update')
    for (const id of ['none', ...HOSTILE_STRINGS.map(([, value]) => value)]) {
      equal(await update(id, { username: ALICE }), null)
      equal(await update(id, { emailVerified: true }, 1), null)
    }
    equal(await store.findByUsername(ALICE), null)
  })

  define('update', 'ignores an id and a password hash in the patch', async (subject) => {
    const { id } = await add(subject, newUser())
    const changed = await method(subject.store, 'update')(id, {
      id: 'chosen',
      passwordHash: 'chosen',
      emailVerified: true
    })
    deepEqual([changed?.id, changed?.passwordHash, changed?.emailVerified], [id, 'hash-0', true])
    equal(await subject.store.findById('chosen'), null)
    equal((await subject.store.findByUsername(ALICE))?.passwordHash, 'hash-0')
  })

  define('update', 'changes username and email together, and frees the former username', async (subject) => {
    const { id } = await add(subject, newUser({ email: ALICE, emailVerified: false }))
    const changed = await method(subject.store, 'update')(id, { username: CAROL, email: CAROL, emailVerified: true })
    for (const user of [changed, await subject.store.findById(id), await subject.store.findByUsername(CAROL)]) {
      deepEqual([user?.id, user?.username, addressIn(user), user?.emailVerified], [id, CAROL, CAROL, true])
    }
    equal(await subject.store.findByUsername(ALICE), null)
    if (!has('create')) return
    const next = await method(subject.store, 'create')(newUser())
    notEqual(next.id, id, 'the former name is free')
  })

  define('update', 'rejects a taken username, and writes nothing of the patch', async (subject) => {
    const { id } = await add(subject, newUser({ email: ALICE, emailVerified: false }))
    const bob = await add(subject, newUser({ username: BOB, passwordHash: 'hash-b' }))
    await rejects(method(subject.store, 'update')(id, { username: BOB, email: BOB, emailVerified: true }), {
      code: CODE
    })
    const found = await subject.store.findById(id)
    deepEqual([found?.username, addressIn(found), found?.emailVerified ?? false], [ALICE, ALICE, false])
    deepEqual(saidOf(await subject.store.findByUsername(BOB)), saidOf(bob))
    equal(
      (await method(subject.store, 'update')(id, { username: ALICE, emailVerified: true }))?.emailVerified,
      true,
      "the user's own name is not taken"
    )
  })

  define(
    'update',
    'gives a username to one of 20 users in parallel updates, and rejects the others',
    async (subject) => {
      const users: User[] = []
      for (let index = 0; index < 20; index++)
        users.push(await add(subject, newUser({ username: `user-${index}@example.com` })))
      const outcomes = await parallel(20, (index) =>
        outcomeOf(method(subject.store, 'update')(users[index]?.id ?? '', { username: CAROL, email: CAROL }))
      )
      deepEqual(tally(outcomes), { resolved: 1, [CODE]: 19 }, 'UsernameTakenError for the 19 others')
      const winner = users[outcomes.indexOf('resolved')]
      equal((await subject.store.findByUsername(CAROL))?.id, winner?.id)
      for (const [index, user] of users.entries()) {
        if (user !== winner)
          equal(
            (await subject.store.findByUsername(`user-${index}@example.com`))?.id,
            user.id,
            'a loser has the name of before'
          )
      }
    }
  )

  define('update', 'gives a username to only one of a parallel update and create', async (subject) => {
    if (!has('create')) return
    const { id } = await add(subject, newUser())
    const outcomes = await Promise.all([
      outcomeOf(method(subject.store, 'update')(id, { username: CAROL })),
      outcomeOf(method(subject.store, 'create')(newUser({ username: CAROL, passwordHash: 'hash-c' })))
    ])
    deepEqual(tally(outcomes), { resolved: 1, [CODE]: 1 })
    equal((await subject.store.findByUsername(CAROL))?.passwordHash, outcomes[0] === 'resolved' ? 'hash-0' : 'hash-c')
  })

  define(
    'update',
    'returns null and writes nothing for an outdated expected version, if the store has versions',
    async (subject) => {
      const { id, version } = await add(subject, newUser({ emailVerified: false }))
      if (version === undefined || version === null) return
      const update = method(subject.store, 'update')
      const first = await update(id, { emailVerified: true }, version)
      equal(first?.emailVerified, true)
      notEqual(first?.version, version, 'it is another one after each update')
      equal(await update(id, { emailVerified: false, username: CAROL }, version), null)
      equal(
        await update(id, { emailVerified: false }, typeof version === 'number' ? String(version) : 0),
        null,
        'a value of another type is another version'
      )
      const found = await subject.store.findById(id)
      deepEqual(
        [found?.username, found?.emailVerified, found?.version],
        [ALICE, true, first?.version],
        'nothing is written'
      )
      equal((await update(id, { emailVerified: false }, first?.version ?? 0))?.emailVerified ?? false, false)
    }
  )

  define(
    'update',
    'applies one of 20 parallel updates with the same expected version, if the store has versions',
    async (subject) => {
      const { id, version } = await add(subject, newUser())
      if (version === undefined || version === null) return
      const results = await parallel(20, (index) =>
        method(subject.store, 'update')(id, { username: `user-${index}@example.com` }, version)
      )
      equal(results.filter((user) => user !== null).length, 1)
      const winner = results.findIndex((user) => user !== null)
      equal((await subject.store.findById(id))?.username, `user-${winner}@example.com`)
    }
  )

  define('update', 'loses no change in parallel updates of different fields and of the password', async (subject) => {
    const { id } = await add(subject, newUser({ emailVerified: false }))
    const update = method(subject.store, 'update')
    await Promise.all([
      update(id, { username: CAROL }),
      update(id, { emailVerified: true }),
      ...(has('setPasswordHash') ? [method(subject.store, 'setPasswordHash')(id, 'hash-1', 'hash-0')] : [])
    ])
    const found = await subject.store.findById(id)
    deepEqual(
      [found?.username, found?.emailVerified, found?.passwordHash],
      [CAROL, true, has('setPasswordHash') ? 'hash-1' : 'hash-0']
    )
  })

  for (const [label, value] of HOSTILE_STRINGS) {
    define('update', `keeps a username and an email unchanged: ${label}`, async (subject) => {
      const { id } = await add(subject, newUser())
      await method(subject.store, 'update')(id, { username: value, email: value })
      const found = await subject.store.findByUsername(value)
      deepEqual([found?.id, found?.username, addressIn(found)], [id, value, value])
    })
  }

  define('update', 'returns a copy of the user', async (subject) => {
    const { id } = await add(subject, newUser())
    const changed = await method(subject.store, 'update')(id, { emailVerified: true })
    ok(changed)
    changed.username = 'changed'
    equal((await subject.store.findById(id))?.username, ALICE)
  })
}
