import { deepEqual, equal, notEqual, ok, rejects } from 'node:assert/strict'
import { parallel, tally } from './contract.ts'
import {
  add,
  ALICE,
  BOB,
  CODE,
  type DefineUserCase,
  IDENTITY_CODE,
  method,
  newLink,
  newUser,
  numbered,
  type OptionalUserStoreMethod,
  outcomeOf,
  ownerOf,
  ROUNDS,
  subjectOf
} from './user-fixtures.ts'

/** The cases of `createWithIdentity`. `has`: true for an optional method that the suite expects. */
export function identityCreationCases(define: DefineUserCase, has: (name: OptionalUserStoreMethod) => boolean): void {
  define('createWithIdentity', 'creates a user with a generated id, the link and no password', async (subject) => {
    const { store } = subject
    const given = newUser({ passwordHash: null, email: ALICE, emailVerified: true, id: 'chosen' })
    const created = await method(store, 'createWithIdentity')(given, newLink({ email: ALICE }))
    notEqual(created.id, 'chosen')
    for (const user of [
      created,
      await store.findById(created.id),
      await store.findByUsername(ALICE),
      await method(store, 'findByIdentity')(newLink())
    ]) {
      deepEqual(
        [user?.id, user?.username, user?.passwordHash, user?.email ?? user?.username, user?.emailVerified],
        [created.id, ALICE, null, ALICE, true]
      )
    }
    deepEqual(await method(store, 'listIdentities')(created.id), [newLink({ email: ALICE })])
    equal(await method(store, 'unlinkIdentity')(created.id, newLink(), false), 'last_sign_in_method')
  })

  define('createWithIdentity', 'rejects a taken username or identity, and writes nothing', async (subject) => {
    const { store } = subject
    const create = method(store, 'createWithIdentity')
    const first = await create(newUser({ passwordHash: null }), newLink())
    await rejects(create(newUser({ passwordHash: null }), subjectOf(1)), { code: CODE })
    await rejects(create(newUser({ username: BOB, passwordHash: null }), newLink({ connection: 'other' })), {
      code: IDENTITY_CODE
    })
    equal(await ownerOf(subject, subjectOf(1)), null)
    equal(await store.findByUsername(BOB), null)
    equal(await ownerOf(subject, newLink()), first.id)
    deepEqual(await method(store, 'listIdentities')(first.id), [newLink()])
  })

  define('createWithIdentity', 'creates one user in 50 parallel calls with the same identity', async (subject) => {
    const { store } = subject
    const outcomes = await parallel(50, (index) =>
      outcomeOf(
        method(store, 'createWithIdentity')(newUser({ username: numbered(index), passwordHash: null }), newLink())
      )
    )
    deepEqual(tally(outcomes), { resolved: 1, [IDENTITY_CODE]: 49 }, 'IdentityTakenError for the 49 others')
    const winner = outcomes.indexOf('resolved')
    for (let index = 0; index < 50; index++)
      equal((await store.findByUsername(numbered(index))) !== null, index === winner)
    equal((await method(store, 'findByIdentity')(newLink()))?.username, numbered(winner))
  })

  define(
    'createWithIdentity',
    'creates one user with one link in 50 parallel calls with the same username',
    async (subject) => {
      const outcomes = await parallel(50, (index) =>
        outcomeOf(method(subject.store, 'createWithIdentity')(newUser({ passwordHash: null }), subjectOf(index)))
      )
      deepEqual(tally(outcomes), { resolved: 1, [CODE]: 49 }, 'UsernameTakenError for the 49 others')
      const winner = outcomes.indexOf('resolved')
      for (let index = 0; index < 50; index++)
        equal((await ownerOf(subject, subjectOf(index))) !== null, index === winner)
    }
  )

  define(
    'createWithIdentity',
    'never shares its identity or username with a parallel linkIdentity or create',
    async (subject) => {
      const { store } = subject
      for (let round = 0; round < ROUNDS; round++) {
        const username = numbered(round)
        const link = subjectOf(round)
        const other = await add(subject, newUser({ username: `other-${username}`, passwordHash: null }))
        const linkFirst = round % 2 === 0 ? [] : [method(store, 'linkIdentity')(other.id, link)]
        const creation = outcomeOf(method(store, 'createWithIdentity')(newUser({ username, passwordHash: null }), link))
        const [created, linked, signedUp] = await Promise.all([
          creation,
          linkFirst[0] ?? method(store, 'linkIdentity')(other.id, link),
          has('create') ? outcomeOf(method(store, 'create')(newUser({ username }))) : creation
        ])
        const owner = await ownerOf(subject, link)
        const named = await store.findByUsername(username)
        if (created === 'resolved') deepEqual([linked, owner, named?.passwordHash], ['taken', named?.id, null])
        else
          ok(
            created === IDENTITY_CODE
              ? linked === 'linked' && owner === other.id
              : created === CODE && signedUp === 'resolved'
          )
        if (has('create'))
          equal(named === null ? 'nobody' : named.passwordHash, signedUp === 'resolved' ? 'hash-0' : null)
      }
    }
  )
}
