/** Fifty uses of one proof at once, by two instances, on every state. */
import { mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'libsql'
import t from '../../support/tap.ts'
import { memoryState, memoryUserStore, postgresState, redisState, sqliteState } from '../../../lib/index.ts'
import type { State } from '../../../lib/ports/state.ts'
import { delayed } from '../../../lib/testing/index.ts'
import { ISSUER } from '../../support/app.ts'
import { startRedis } from '../../support/redis-server.ts'
import { sharedPostgres } from '../../support/shared-postgres.ts'
import { proofOf, signingKey } from '../resource/world.ts'
import { ask, asMachine, dpopApp, password, send, TOKEN_URL } from './world.ts'

const [postgres, redis] = await Promise.all([sharedPostgres(t), startRedis()])
const directory = mkdtempSync(join(tmpdir(), 'authority-dpop-'))
const db = new Database(join(directory, 'shared.db'))
t.teardown(async () => {
  db.close()
  await redis.stop()
  await rm(directory, { recursive: true, force: true })
})
const pool = (await postgres.database()).pool({ max: 20 })

const STATES: Record<string, () => State> = {
  memory: () => delayed(memoryState()),
  SQLite: () => delayed(sqliteState(db)),
  PostgreSQL: () => postgresState(pool),
  Redis: () => redisState(redis.client())
}

for (const [name, state] of Object.entries(STATES))
  t.test(`${name}: accepts one of fifty parallel uses of a DPoP proof at two instances`, async (t) => {
    const shared = { state: state(), users: memoryUserStore(), secret: 'a secret of more than 32 bytes, for all' }
    const first = await dpopApp(t, shared)
    const second = await dpopApp(t, { ...shared, users: memoryUserStore() })
    const instances = [first, second]
    const key = signingKey()
    const issue = proofOf(key, { clock: first.clock, url: TOKEN_URL, method: 'POST' })
    const grant = { grant_type: 'client_credentials' }
    const issued = await Promise.all(
      Array.from({ length: 50 }, async (_, at) => await ask(instances[at % 2] ?? first, grant, issue, asMachine))
    )
    t.equal(issued.filter(({ status }) => status === 200).length, 1, 'at the token endpoint')
    const { access_token: token } = (await ask(first, password('app'), key)).body
    const proof = proofOf(key, { clock: first.clock, url: `${ISSUER}/me`, token })
    const guarded = await Promise.all(
      Array.from(
        { length: 50 },
        async (_, at) => (await send(instances[at % 2] ?? first, '/me', token, { proof })).statusCode
      )
    )
    t.equal(guarded.filter((status) => status === 200).length, 1, 'at a guard')
    t.equal(guarded.filter((status) => status === 401).length, 49)
  })
