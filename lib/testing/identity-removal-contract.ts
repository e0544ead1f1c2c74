import { deepEqual, equal, ok } from 'node:assert/strict'
import { HOSTILE_STRINGS, parallel, tally } from './contract.ts'
import { ROUNDS, addMany, ownerOf, subjectOf } from './identity-fixtures.ts'
import { BOB, add, method, newLink, newUser, type DefineUserCase } from './user-fixtures.ts'

/** The cases of `unlinkIdentity`, and of the ways to sign in that remain. */
export function identityRemovalCases(define: DefineUserCase): void {
  define('unlinkIdentity', 'takes that link away and no other, and frees the identity', async (subject) => {
    const { id } = await add(subject, newUser())
    const bob = await add(subject, newUser({ username: BOB }))
    for (const index of [0, 1]) await method(subject.store, 'linkIdentity')(id, subjectOf(index))
    equal(await method(subject.store, 'unlinkIdentity')(id, subjectOf(0), false), 'unlinked')
    equal(await ownerOf(subject, subjectOf(0)), null)
    deepEqual(await method(subject.store, 'listIdentities')(id), [subjectOf(1)])
    ok(await subject.store.findById(id), 'the user stays')
    equal(await method(subject.store, 'linkIdentity')(bob.id, subjectOf(0)), 'linked')
  })

  define('unlinkIdentity', 'is unknown where this user has no such link, whoever else has it', async (subject) => {
    const { id } = await add(subject, newUser())
    const bob = await add(subject, newUser({ username: BOB }))
    await method(subject.store, 'linkIdentity')(id, newLink())
    const unlinkIdentity = method(subject.store, 'unlinkIdentity')
    equal(await unlinkIdentity(bob.id, newLink(), true), 'unknown')
    equal(await unlinkIdentity('none', newLink(), true), 'unknown')
    equal(await unlinkIdentity(id, newLink({ issuer: 'https://other.example' }), true), 'unknown')
    for (const [, value] of HOSTILE_STRINGS)
      equal(await unlinkIdentity(value, newLink({ subject: value }), true), 'unknown')
    equal(await ownerOf(subject, newLink()), id)
  })

  define(
    'unlinkIdentity',
    'leaves the last way to sign in: a password, another link or another factor has to be left',
    async (subject) => {
      const [alice, bob] = await addMany(subject, 2)
      const carol = await add(subject, newUser({ username: BOB }))
      const unlinkIdentity = method(subject.store, 'unlinkIdentity')
      const links: Array<[owner: string, index: number]> = [
        [alice?.id ?? '', 0],
        [alice?.id ?? '', 1],
        [bob?.id ?? '', 2],
        [carol.id, 3]
      ]
      for (const [owner, index] of links) await method(subject.store, 'linkIdentity')(owner, subjectOf(index))
      const outcomes: string[] = []
      for (const [owner, index] of links) outcomes.push(await unlinkIdentity(owner, subjectOf(index), false))
      deepEqual(outcomes, ['unlinked', 'last_sign_in_method', 'last_sign_in_method', 'unlinked'])
      deepEqual(
        [await ownerOf(subject, subjectOf(1)), await ownerOf(subject, subjectOf(2))],
        [alice?.id, bob?.id],
        'they are still there'
      )
      equal(await unlinkIdentity(bob?.id ?? '', subjectOf(2), true), 'unlinked', 'another factor is left')
    }
  )

  define(
    'unlinkIdentity',
    'of parallel calls for all links of a user without a password one is refused',
    async (subject) => {
      const users = await addMany(subject, ROUNDS)
      for (const [round, { id }] of users.entries()) {
        const links = [0, 1, ...(round % 2 === 0 ? [2] : [])].map((index) => subjectOf(3 * round + index))
        for (const link of links) await method(subject.store, 'linkIdentity')(id, link)
        const outcomes = await Promise.all(
          links.map((link) => method(subject.store, 'unlinkIdentity')(id, link, false))
        )
        deepEqual(tally(outcomes.toSorted()), { last_sign_in_method: 1, unlinked: links.length - 1 })
        equal((await method(subject.store, 'listIdentities')(id)).length, 1)
      }
    }
  )

  define('unlinkIdentity', 'of 50 parallel calls for one link one takes it away', async (subject) => {
    const { id } = await add(subject, newUser())
    await method(subject.store, 'linkIdentity')(id, newLink())
    deepEqual(
      tally((await parallel(50, () => method(subject.store, 'unlinkIdentity')(id, newLink(), false))).toSorted()),
      { unknown: 49, unlinked: 1 }
    )
  })
}
