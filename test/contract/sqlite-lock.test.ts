/** B7: this process goes on while another one holds the lock of the file. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import Database from 'libsql'
import t, { type Test } from '../support/tap.ts'
import { sqliteState, sqliteUserStore } from '../../lib/index.ts'
import type { State } from '../../lib/ports/state.ts'
import { settlesWithin } from '../support/in-time.ts'
import { PASSWORD, signIn, signUp, testApp } from '../support/app.ts'

interface Locked {
  app: Awaited<ReturnType<typeof testApp>>['app']
  refresh(token: string): Promise<number>
  unlock(): Promise<void>
  state: State
}

async function lockedApp(t: Test): Promise<Locked & { tokens: string[] }> {
  const directory = mkdtempSync(join(tmpdir(), 'authority-lock-'))
  t.teardown(() => rm(directory, { recursive: true, force: true }))
  const file = join(directory, 'shared.db')
  const db = new Database(file)
  db.exec('PRAGMA busy_timeout = 5000; PRAGMA journal_mode = WAL')
  const state = sqliteState(db)
  const { app, close } = await testApp({ users: sqliteUserStore(db), state })
  t.teardown(async () => {
    await close()
    db.close()
  })
  await signUp(app)
  const tokens: string[] = []
  for (let i = 0; i < 4; i++) tokens.push((await signIn(app, 'ann', PASSWORD)).refresh_token)
  const locker = fork(fileURLToPath(new URL('support/sqlite-locker.ts', import.meta.url)), [file])
  t.teardown(() => {
    locker.kill()
  })
  await once(locker, 'message')
  return {
    app,
    state,
    tokens,
    refresh: async (token) =>
      (await app.inject({ method: 'POST', url: '/auth/refresh', headers: { authorization: `Bearer ${token}` } }))
        .statusCode,
    async unlock() {
      locker.send('go')
      await once(locker, 'exit')
    }
  }
}

// covers B7
t.test('waits for a locked file without blocking the event loop', async (t) => {
  const { tokens, refresh, unlock } = await lockedApp(t)
  const answers = Promise.all(tokens.map(refresh))
  // If it waited inside SQLite, this process would continue only after five seconds.
  for (let turn = 0; turn < 100; turn++) await wait(1)
  await unlock()
  t.same(await answers, [200, 200, 200, 200])
})

// covers B7
t.test('answers 503 within four seconds while the file is locked, still reads, and recovers', async (t) => {
  const { tokens, refresh, unlock, state, app } = await lockedApp(t)
  const answers = Promise.all(tokens.map(refresh))
  const isInTime = settlesWithin(4000, answers)
  t.equal(
    (await state.keys.list()).length > 0 || (await app.inject({ url: '/.well-known/jwks.json' })).statusCode === 200,
    true
  )
  t.same(await answers, [503, 503, 503, 503])
  t.equal(await isInTime, true)
  await unlock()
  t.same(await Promise.all(tokens.map(refresh)), [200, 200, 200, 200])
})
