import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import Database from 'libsql'
import t from '../support/tap.ts'
import { sqliteState, sqliteUserStore } from '../../lib/index.ts'
import { systemClock } from '../../lib/adapters/node/system.ts'
import { bearer, ISSUER, signUp, testApp } from '../support/app.ts'
import { authorizeAs, authorizePath, CLIENTS } from '../support/openid.ts'
import { testBrowser } from '../support/browser.ts'

const ROUNDS = 10

// covers ASVS-2.3.4 R6749-4.1.2
t.test('redeems a code in only one of two processes, and revokes its access token', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'authority-processes-'))
  t.teardown(() => rm(directory, { recursive: true, force: true }))
  const file = join(directory, 'shared.db')
  const db = new Database(file)
  // Uses real time and the keys of the file, made by the first process, because the processes share nothing else.
  const subject = await testApp({
    clients: CLIENTS,
    state: sqliteState(db),
    users: sqliteUserStore(db),
    clock: systemClock,
    secret: 'of two processes, of 32 bytes at least'
  })
  await signUp(subject.app)
  const browser = testBrowser(subject.app)
  t.teardown(async () => {
    await subject.close()
    db.close()
  })
  const instance = fileURLToPath(new URL('support/instance.ts', import.meta.url))
  const children = ['one', 'two'].map(() => fork(instance, [file, ISSUER]))
  t.teardown(() => {
    for (const child of children) child.kill()
  })
  await Promise.all(children.map((child) => once(child, 'message')))
  for (let round = 0; round < ROUNDS; round++) {
    const { code = '' } = await authorizeAs(browser, authorizePath())
    const reports = await Promise.all(
      children.map(async (child) => {
        const report = once(child, 'message')
        child.send(code)
        const [message] = (await report) as [
          { outcomes?: Array<{ status: number; accessToken?: string }>; error?: string }
        ]
        return message.outcomes ?? [{ status: 0, accessToken: message.error }]
      })
    )
    const outcomes = reports.flat()
    t.strictSame(
      outcomes.map(({ status }) => status).toSorted((a, b) => a - b),
      [200, ...Array.from({ length: 9 }, () => 400)]
    )
    const { accessToken = '' } = outcomes.find(({ status }) => status === 200) ?? {}
    t.equal(
      (await subject.app.inject({ url: '/auth/userinfo', headers: bearer(accessToken) })).statusCode,
      401,
      'dead at a third instance'
    )
  }
  await Promise.all(
    children.map(async (child) => {
      const exit = once(child, 'exit')
      child.send('end')
      await exit
    })
  )
})
