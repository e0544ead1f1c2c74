import Database from 'libsql'
import type { Test } from 'tap'
import { setImmediate } from 'node:timers/promises'
import t from '../support/tap.ts'
import { postgresState, redisState, sqliteState } from '../../lib/index.ts'
import type { State } from '../../lib/ports/state.ts'
import { signIn, signUp, testApp } from '../support/app.ts'
import { logLines } from '../support/log-lines.ts'
import { KEYS } from '../support/openid.ts'
import { startRedis } from '../support/redis-server.ts'
import { sharedPostgres } from '../support/shared-postgres.ts'

interface Place {
  state: State
  /** Lets the server reject writes but still answer reads, or accept writes again. */
  refuseWrites(refuses: boolean): unknown
}

const PLACES: Record<string, (t: Test) => Promise<Place>> = {
  async 'a Redis that became a replica'(t) {
    const server = await startRedis()
    const client = server.client()
    t.teardown(() => server.stop())
    t.teardown(() => {
      client.disconnect()
    })
    return {
      state: redisState(client),
      // A replica of a missing master, which serves its existing data.
      refuseWrites: (refuses) => (refuses ? client.replicaof('127.0.0.1', 1) : client.replicaof('NO', 'ONE'))
    }
  },
  async 'a Redis whose memory is full'(t) {
    const server = await startRedis()
    const client = server.client()
    t.teardown(() => server.stop())
    t.teardown(() => {
      client.disconnect()
    })
    return {
      state: redisState(client),
      refuseWrites: (refuses) => client.config('SET', 'maxmemory', refuses ? '1' : '0')
    }
  },
  async 'a PostgreSQL that became a standby'(t) {
    const database = await (await sharedPostgres(t)).database()
    const pool = database.pool({ max: 1 })
    return {
      state: postgresState(pool),
      // For this connection and later ones.
      async refuseWrites(refuses) {
        await pool.query('SET default_transaction_read_only = off')
        const on = refuses ? 'on' : 'off'
        await pool.query(`ALTER DATABASE ${pool.options.database} SET default_transaction_read_only = ${on}`)
        await pool.query(`SET default_transaction_read_only = ${on}`)
      }
    }
  },
  async 'a file of SQLite that may only be read'() {
    const db = new Database(':memory:')
    return {
      state: sqliteState(db),
      refuseWrites(refuses) {
        db.exec(`PRAGMA query_only = ${refuses ? 'on' : 'off'}`)
      }
    }
  }
}

for (const [name, place] of Object.entries(PLACES)) {
  t.test(`reports ${name} as down until a write succeeds, and logs it once`, async (t) => {
    const { state, refuseWrites } = await place(t)
    const { lines, stream } = logLines()
    const { app, clock, close } = await testApp({ state, keys: KEYS }, { logger: { level: 'info', stream } })
    t.teardown(close)
    await signUp(app)
    t.match(await app.authority.health(), { ready: true, state: 'up' })

    await refuseWrites(true)
    for (let attempt = 0; attempt < 3; attempt++) {
      await t.rejects(signIn(app), /503/)
      t.match(await app.authority.health(), { ready: false, state: 'down' })
      // Reads are answered all the time.
      await app.authority.sessions('nobody')
    }
    t.match(told(lines), ['FST_AUTHORITY_STORE_DOWN'], 'once, though reads were answered')

    await refuseWrites(false)
    clock.step(1)
    t.match(await app.authority.health(), { ready: true, state: 'up' })
    await signIn(app)
    t.match(told(lines), ['FST_AUTHORITY_STORE_DOWN', 'FST_AUTHORITY_STORE_BACK'])
  })

  t.test(`${name}: logs after a later read that the store accepts writes again`, async (t) => {
    const { state, refuseWrites } = await place(t)
    const { lines, stream } = logLines()
    const { app, clock, close } = await testApp({ state, keys: KEYS }, { logger: { level: 'info', stream } })
    t.teardown(close)
    await signUp(app)
    await refuseWrites(true)
    await t.rejects(signIn(app), /503/)
    await refuseWrites(false)
    clock.step(1)
    for (let tries = 0; told(lines).length < 2 && tries < 1000; tries++) {
      await app.authority.sessions('nobody')
      await setImmediate()
    }
    t.match(told(lines), ['FST_AUTHORITY_STORE_DOWN', 'FST_AUTHORITY_STORE_BACK'])
  })
}

const told = (lines: Array<Record<string, unknown>>): unknown[] =>
  lines.flatMap(({ code }) => (String(code).startsWith('FST_AUTHORITY_STORE_') ? [code] : []))
