/** The importer of examples/import: every row is reported, on a second run, after a failure, and with bad rows. */
import { readFileSync } from 'node:fs'
import Fastify from 'fastify'
import t from '../support/tap.ts'
import { csvRows } from '../../examples/import/csv.ts'
import {
  importUsers,
  type ImportOptions,
  type ImportTarget,
  type RefusedRow
} from '../../examples/import/import-users.ts'
import authPlugin, { memoryUserStore, type User, UsernameTakenError } from '../../lib/index.ts'
import { fastHasher } from '../../lib/testing/index.ts'

const BCRYPT = '$2b$10$abcdefghijklmnopqrstuuJ1qkY2gSxW8Zt8F7Yp4bQ9hX3mVn5Ke'
const line = (id: string, email: string, hash: string | null = BCRYPT): string => JSON.stringify({ id, email, hash })
const read = (source: string): User => {
  const { id, email, hash } = JSON.parse(source) as { id: string; email: string; hash: string | null }
  return { id, username: email, email, emailVerified: true, passwordHash: hash }
}

function target(): ImportTarget & { users: Map<string, User>; most: number; fail: (user: User) => boolean } {
  const users = new Map<string, User>()
  let pending = 0
  const made = {
    users,
    most: 0,
    fail: (_user: User): boolean => false,
    findById: async (id: string) => users.get(id) ?? null,
    findByUsername: async (username: string) => [...users.values()].find((user) => user.username === username) ?? null,
    async insert(user: User) {
      made.most = Math.max(made.most, ++pending)
      await new Promise((resolve) => {
        setImmediate(resolve)
      })
      pending--
      if (made.fail(user)) throw new Error('the store is down')
      if ((await made.findByUsername(user.username)) !== null) throw new UsernameTakenError()
      users.set(user.id, user)
    }
  }
  return made
}

async function run(rows: Parameters<typeof importUsers>[0], to: ImportTarget, options: Partial<ImportOptions> = {}) {
  const refused: RefusedRow[] = []
  const report = await importUsers(rows, to, {
    read,
    onRefused: (row) => {
      refused.push(row)
    },
    ...options
  })
  return { report, refused }
}

t.test('imports, skips or refuses every row with a reason, and reveals no hash', async (t) => {
  const to = target()
  const rows = [
    line('1', 'Ann@Example.com'),
    line('2', 'ann@example.com'),
    line('1', 'other@example.com'),
    '{broken "hash":"sekret"',
    line('', 'x@example.com'),
    line('5', 'two words'),
    line('6', 'md5@example.com', '5f4dcc3b5aa765d61d8327deb882cf99'),
    line('7', 'none@example.com', null),
    'null'
  ]
  const { report, refused } = await run(rows, to, { read: (source) => (source === 'null' ? null : read(source)) })
  t.strictSame(report, {
    rows: 9,
    imported: 2,
    thereAlready: 0,
    skipped: 1,
    refused: { invalid: 3, unknown_hash: 1, duplicate_id: 1, duplicate_username: 1 }
  })
  t.strictSame(refused.map(({ row, reason }) => `${row} ${reason}`).sort(), [
    '2 duplicate_username',
    '3 duplicate_id',
    '4 invalid',
    '5 invalid',
    '6 invalid',
    '7 unknown_hash'
  ])
  for (const { row, source, detail } of refused) {
    t.equal(source, rows[row - 1], 'the row comes back as it was')
    t.notMatch(detail, /sekret|5f4d|\$2b/)
  }
  t.strictSame(
    [...to.users.values()].map(({ id, username }) => `${id} ${username}`),
    ['1 ann@example.com', '7 none@example.com']
  )
})

t.test('resumes an import from the failed row, and skips existing users in a second run', async (t) => {
  const to = target()
  const rows = Array.from({ length: 25 }, (_one, number) => line(`id-${number}`, `person${number}@example.com`))
  let reached = 0
  to.fail = ({ id }) => id === 'id-17'
  await t.rejects(
    run(rows, to, {
      batchSize: 5,
      onProgress: (row) => {
        reached = row
      }
    }),
    { message: 'the store is down' }
  )
  t.equal(reached, 15)
  t.equal(to.most, 5, 'no more than a batch at once')
  to.fail = () => false
  const { report } = await run(rows, to, { batchSize: 5, fromRow: reached + 1 })
  t.match(report, { rows: 25, imported: 6, thereAlready: 4 })
  t.match((await run(rows, to)).report, { imported: 0, thereAlready: 25 })
  t.equal(to.users.size, 25)
})

t.test('reads an export no faster than it writes users', async (t) => {
  const to = target()
  let handedOut = 0
  function* endless(): Generator<string> {
    for (let number = 0; number < 500; number++) {
      handedOut++
      yield line(`id-${number}`, `person${number}@example.com`)
    }
  }
  const ahead: number[] = []
  await run(endless(), to, {
    batchSize: 10,
    onProgress: () => {
      ahead.push(handedOut - to.users.size)
    }
  })
  t.equal(Math.max(...ahead), 0)
  t.equal(to.users.size, 500)
})

t.test('parses quotes, commas and line breaks in CSV fields, however the file is split', async (t) => {
  const text = 'ID,user_login,user_pass\r\n1,"ann, ""the first""",$P$B12345678\r\n2,"two\nlines",\n\n3,ben,$wp$2y$10$x'
  for (const size of [1, 3, 1000]) {
    const chunks = text.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? []
    const rows: unknown[] = []
    for await (const row of csvRows(chunks)) rows.push(JSON.parse(row))
    t.strictSame(rows, [
      { ID: '1', user_login: 'ann, "the first"', user_pass: '$P$B12345678' },
      { ID: '2', user_login: 'two\nlines', user_pass: '' },
      { ID: '3', user_login: 'ben', user_pass: '$wp$2y$10$x' }
    ])
  }
  await t.rejects(
    (async () => {
      for await (const row of csvRows(['"', 'x'.repeat(1_000_001)])) t.fail(row)
    })(),
    { name: 'RangeError' }
  )
})

t.test('signs in an imported user under the former id', async (t) => {
  const hasher = fastHasher()
  const hash = await hasher.hash('seven green boats at dawn', { memoryCost: 19_456, timeCost: 2, parallelism: 1 })
  const to = target()
  await run(csvRows([`ID,user_email,user_pass\nwp-1,Ann@Example.com,"${hash}"\n`]), to, {
    read: (source) => {
      const row = JSON.parse(source) as Record<string, string>
      return { id: row['ID'] ?? '', username: row['user_email'] ?? '', passwordHash: row['user_pass'] ?? null }
    }
  })
  const app = Fastify()
  t.teardown(async () => {
    await app.close()
  })
  await app.register(authPlugin, {
    issuer: 'http://localhost:3000',
    users: memoryUserStore([...to.users.values()]),
    rateLimit: false,
    password: { hasher }
  })
  const reply = await app.inject({
    method: 'POST',
    url: '/auth/token',
    payload: { grant_type: 'password', username: 'ann@example.com', password: 'seven green boats at dawn' }
  })
  t.equal(reply.statusCode, 200)
  t.equal((await app.authority.verify(reply.json<{ access_token: string }>().access_token)).sub, 'wp-1')
})

t.test('names existing files and reasons in the guide', async (t) => {
  const guide = readFileSync(new URL('../../docs/guides/importing-users.md', import.meta.url), 'utf8')
  for (const word of [
    'examples/import/import-users.ts',
    'examples/import/csv.ts',
    'duplicate_username',
    'duplicate_id',
    'unknown_hash',
    'invalid'
  ])
    t.ok(guide.includes(word), word)
})
