/** `app.authority.users.list`: paging and search. */
import t from '../../support/tap.ts'
import { oauth, withAnn } from './support.ts'

t.test('lists each remaining user once while others are created and removed', async (t) => {
  const { users, store } = await withAnn(t)
  const staying: string[] = []
  const going: string[] = []
  for (let index = 0; index < 40; index++) {
    const { id } = await users.create({ username: `user-${index}@example.com` })
    ;(index % 4 === 0 ? going : staying).push(id)
  }
  const found: string[] = []
  let after: string | undefined
  for (let page = 0; page < 30; page++) {
    const answer = await users.list({ limit: 3, after })
    found.push(...answer.users.map(({ id }) => id))
    await store.remove(going.pop() ?? 'none')
    await users.create({ username: `late-${page}@example.com` })
    if (answer.next === null) break
    after = answer.next
  }
  t.equal(new Set(found).size, found.length, 'nobody twice')
  t.same(
    staying.filter((id) => !found.includes(id)),
    [],
    'everybody who stayed'
  )
  t.equal((await users.list({ limit: 200 })).next, null)
})

t.test('finds users by the beginning of the username, by the email address and by the connection', async (t) => {
  const { users, store, id } = await withAnn(t)
  await users.create({ username: 'bob@example.com' })
  const idsBy = async (query: Parameters<typeof users.list>[0]): Promise<string[]> =>
    (await users.list(query)).users.map((user) => user.id)
  t.same(await idsBy({ prefix: 'AN' }), [id], 'in the normal form of usernames')
  t.same(await idsBy({ prefix: 'nn' }), [])
  t.same(await idsBy({ email: 'ANN@example.com' }), [id])
  t.same(await idsBy({ connection: 'op' }), [])
  await store.linkIdentity(id, { issuer: 'i', subject: 's', connection: 'op', linkedAt: 1, lastUsedAt: 1 })
  t.same(await idsBy({ connection: 'op' }), [id])
  t.same(await idsBy({ connection: 'op', prefix: 'bob' }), [])
})

// covers CVE-2026-33503, ADV-CVE-2026-33503
t.test('rejects invalid filters, limits and cursors in a list of users', async (t) => {
  const { users } = await withAnn(t)
  const cursor = (value: unknown): string =>
    Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')
  const queries: unknown[] = [
    ...[0, 201, 1.5, '10', null].map((limit) => ({ limit })),
    ...['', 5, null, 'a\0b', '\ud800'].flatMap((value) => [{ prefix: value }, { email: value }, { connection: value }]),
    ...['', 5, null, '!', '\0', 'x'.repeat(3000)].map((after) => ({ after })),
    ...["1' OR 1=1", [1], [1, 2], ['1', 'a'], [1, 'a', 'b'], [1.5, 'a'], [null, 'a'], { 0: 1 }].map((value) => ({
      after: cursor(value)
    })),
    ...['[1e400,"a"]', '[1.0,"a"]', '[1, "a"]', '[1,"a\\u0000"]'].map((text) => ({ after: cursor(text) })),
    { offset: 5 }
  ]
  for (const query of queries)
    await t.rejects(users.list(query as never), oauth('invalid_request', 400), JSON.stringify(query))
})
