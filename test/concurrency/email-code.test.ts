/**
 * Codes and links by email on every state, over HTTP: fifty at once, by two instances, and a store that fails at each
 * step.
 */
import { cookieName } from '../support/cookies.ts'
import { mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'libsql'
import t from '../support/tap.ts'
import { memoryState, memoryUserStore, postgresState, redisState, sqliteState } from '../../lib/index.ts'
import type { State } from '../../lib/ports/state.ts'
import { delayed, steppedClock } from '../../lib/testing/index.ts'
import { parallel, tally } from '../../lib/testing/contract.ts'
import { ask, emailApp, type EmailApp, enter, hasSession, otherThan } from '../features/email-codes/support.ts'
import { testApp } from '../support/app.ts'
import { type TestBrowser, testBrowser } from '../support/browser.ts'
import { startRedis } from '../support/redis-server.ts'
import { sharedPostgres } from '../support/shared-postgres.ts'

const [postgres, redis] = await Promise.all([sharedPostgres(t), startRedis()])
const directory = mkdtempSync(join(tmpdir(), 'authority-code-'))
t.teardown(async () => {
  await redis.stop()
  await rm(directory, { recursive: true, force: true })
})
const pool = (await postgres.database()).pool({ max: 20 })
const memory = delayed(memoryState())

const STATES: Record<string, (t: { teardown(task: () => unknown): void }) => State> = {
  memory: () => memory,
  SQLite(t) {
    const db = new Database(join(directory, 'shared.db'))
    db.exec('PRAGMA synchronous = OFF')
    t.teardown(() => {
      db.close()
    })
    return delayed(sqliteState(db))
  },
  PostgreSQL: () => postgresState(pool),
  Redis: () => redisState(redis.client())
}

const PORTS: readonly string[] = ['oneTimeTokens', 'browserSessions']

/** A state that counts its calls. One call can fail as in an outage. */
function counted(state: State): { state: State; calls: string[]; failAt(call: number): void } {
  const calls: string[] = []
  let failing = 0
  const port = (name: string, store: object): object =>
    new Proxy(store, {
      get(target, method, receiver) {
        const found: unknown = Reflect.get(target, method, receiver)
        if (typeof found !== 'function') return found
        return async (...args: unknown[]): Promise<unknown> => {
          calls.push(`${name}.${String(method)}`)
          if (calls.length === failing) throw Object.assign(new Error('the server is gone'), { code: 'ECONNREFUSED' })
          return await (Reflect.apply(found, target, args) as Promise<unknown>)
        }
      }
    })
  const wrapped = new Proxy(state, {
    get(target, name, receiver) {
      const found: unknown = Reflect.get(target, name, receiver)
      return typeof name === 'string' && PORTS.includes(name) ? port(name, found as object) : found
    }
  })
  return {
    state: wrapped,
    calls,
    failAt(call) {
      calls.length = 0
      failing = call
    }
  }
}

const codeOf = async ({ mail }: EmailApp): Promise<string> => (await mail()).code

for (const [where, open] of Object.entries(STATES)) {
  t.test(
    `checks five of fifty parallel guesses, and signs in once by fifty correct codes and links (${where})`,
    async (t) => {
      const clock = steppedClock()
      const shared = { clock, secret: 'of two instances, of 32 bytes at least', users: memoryUserStore() }
      const one = await emailApp(t, { ...shared, state: open(t) })
      const other = await testApp({ ...shared, emailSignIn: {}, registration: { username: 'email' }, state: open(t) })
      t.teardown(other.close)
      const inParallel = async (
        work: (browser: TestBrowser, index: number) => Promise<{ statusCode: number; body: string }>
      ) =>
        await parallel(50, async (index) => {
          const browser = testBrowser(index % 2 === 0 ? one.app : other.app)
          for (const [name, value] of one.browser.cookies) browser.cookies.set(name, value)
          return await work(browser, index)
        })
      await ask(one.browser)
      const first = await codeOf(one)
      const guesses = await inParallel(async (browser, index) => await enter(browser, otherThan(first, index)))
      t.strictSame(
        tally(
          guesses.map(({ body }) =>
            body.includes('This code is wrong') ? 'wrong' : body.includes('Too many wrong codes') ? 'spent' : body
          )
        ),
        { wrong: 5, spent: 45 }
      )
      t.equal((await enter(one.browser, first)).statusCode, 400, 'the right one is nothing then')

      clock.step(600_000)
      await ask(one.browser)
      const { code, url } = await one.mail()
      const token = new URL(url).searchParams.get('token') ?? ''
      const right = await inParallel(async (browser, index) =>
        index % 4 < 2 ? await enter(browser, code) : await browser.submit('/auth/email-link', { token })
      )
      t.strictSame(tally(right.map(({ statusCode }) => String(statusCode))), { 303: 1, 400: 49 })
      t.equal((await one.app.authority.sessions(one.sub)).length, 1)
    }
  )

  t.test(
    `answers 503 without a session when a state call fails, and keeps an unredeemed code (${where})`,
    async (t) => {
      const { state, calls, failAt } = counted(open(t))
      const subject = await emailApp(t, { state, secret: 'of one instance, of 32 bytes at least' })
      const { app, sub } = subject
      const sessions = async (): Promise<number> => (await app.authority.sessions(sub)).length
      await subject.messages.next('verify_email')
      failAt(1)
      t.equal((await ask(subject.browser)).statusCode, 503)
      t.notOk(subject.browser.cookies.has(cookieName('waiting')))
      t.same(subject.sent(), [], 'nothing is sent that could not be stored')
      t.same(calls, ['oneTimeTokens.put'])

      const steps: string[] = []
      for (let step = 1; step < 10; step++) {
        const browser = testBrowser(app)
        failAt(0)
        await ask(browser)
        const code = await codeOf(subject)
        failAt(step)
        const reply = await enter(browser, code)
        const failed = calls[step - 1]
        if (failed === undefined) {
          t.equal(reply.statusCode, 303)
          t.ok(hasSession(browser))
          failAt(0)
          t.equal(await sessions(), 1)
          break
        }
        steps.push(failed)
        t.equal(reply.statusCode, 503, `entering: ${failed}`)
        t.notOk(hasSession(browser))
        failAt(0)
        t.equal(await sessions(), 0, failed)
        if (failed === 'oneTimeTokens.redeemCode') {
          t.equal((await enter(browser, code)).statusCode, 303, 'nothing was used up')
          await app.authority.revokeUser(sub)
        }
      }
      t.same(steps, ['oneTimeTokens.redeemCode', 'browserSessions.createSession'])
    }
  )
}
