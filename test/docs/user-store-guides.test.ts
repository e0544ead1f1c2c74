/** The guides for user stores over a library, and for testing a store: their programs compile and run unchanged. */
import { execFileSync, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import t from '../support/tap.ts'
import type { UserStore } from '../../lib/ports/user-store.ts'
import { userStoreContract } from '../../lib/testing/user-store-contract.ts'
import { startPostgres } from '../support/postgres-server.ts'
import type { PostgresServer } from '../support/postgres-server.ts'
import { filesOf, messagesOf, openWorkshop, root } from './support/guide-files.ts'
import type { Generated, Project } from './support/guide-files.ts'
import { startMongoStandIn } from './support/mongo-stand-in.ts'

type Store = Required<UserStore>
/** The exports of each guide's `database.ts` and `people-store.ts` that are used here. */
interface Database {
  store: Store
  close(): Promise<unknown>
}

const GUIDES = 'docs/guides/user-stores'
const TAKEN = 'FST_AUTHORITY_USERNAME_TAKEN'
/**
 * The maximum time of a call while the server is silent. The guides' limits are 2 to 4 seconds; MongoDB's driver tries
 * twice.
 */
const LONGEST_WAIT_MS = 10_000
const CASES = userStoreContract(async () => {
  throw new Error('only counted')
}).length

/** Generates the Prisma client from the printed schema, and returns its directory. */
function prismaClient(): string {
  const directory = t.testdir({})
  const schema = join(directory, 'prisma/schema.prisma')
  mkdirSync(dirname(schema))
  writeFileSync(schema, filesOf(`${GUIDES}/prisma.md`).find(({ name }) => name === 'prisma/schema.prisma')?.text ?? '')
  execFileSync(
    process.execPath,
    ['scripts/with.mjs', 'scripts/prisma', 'prisma', 'generate', `--schema=${schema}`],
    // Prisma looks for a schema engine, a binary from another host, but never runs it.
    { cwd: root, stdio: 'pipe', env: { ...process.env, PRISMA_SCHEMA_ENGINE_BINARY: process.execPath } }
  )
  return join(directory, 'generated/prisma')
}

const workshop = openWorkshop()
t.teardown(() => {
  workshop.remove()
})
const pg = workshop.project(`${GUIDES}/pg.md`)
const knex = workshop.project(`${GUIDES}/knex.md`)
const drizzle = workshop.project(`${GUIDES}/drizzle.md`)
const PRISMA_CLIENT = { from: prismaClient(), to: 'generated/prisma' }
const prisma = workshop.project(`${GUIDES}/prisma.md`, { generated: PRISMA_CLIENT })
const mongodb = workshop.project(`${GUIDES}/mongodb.md`)
/**
 * With more time for a connection and a query than the guide gives: of 50 calls at once the last waits long on a busy
 * machine.
 */
const patient = (name: string, generated?: Generated): Project =>
  workshop.project(`${GUIDES}/${name}.md`, {
    ...(generated === undefined ? {} : { generated }),
    change: (text) =>
      text.replace(
        /\b(connectionTimeoutMillis|query_timeout|statement_timeout|acquireConnectionTimeout|\w+TimeoutMS|wtimeoutMS)\b: \d+/g,
        '$1: 120_000'
      )
  })
const testing = workshop.project('docs/guides/testing.md')
/** Pages that other tests of this folder or test/browser/front-end-guides.test.ts compile. */
const COMPILED_ELSEWHERE = [
  'fastify-cli',
  'nestjs',
  'messages',
  'own-state-store',
  'profile-fields',
  'react',
  'vue',
  'svelte',
  'plain-page',
  'two-origins',
  'from-auth0-react'
].map((name) => `docs/guides/${name}.md`)
// migrating.test.ts runs these.
const migrating = ['better-auth', 'fastify-jwt', 'cognito'].map((page) => workshop.project(`docs/migrating/${page}.md`))
const projects = [pg, knex, drizzle, prisma, mongodb, testing, ...migrating]

async function load<Exports>(project: Project, file: string): Promise<Exports> {
  return (await import(project.module(file))) as Exports
}

/** Runs the printed contract suite in a separate process. Returns the number of passed cases and the failures. */
async function runPrintedSuite(
  project: Project,
  url: string,
  file = 'people-store.test.ts'
): Promise<{ passed: number; failed: string[]; code: number | null }> {
  const child = fork(new URL(project.module(file)), {
    execArgv: ['--test-reporter=tap'],
    env: { ...process.env, TEST_DATABASE_URL: url },
    silent: true,
    cwd: project.directory
  })
  let output = ''
  child.stdout?.on('data', (chunk: Buffer) => {
    output += chunk.toString()
  })
  child.stderr?.on('data', (chunk: Buffer) => {
    output += chunk.toString()
  })
  const [code] = (await once(child, 'close')) as [number | null]
  return {
    passed: output.match(/^ok \d+/gm)?.length ?? 0,
    failed: output.match(/^not ok .*(?:\n .*)*/gm) ?? (code === 0 ? [] : [output]),
    code
  }
}

async function outcomeOf(attempt: Promise<unknown>): Promise<string> {
  return await attempt.then(
    () => 'resolved',
    (error: unknown) => (error instanceof Error && 'code' in error ? String(error.code) : 'another error')
  )
}

/** `rejected` if the call rejects within `LONGEST_WAIT_MS`, otherwise `resolved` or `hangs`. */
async function rejectsInTime(call: () => Promise<unknown>): Promise<string> {
  return await Promise.race([
    call().then(
      () => 'resolved',
      () => 'rejected'
    ),
    wait(LONGEST_WAIT_MS, 'hangs', { ref: false })
  ])
}

t.test('compiles the printed files of the guides', async (t) => {
  const broken = workshop.project(`${GUIDES}/pg.md`, { change: (text) => text.replace('rowCount === 1', 'rowCount') })
  const messages = messagesOf([...projects, broken])
  const ofBroken = (message: string): boolean => message.startsWith(`${basename(broken.directory)}/`)
  t.strictSame(
    messages.filter((message) => !ofBroken(message)),
    []
  )
  t.match(messages.filter(ofBroken), [/people-store\.ts: .*number \| null/], 'a wrong type is noticed')
})

t.test('compiles every page with named files in this test or in another one', async (t) => {
  const pages = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.md'))
    .map((file) => `docs/${file}`)
  t.same(
    pages.filter((page) => filesOf(page).length > 0).toSorted(),
    [...projects.map(({ page }) => page), ...COMPILED_ELSEWHERE].toSorted()
  )
})

/** The method that closes a pool, a Knex, a Drizzle database or a Prisma client. */
interface Client {
  end?(): Promise<void>
  destroy?(): Promise<void>
  $client?: { end(): Promise<void> }
  $disconnect?(): Promise<void>
}

async function open(project: Project, url: string): Promise<Database> {
  const { openDatabase } = await load<{ openDatabase(url: string): Client }>(project, 'database.ts')
  const { peopleStore } = await load<{ peopleStore(client: Client): Store }>(project, 'people-store.ts')
  const client = openDatabase(url)
  return {
    store: peopleStore(client),
    close: async () => {
      await (client.end?.() ?? client.destroy?.() ?? client.$client?.end() ?? client.$disconnect?.())
    }
  }
}

/** The guides over PostgreSQL, and how each makes its table. */
const sqlGuides: Record<
  string,
  { project: Project; migrate(query: (sql: string) => Promise<unknown>, url: string): Promise<void> }
> = {
  pg: {
    project: pg,
    async migrate(query) {
      await query(pg.text('people.sql'))
    }
  },
  knex: {
    project: knex,
    async migrate(_query, url) {
      interface KnexClient {
        destroy(): Promise<void>
      }
      const { openDatabase } = await load<{ openDatabase(url: string): KnexClient }>(knex, 'database.ts')
      const { up } = await load<{ up(client: KnexClient): Promise<void> }>(knex, 'migrations/20260101000000_people.ts')
      const client = openDatabase(url)
      await up(client)
      await client.destroy()
    }
  },
  drizzle: {
    project: drizzle,
    async migrate(query) {
      await query(drizzle.text('people.sql'))
    }
  },
  prisma: {
    project: prisma,
    async migrate(query) {
      await query(prisma.text('people.sql'))
    }
  }
}

t.test('passes the printed suites on PostgreSQL', async (t) => {
  const server: PostgresServer = await startPostgres()
  t.teardown(async () => {
    await server.stop()
  })
  const opened: Array<{ name: string; store: Store }> = []
  const closing: Array<Database['close']> = []
  t.teardown(async () => {
    await Promise.all(closing.map(async (close) => await close()))
  })

  // Most of a suite's time is the start of its process, so suites run side by side, each in its own database.
  const prepared = await Promise.all(
    Object.entries(sqlGuides).map(async ([name, guide]) => {
      const database = await server.database()
      t.teardown(async () => {
        await database.drop()
      })
      const pool = database.pool()
      const query = async (sql: string): Promise<unknown> => await pool.query(sql)
      await guide.migrate(query, database.url)
      return {
        name,
        guide,
        query,
        url: database.url,
        suite: runPrintedSuite(patient(name, name === 'prisma' ? PRISMA_CLIENT : undefined), database.url)
      }
    })
  )

  for (const { name, guide, query, url, suite } of prepared) {
    t.test(`passes the printed suite with the store for ${name}`, async (t) => {
      t.same(await suite, { passed: CASES, failed: [], code: 0 }, 'the printed suite passes over the printed store')

      await query('TRUNCATE people CASCADE; CREATE UNIQUE INDEX people_email_key ON people (lower(email))')
      const { store, close } = await open(guide.project, url)
      opened.push({ name, store })
      closing.push(close)
      const ann = await store.create({ username: 'ann', passwordHash: 'hash-0', email: 'ann@example.com' })
      t.equal(await outcomeOf(store.create({ username: 'ann', passwordHash: 'hash-1' })), TAKEN)
      t.not(
        await outcomeOf(store.create({ username: 'bob', passwordHash: 'hash-1', email: 'ANN@example.com' })),
        TAKEN,
        'another unique index is no taken name'
      )
      t.equal(
        await outcomeOf(store.create({ username: 'ann', passwordHash: 'hash-1', email: 'ann@example.com' })),
        TAKEN,
        'whichever index spoke first'
      )
      t.equal(await store.findByUsername('bob'), null)

      await query('UPDATE people SET password_hash = NULL')
      t.equal(await store.setPasswordHash(ann.id, 'hash-2', 'hash-0'), false)
      t.equal(await store.setPasswordHash(ann.id, 'hash-2', null), true, 'a compare-and-set from null')
      t.equal(await store.setPasswordHash(ann.id, 'hash-3', null), false)
      t.equal((await store.findById(ann.id))?.passwordHash, 'hash-2')
    })
  }

  t.test('rejects while the server hangs, and recovers by itself', async (t) => {
    t.equal(opened.length, prepared.length)
    await server.pause()
    try {
      await Promise.all(
        opened.map(async ({ name, store }) => {
          t.equal(await rejectsInTime(async () => await store.findByUsername('ann')), 'rejected', name)
        })
      )
    } finally {
      await server.resume()
    }
    await Promise.all(
      opened.map(async ({ name, store }) => {
        const deadline = performance.now() + LONGEST_WAIT_MS
        while ((await store.findByUsername('ann').catch(() => null)) === null && performance.now() < deadline)
          await wait(50)
        t.equal((await store.findByUsername('ann'))?.username, 'ann', `${name} recovers`)
      })
    )
  })

  t.test('distinguishes a taken username from other constraint violations, also through Drizzle', async (t) => {
    const { isUsernameTaken } = await load<{ isUsernameTaken(error: unknown): boolean }>(pg, 'username-taken.ts')
    const database = await server.database()
    t.teardown(async () => {
      await database.drop()
    })
    const pool = database.pool()
    await pool.query(`${pg.text('people.sql')}; CREATE UNIQUE INDEX people_email_key ON people (email)`)
    await pool.query("INSERT INTO people (username, email) VALUES ('ann', 'ann@example.com')")
    const errorOf = async (attempt: Promise<unknown>): Promise<unknown> =>
      await attempt.then(
        () => null,
        (error: unknown) => error
      )
    t.equal(isUsernameTaken(await errorOf(pool.query("INSERT INTO people (username) VALUES ('ann')"))), true)
    t.equal(
      isUsernameTaken(
        await errorOf(pool.query("INSERT INTO people (username, email) VALUES ('bob', 'ann@example.com')"))
      ),
      false
    )
    t.equal(isUsernameTaken(await errorOf(pool.query('INSERT INTO people (username) VALUES (NULL)'))), false)
    const { openDatabase } = await load<{
      openDatabase(url: string): { execute(sql: string): Promise<unknown>; $client: { end(): Promise<void> } }
    }>(drizzle, 'database.ts')
    const db = openDatabase(database.url)
    t.teardown(async () => {
      await db.$client.end()
    })
    t.equal(isUsernameTaken(await errorOf(db.execute("INSERT INTO people (username) VALUES ('ann')"))), true)
    t.equal(
      isUsernameTaken(
        await errorOf(db.execute("INSERT INTO people (username, email) VALUES ('bob', 'ann@example.com')"))
      ),
      false
    )
  })
})

t.test('passes the suite on MongoDB with the real driver and a stand-in server', async (t) => {
  const standIn = await startMongoStandIn()
  t.teardown(async () => {
    await standIn.stop()
  })
  const suite = await runPrintedSuite(patient('mongodb'), standIn.url)
  t.same(suite, { passed: CASES, failed: [], code: 0 }, 'the printed suite passes over the printed store')

  interface Client {
    db(name: string): unknown
    close(): Promise<void>
  }
  const { openDatabase } = await load<{ openDatabase(url: string): Client }>(mongodb, 'database.ts')
  const { openPeople } = await load<{
    openPeople(db: unknown): Promise<{
      deleteMany(filter: object): Promise<unknown>
      createIndex(key: object, options: object): Promise<unknown>
    }>
  }>(mongodb, 'people.ts')
  const { peopleStore } = await load<{ peopleStore(people: unknown): Store }>(mongodb, 'people-store.ts')
  const client = openDatabase(standIn.url)
  t.teardown(async () => {
    await client.close()
  })
  const people = await openPeople(client.db('people_test'))
  await people.createIndex({ email: 1 }, { unique: true })
  await people.deleteMany({})
  const store = peopleStore(people)

  standIn.commands.length = 0
  const ann = await store.create({ username: 'ann', passwordHash: 'hash-0', email: 'ann@example.com' })
  t.equal(await outcomeOf(store.create({ username: 'ann', passwordHash: 'hash-1' })), TAKEN)
  t.equal(
    await outcomeOf(store.create({ username: 'bob', passwordHash: 'hash-1', email: 'ann@example.com' })),
    '11000',
    'another unique index is no taken name'
  )
  t.match(standIn.commands[0], { insert: 'people', writeConcern: { w: 'majority' } })
  standIn.commands.length = 0
  t.equal(await store.setPasswordHash(ann.id, 'hash-0', 'hash-0'), true, 'the same hash again is a match')
  t.equal(await store.setPasswordHash(ann.id, 'hash-1', null), false)
  t.match(
    standIn.commands,
    [
      { update: 'people', updates: [{ q: { _id: ann.id, passwordHash: 'hash-0' } }], writeConcern: { w: 'majority' } },
      { update: 'people', updates: [{ q: { _id: ann.id, passwordHash: null } }] }
    ],
    'one command each'
  )

  standIn.silence(true)
  t.equal(await rejectsInTime(async () => await store.findById(ann.id)), 'rejected', 'a server that hangs is an error')
  standIn.silence(false)
})

t.test('runs the suites of the testing guide', async (t) => {
  const { passed, failed, code } = await runPrintedSuite(testing, '', 'stores.test.ts')
  t.same({ failed, code }, { failed: [], code: 0 })
  t.ok(passed > CASES, `${passed} cases`)
})
