/**
 * The signing keys of many instances over one store: instances that start together make them once. For Redis see
 * shared-keys-processes.
 */
import { join } from 'node:path'
import Database from 'libsql'
import t, { type Test } from '../support/tap.ts'
import { memoryUserStore, postgresState, sqliteState } from '../../lib/index.ts'
import type { State } from '../../lib/ports/state.ts'
import { steppedClock } from '../../lib/testing/index.ts'
import { signUp, testApp } from '../support/app.ts'
import { testBrowser } from '../support/browser.ts'
import { decodeJwt } from '../support/jwt.ts'
import { CLIENTS, tokensOf } from '../support/openid.ts'
import { startPostgres } from '../support/postgres-server.ts'
import { patiently, publishedBy } from './support/published.ts'

const INSTANCES = 10
const SECRET = 'of all the instances, of 32 bytes at least'

/** The stores, with a connection for each instance. */
const STORES: ReadonlyArray<readonly [name: string, open: (t: Test) => Promise<() => State>]> = [
  [
    'PostgreSQL',
    async (t) => {
      const server = await startPostgres()
      t.teardown(server.stop)
      const database = await server.database()
      t.teardown(database.drop)
      return () => postgresState(database.pool({ max: 2 }))
    }
  ],
  [
    'one SQLite file',
    async (t) => {
      const file = join(t.testdir(), 'shared.db')
      return () => {
        const db = new Database(file)
        t.teardown(() => {
          db.close()
        })
        return sqliteState(db)
      }
    }
  ]
]

for (const [name, open] of STORES) {
  t.test(`creates one key per algorithm when ten instances start together on ${name}`, async (t) => {
    const connect = await open(t)
    const users = memoryUserStore()
    const clock = steppedClock(Date.now())
    const instances = await Promise.all(
      Array.from(
        { length: INSTANCES },
        async () => await testApp({ clients: CLIENTS, clock, users, secret: SECRET, state: connect() })
      )
    )
    for (const { close } of instances) t.teardown(close)
    const published = await Promise.all(
      instances.map(async ({ app }) => JSON.stringify(await patiently(async () => await publishedBy(app))))
    )
    t.equal(new Set(published).size, 1, 'the same is published')
    const stored = await connect().keys.list()
    t.strictSame(stored.map(({ alg, sequence }) => `${alg} ${sequence}`).toSorted(), ['ES256 1', 'RS256 1'])
    const kidOf = (alg: string): string | undefined => stored.find((key) => key.alg === alg)?.kid

    const [first] = instances
    if (first === undefined) throw new Error('no instance')
    await patiently(async () => await signUp(first.app))
    for (const { app } of instances) {
      const tokens = await patiently(async () => await tokensOf({ app, browser: testBrowser(app) }))
      t.equal(decodeJwt(tokens.access_token).header['kid'], kidOf('ES256'))
      t.equal(decodeJwt(tokens.id_token ?? '').header['kid'], kidOf('RS256'))
      const verified = await Promise.all(
        instances.map(async (other) => (await other.app.authority.verify(tokens.access_token)).sid)
      )
      t.equal(new Set(verified).size, 1)
    }
  })
}
