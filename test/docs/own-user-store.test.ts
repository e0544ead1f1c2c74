/**
 * The store that the guide on a host's own users prints, over PostgreSQL, under the suite that the same page
 * recommends.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Pool } from 'pg'
import t from '../support/tap.ts'
import authPlugin, { UsernameTakenError, type UserStore } from '../../lib/index.ts'
import { delayed, fastHasher, IDENTITY_METHODS, runContract, userStoreContract } from '../../lib/testing/index.ts'
import Fastify from 'fastify'
import { ISSUER, PASSWORD } from '../support/app.ts'
import { javascriptOf } from '../support/compile.ts'
import { startPostgres } from '../support/postgres-server.ts'
import { root } from './support/guide-files.ts'

type Query = (sql: string, values: unknown[]) => Promise<unknown[]>
interface Guide {
  query: Query
  UsernameTakenError: typeof UsernameTakenError
}
declare global {
  var ownUserStoreGuide: Guide | undefined
}

/** The printed block that makes `people`, without the lines that stand for the reader's own code. */
function printed(): string {
  const page = readFileSync(join(root, 'docs/guides/own-user-store.md'), 'utf8')
  const block = [...page.matchAll(/^```ts\n([\s\S]*?)^```$/gm)]
    .map(([, code = '']) => code)
    .find((code) => code.includes('const people: UserStore'))
  if (block === undefined) throw new Error('The guide prints no store.')
  const source = block.replace(/^declare function query.*$/m, '').replace(/^await app\.register.*$/m, '')
  return (
    'const { query, UsernameTakenError } = ' +
    `globalThis.ownUserStoreGuide\n${javascriptOf(source)}\nexport { people }\n`
  )
}

const server = await startPostgres()
const pool = new Pool({ connectionString: server.url })
const directory = mkdtempSync(join(tmpdir(), 'own-user-store-'))
t.teardown(async () => {
  await pool.end()
  await server.stop()
  rmSync(directory, { recursive: true, force: true })
})
await pool.query(
  'CREATE TABLE people (id text PRIMARY KEY DEFAULT gen_random_uuid()::text, login text ' +
    'COLLATE "C" NOT NULL UNIQUE, hash text)'
)
globalThis.ownUserStoreGuide = {
  query: async (sql, values) => (await pool.query(sql, values)).rows as unknown[],
  UsernameTakenError
}
const file = join(directory, 'people.mjs')
writeFileSync(file, printed())
const { people } = (await import(pathToFileURL(file).href)) as { people: UserStore }

async function empty(): Promise<UserStore> {
  await pool.query('TRUNCATE people')
  return people
}

const test = (name: string, run: () => Promise<void>): void => {
  void t.test(`H1 ${name}`, async () => {
    await run()
  })
}
runContract(
  userStoreContract(
    async () => ({ store: await empty() }),
    ['setEmailVerified', 'update', 'remove', ...IDENTITY_METHODS]
  ),
  test
)
runContract(
  userStoreContract(
    async () => ({ store: delayed(await empty()) }),
    ['setEmailVerified', 'update', 'remove', ...IDENTITY_METHODS]
  ),
  (name, run) => {
    test(`delayed: ${name}`, run)
  }
)

void t.test('H1 lets people sign up and sign in with the printed store', async (t) => {
  const app = Fastify()
  t.teardown(async () => {
    await app.close()
  })
  await app.register(authPlugin, {
    issuer: ISSUER,
    users: await empty(),
    rateLimit: false,
    password: { hasher: fastHasher() }
  })
  t.equal(
    (
      await app.inject({
        method: 'POST',
        url: '/auth/register',
        payload: { username: 'Ann@example.com', password: PASSWORD }
      })
    ).statusCode,
    201
  )
  t.equal(
    (
      await app.inject({
        method: 'POST',
        url: '/auth/token',
        payload: { grant_type: 'password', username: 'ann@example.com', password: PASSWORD }
      })
    ).statusCode,
    200
  )
})
