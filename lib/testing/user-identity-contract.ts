import { deepEqual, equal, ok } from 'node:assert/strict'
import type { Identity, LinkedIdentity } from '../ports/user-store.ts'
import { HOSTILE_STRINGS, parallel, tally } from './contract.ts'
import {
  add,
  addMany,
  ALICE,
  BOB,
  type DefineUserCase,
  method,
  newLink,
  newUser,
  ownerOf,
  ROUNDS,
  subjectOf
} from './user-fixtures.ts'

/** The cases of links to accounts at providers: to create, find, list and use them. */
export function userIdentityCases(define: DefineUserCase): void {
  define('findByIdentity', 'returns null for an unknown identity', async (subject) => {
    await add(subject, newUser({ email: ALICE }))
    for (const value of ['none', ALICE, ...HOSTILE_STRINGS.map(([, one]) => one)]) {
      equal(await ownerOf(subject, { issuer: value, subject: value }), null)
    }
  })

  define('linkIdentity', 'links the identity to the user, and lists the link as given', async (subject) => {
    const { id } = await add(subject, newUser())
    const bob = await add(subject, newUser({ username: BOB }))
    const link = newLink({ email: 'a@op.example', sealed: 'sealed-text', provisional: true })
    equal(await method(subject.store, 'linkIdentity')(id, link), 'linked')
    deepEqual(
      link,
      newLink({ email: 'a@op.example', sealed: 'sealed-text', provisional: true }),
      'what was given is left as it was'
    )
    const found = await method(subject.store, 'findByIdentity')(link)
    deepEqual([found?.id, found?.username, found?.passwordHash], [id, ALICE, 'hash-0'])
    deepEqual(await method(subject.store, 'listIdentities')(id), [link])
    deepEqual(await method(subject.store, 'listIdentities')(bob.id), [])
    equal(await method(subject.store, 'linkIdentity')(bob.id, subjectOf(1)), 'linked')
    deepEqual(await method(subject.store, 'listIdentities')(bob.id), [subjectOf(1)], 'without what was not given')
  })

  define(
    'linkIdentity',
    'writes nothing when the identity is already linked or the user is unknown',
    async (subject) => {
      const { id } = await add(subject, newUser())
      const bob = await add(subject, newUser({ username: BOB }))
      const linkIdentity = method(subject.store, 'linkIdentity')
      await linkIdentity(id, newLink())
      const other = newLink({ connection: 'other', email: 'b@op.example', linkedAt: 1, lastUsedAt: 1, sealed: 'other' })
      equal(await linkIdentity(id, other), 'already_linked')
      equal(await linkIdentity(bob.id, other), 'taken')
      for (const nobody of ['none', BOB, ...HOSTILE_STRINGS.map(([, value]) => value)])
        equal(await linkIdentity(nobody, subjectOf(1)), 'unknown_user')
      deepEqual(await method(subject.store, 'listIdentities')(id), [newLink()])
      deepEqual(await method(subject.store, 'listIdentities')(bob.id), [])
      equal(await ownerOf(subject, subjectOf(1)), null)
    }
  )

  define('linkIdentity', 'distinguishes identities by the exact bytes of issuer and subject', async (subject) => {
    const identities: Identity[] = [
      { issuer: 'a', subject: 'bc' },
      { issuer: 'ab', subject: 'c' },
      { issuer: 'abc', subject: '' },
      { issuer: 'c', subject: 'ab' },
      { issuer: 'a', subject: 'BC' },
      { issuer: 'a', subject: 'bc ' },
      { issuer: 'A', subject: 'bc' },
      { issuer: 'a', subject: 'bç' },
      { issuer: 'a', subject: 'bc\u0327' },
      ...HOSTILE_STRINGS.map(([, value]) => ({ issuer: value, subject: value }))
    ].filter(({ subject: one }) => one !== '')
    const users = await addMany(subject, identities.length)
    for (const [index, identity] of identities.entries()) {
      equal(
        await method(subject.store, 'linkIdentity')(users[index]?.id ?? '', newLink(identity)),
        'linked',
        JSON.stringify(identity).slice(0, 80)
      )
    }
    for (const [index, identity] of identities.entries()) {
      equal(await ownerOf(subject, identity), users[index]?.id, JSON.stringify(identity).slice(0, 80))
      deepEqual(await method(subject.store, 'listIdentities')(users[index]?.id ?? ''), [newLink(identity)])
    }
  })

  define('linkIdentity', 'links the identity to one of 50 users in parallel calls', async (subject) => {
    const users = await addMany(subject, 50)
    const outcomes = await parallel(50, (index) =>
      method(subject.store, 'linkIdentity')(users[index]?.id ?? '', newLink())
    )
    deepEqual(tally(outcomes), { linked: 1, taken: 49 })
    const winner = users[outcomes.indexOf('linked')]
    equal(await ownerOf(subject, newLink()), winner?.id)
    for (const user of users)
      equal((await method(subject.store, 'listIdentities')(user.id)).length, user === winner ? 1 : 0)
  })

  define('linkIdentity', 'links once in 50 parallel calls with the same user and identity', async (subject) => {
    const { id } = await add(subject, newUser())
    deepEqual(tally(await parallel(50, () => method(subject.store, 'linkIdentity')(id, newLink()))), {
      linked: 1,
      already_linked: 49
    })
    equal((await method(subject.store, 'listIdentities')(id)).length, 1)
  })

  define('listIdentities', 'lists copies of the links of a user, oldest first, across issuers', async (subject) => {
    const { id } = await add(subject, newUser())
    const at = (linkedAt: number, fields: Partial<LinkedIdentity>): LinkedIdentity =>
      newLink({ linkedAt, lastUsedAt: linkedAt, ...fields })
    const links = [
      at(10, { subject: 'b' }),
      at(20, { subject: 'a' }),
      at(30, { issuer: 'https://an.example', subject: 'a' })
    ]
    for (const index of [1, 2, 0]) await method(subject.store, 'linkIdentity')(id, links[index] ?? newLink())
    const listIdentities = method(subject.store, 'listIdentities')
    const first = await listIdentities(id)
    deepEqual(first, links)
    for (const link of first) link.subject = 'changed'
    deepEqual(await listIdentities(id), links)
    for (const nobody of ['none', ALICE, ...HOSTILE_STRINGS.map(([, value]) => value)])
      deepEqual(await listIdentities(nobody), [])
  })

  define('useIdentity', 'records the time of use, and the email if given, for that link only', async (subject) => {
    const { id } = await add(subject, newUser())
    await method(subject.store, 'linkIdentity')(id, newLink({ email: 'a@op.example', sealed: 's' }))
    await method(subject.store, 'linkIdentity')(id, newLink({ subject: 'subject-1', linkedAt: newLink().linkedAt + 1 }))
    const useIdentity = method(subject.store, 'useIdentity')
    const at = newLink().linkedAt + 86_400_000
    await useIdentity(newLink(), at)
    await useIdentity(newLink(), at)
    await useIdentity(subjectOf(1), at + 1, 'b@op.example')
    const expected = [
      newLink({ email: 'a@op.example', sealed: 's', lastUsedAt: at }),
      newLink({ subject: 'subject-1', linkedAt: newLink().linkedAt + 1, lastUsedAt: at + 1, email: 'b@op.example' })
    ]
    deepEqual(await method(subject.store, 'listIdentities')(id), expected)
    for (const value of ['none', ...HOSTILE_STRINGS.map(([, one]) => one)])
      await useIdentity(newLink({ subject: value }), at + 2, 'c@op.example')
    deepEqual(await method(subject.store, 'listIdentities')(id), expected, 'where there is no such link')
    equal(await ownerOf(subject, newLink({ subject: 'none' })), null)
  })
}

/** The cases of `unlinkIdentity`, which must not remove the last way to sign in. */
export function identityRemovalCases(define: DefineUserCase): void {
  define('unlinkIdentity', 'removes only the given link, and frees its identity', async (subject) => {
    const { id } = await add(subject, newUser())
    const bob = await add(subject, newUser({ username: BOB }))
    for (const index of [0, 1]) await method(subject.store, 'linkIdentity')(id, subjectOf(index))
    equal(await method(subject.store, 'unlinkIdentity')(id, subjectOf(0), false), 'unlinked')
    equal(await ownerOf(subject, subjectOf(0)), null)
    deepEqual(await method(subject.store, 'listIdentities')(id), [subjectOf(1)])
    ok(await subject.store.findById(id), 'the user stays')
    equal(await method(subject.store, 'linkIdentity')(bob.id, subjectOf(0)), 'linked')
  })

  define(
    'unlinkIdentity',
    'answers unknown for a link that the user lacks, even if another user has it',
    async (subject) => {
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
    }
  )

  define('unlinkIdentity', 'keeps the last link of a user without a password or another factor', async (subject) => {
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
  })

  define(
    'unlinkIdentity',
    'keeps one link when parallel calls remove all links of a user without a password',
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

  define('unlinkIdentity', 'removes the link in one of 50 parallel calls', async (subject) => {
    const { id } = await add(subject, newUser())
    await method(subject.store, 'linkIdentity')(id, newLink())
    deepEqual(
      tally((await parallel(50, () => method(subject.store, 'unlinkIdentity')(id, newLink(), false))).toSorted()),
      { unknown: 49, unlinked: 1 }
    )
  })
}
