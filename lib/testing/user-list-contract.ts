import { deepEqual, equal, ok } from 'node:assert/strict'
import type { User, UserListQuery } from '../ports/user-store.ts'
import { HOSTILE_STRINGS, parallel } from './contract.ts'
import {
  ALICE,
  BOB,
  add,
  addMany,
  method,
  newLink,
  newUser,
  type DefineUserCase,
  type OptionalUserStoreMethod,
  type UserStoreSubject
} from './user-fixtures.ts'

const createdAt = (user: User): number => Number(user.createdAt ?? 0)

/** Reads all pages, one after the other. Calls `between` after each page. */
async function walk(
  { store }: UserStoreSubject,
  query: UserListQuery,
  between: (page: number) => Promise<void> = async () => {}
): Promise<User[]> {
  const list = method(store, 'list')
  const found: User[] = []
  for (let page = 0; page < 1000; page++) {
    const last = found.at(-1)
    const users = await list({
      ...query,
      ...(last === undefined ? {} : { after: { createdAt: createdAt(last), id: last.id } })
    })
    ok(users.length <= query.limit, 'at most `limit` users')
    if (users.length === 0) return found
    found.push(...users)
    await between(page)
  }
  throw new Error('The pages do not end.')
}

const idsOf = (users: readonly User[]): string[] => users.map(({ id }) => id).toSorted((a, b) => (a < b ? -1 : 1))

/** The cases of `list` and `setDisabled`. `has`: true for an optional method that the suite expects. */
export function userListCases(define: DefineUserCase, has: (name: OptionalUserStoreMethod) => boolean): void {
  define('list', 'lists every user once, newest first, in pages of any size', async (subject) => {
    deepEqual(await walk(subject, { limit: 10 }), [])
    const users = await addMany(subject, 25)
    for (const limit of [1, 7, 25, 100]) {
      const found = await walk(subject, { limit })
      deepEqual(idsOf(found), idsOf(users))
      const times = found.map(createdAt)
      deepEqual(
        times,
        times.toSorted((a, b) => b - a)
      )
    }
  })

  define(
    'list',
    'neither repeats nor skips a remaining user when users are added and removed between pages',
    async (subject) => {
      const users = await addMany(subject, 30)
      const going = users.filter((_, index) => index % 3 === 0)
      const staying = users.filter((_, index) => index % 3 !== 0)
      const found = await walk(subject, { limit: 4 }, async (page) => {
        if (page > 8) return
        await add(subject, newUser({ username: `new-${page}@example.com` }))
        const gone = going[page]
        if (has('remove') && gone !== undefined) await method(subject.store, 'remove')(gone.id)
      })
      const ids = found.map(({ id }) => id)
      equal(new Set(ids).size, ids.length, 'nobody twice')
      deepEqual(
        staying.filter(({ id }) => !ids.includes(id)),
        [],
        'everybody who stays'
      )
    }
  )

  define('list', 'filters users by an exact prefix of the username', async (subject) => {
    const { id } = await add(subject, newUser())
    const bob = await add(subject, newUser({ username: BOB }))
    const found = async (prefix: string): Promise<string[]> => idsOf(await walk(subject, { limit: 10, prefix }))
    deepEqual(await found('ali'), [id])
    deepEqual(await found(ALICE), [id])
    deepEqual(await found(''), idsOf([{ ...bob }, { ...bob, id }]))
    for (const none of ['lice', 'b%', '_', 'ALI', `${ALICE}x`, ...HOSTILE_STRINGS.map(([, value]) => value)])
      deepEqual(await found(none), [], none.slice(0, 20))
  })

  define('list', 'filters users by the whole email, in any case of its ASCII letters', async (subject) => {
    const { id } = await add(subject, newUser({ email: ALICE }))
    await add(subject, newUser({ username: BOB, email: BOB }))
    const found = async (email: string): Promise<string[]> => idsOf(await walk(subject, { limit: 10, email }))
    deepEqual(await found('Alice@Example.com'), [id])
    for (const none of ['alice', '', '%', ...HOSTILE_STRINGS.map(([, value]) => value)])
      deepEqual(await found(none), [], none.slice(0, 20))
  })

  if (has('linkIdentity'))
    define('list', 'filters users by the connection of a link, and lists each once', async (subject) => {
      if (subject.store.linkIdentity === undefined) return
      const { id } = await add(subject, newUser())
      await add(subject, newUser({ username: BOB }))
      for (const name of ['subject-0', 'subject-1'])
        await subject.store.linkIdentity(id, newLink({ subject: name, connection: 'op' }))
      const found = async (connection: string): Promise<string[]> =>
        (await walk(subject, { limit: 10, connection })).map((user) => user.id)
      deepEqual(await found('op'), [id])
      for (const none of ['other', '', ...HOSTILE_STRINGS.map(([, value]) => value)]) deepEqual(await found(none), [])
    })

  define('list', 'returns copies of users', async (subject) => {
    const { id } = await add(subject, newUser())
    for (const user of await method(subject.store, 'list')({ limit: 1 })) user.username = 'changed'
    equal((await subject.store.findById(id))?.username, ALICE)
  })

  define('setDisabled', 'disables and enables only that user, and is idempotent', async (subject) => {
    const { id } = await add(subject, newUser())
    const bob = await add(subject, newUser({ username: BOB }))
    const set = method(subject.store, 'setDisabled')
    for (const disabled of [true, true, false, false]) {
      equal(await set(id, disabled), true)
      for (const user of [await subject.store.findById(id), await subject.store.findByUsername(ALICE)])
        deepEqual([user?.disabled ?? false, user?.passwordHash], [disabled, 'hash-0'])
    }
    equal((await subject.store.findById(bob.id))?.disabled ?? false, false)
  })

  define('setDisabled', 'returns false for an unknown user, and creates none', async ({ store }) => {
    for (const id of ['none', ...HOSTILE_STRINGS.map(([, value]) => value)]) {
      equal(await method(store, 'setDisabled')(id, true), false)
      equal(await store.findById(id), null)
    }
  })

  if (has('setPasswordHash'))
    define('setDisabled', 'keeps a password hash that a parallel call writes', async (subject) => {
      const { id } = await add(subject, newUser())
      await parallel(2, async (index) => {
        if (index === 0) await method(subject.store, 'setDisabled')(id, true)
        else await method(subject.store, 'setPasswordHash')(id, 'hash-1', 'hash-0')
      })
      const found = await subject.store.findById(id)
      deepEqual([found?.disabled, found?.passwordHash], [true, 'hash-1'])
    })
}
