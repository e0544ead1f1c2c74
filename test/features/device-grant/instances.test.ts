/** Two instances over one state: the device polls at either. */
import { mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'libsql'
import t from '../../support/tap.ts'
import { memoryUserStore, redisState, sqliteState } from '../../../lib/index.ts'
import type { State } from '../../../lib/ports/state.ts'
import { testApp } from '../../support/app.ts'
import { startRedis } from '../../support/redis-server.ts'
import { DEVICE_GRANT, deviceWorld, TV } from './world.ts'

const redis = await startRedis()
const directory = mkdtempSync(join(tmpdir(), 'authority-device-'))
const db = new Database(join(directory, 'shared.db'))
t.teardown(async () => {
  db.close()
  await redis.stop()
  await rm(directory, { recursive: true, force: true })
})

const STATES: Record<string, () => State> = {
  SQLite: () => sqliteState(db),
  Redis: () => redisState(redis.client())
}

for (const [name, state] of Object.entries(STATES)) {
  const twoInstances = async (t: Parameters<typeof deviceWorld>[0]) => {
    const shared = { state: state(), users: memoryUserStore(), secret: 'a secret of more than 32 bytes, for both' }
    const world = await deviceWorld(t, shared)
    const second = await testApp({ deviceGrant: true, clients: [TV], ...shared, clock: world.clock })
    t.teardown(second.close)
    const instances = [world.app, second.app]
    const pollAt = async (instance: number, device_code: string) =>
      await instances[instance % 2]?.inject({
        method: 'POST',
        url: '/auth/token',
        payload: { grant_type: DEVICE_GRANT, client_id: 'tv', device_code }
      })
    return { ...world, pollAt }
  }

  t.test(`${name}: R8628-3.5 answers slow_down to a device that polls too early at another instance`, async (t) => {
    const { ask, clock, decide, pollAt, signedIn } = await twoInstances(t)
    const { device_code, user_code } = await ask()
    for (const [seconds, instance, error] of [
      [0, 0, 'authorization_pending'],
      [1, 1, 'slow_down'],
      [9, 0, 'slow_down'],
      [16, 1, 'authorization_pending'],
      [14, 0, 'slow_down']
    ] as const) {
      clock.step(seconds * 1000)
      t.equal((await pollAt(instance, device_code))?.json().error, error, `${seconds} s later`)
    }
    await decide(await signedIn(), user_code, 'allow')
    clock.step(20_000)
    t.equal((await pollAt(1, device_code))?.statusCode, 200)
  })

  t.test(`${name}: gives tokens to one of 50 parallel polls at two instances`, async (t) => {
    const { ask, decide, pollAt, signedIn } = await twoInstances(t)
    const { device_code, user_code } = await ask()
    await decide(await signedIn(), user_code, 'allow')
    const replies = await Promise.all(
      Array.from({ length: 50 }, async (_, at) => (await pollAt(at, device_code))?.statusCode)
    )
    t.equal(replies.filter((status) => status === 200).length, 1)
  })
}
