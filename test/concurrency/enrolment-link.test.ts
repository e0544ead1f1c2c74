/** One link of `startEnrolment`, and one key of `importTotp`, used by two instances on every store. */
import { cookieName } from '../support/cookies.ts'
import { mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import Database from 'libsql'
import t from '../support/tap.ts'
import {
  type AuthorityOptions,
  memoryFactorStore,
  memoryState,
  memoryUserStore,
  postgresFactorStore,
  postgresState,
  postgresUserStore,
  redisFactorStore,
  sqliteFactorStore,
  sqliteState,
  sqliteUserStore
} from '../../lib/index.ts'
import { delayed, steppedClock } from '../../lib/testing/index.ts'
import { parallel, tally } from '../../lib/testing/contract.ts'
import { signUp, testApp, type TestApp } from '../support/app.ts'
import { type TestBrowser, testBrowser } from '../support/browser.ts'
import { codeFor, codesIn, formOf, logIn, signedInAnywhere } from '../support/factors.ts'
import { toBase32 } from '../../lib/protocol/totp.ts'
import { startRedis } from '../support/redis-server.ts'
import { sharedPostgres } from '../support/shared-postgres.ts'

type Stores = Pick<AuthorityOptions, 'users' | 'state' | 'factors' | 'redis'>

const postgres = await sharedPostgres(t)
const redis = await startRedis()
const database = await postgres.database()
const pool = database.pool({ max: 20 })
const directory = mkdtempSync(join(tmpdir(), 'authority-link-'))
t.teardown(async () => {
  await database.drop()
  await redis.stop()
  await rm(directory, { recursive: true, force: true })
})
const memory = { users: memoryUserStore(), state: delayed(memoryState()), factors: delayed(memoryFactorStore()) }

/** The stores of each of two instances; those opened for one instance end with it. */
const WORLDS: Record<string, (t: { teardown(task: () => unknown): void }) => Stores> = {
  memory: () => memory,
  SQLite(t) {
    const db = new Database(join(directory, 'shared.db'))
    db.exec('PRAGMA synchronous = OFF')
    t.teardown(() => {
      db.close()
    })
    return { users: sqliteUserStore(db), state: delayed(sqliteState(db)), factors: delayed(sqliteFactorStore(db)) }
  },
  PostgreSQL: () => ({
    users: postgresUserStore(pool),
    state: postgresState(pool),
    factors: postgresFactorStore(pool)
  }),
  Redis: () => ({ users: memory.users, redis: redis.client(), factors: redisFactorStore(redis.client()) })
}

for (const [where, open] of Object.entries(WORLDS)) {
  // covers ADV-CVE-2026-37982 ADV-CVE-2026-32132
  t.test(
    `accepts one of fifty parallel redemptions of an enrolment link, until the link expires (${where})`,
    async (t) => {
      const clock = steppedClock()
      const instances: TestApp[] = []
      for (let n = 0; n < 2; n++) {
        const instance = await testApp({ clock, secret: 'of two instances, of 32 bytes at least', ...open(t) })
        t.teardown(instance.close)
        instances.push(instance)
      }
      const [one, two] = instances as [TestApp, TestApp]
      const { sub } = await signUp(one.app, `ann-${where.toLowerCase()}`)
      const username = `ann-${where.toLowerCase()}`
      const press = async (browser: TestBrowser, url: string) =>
        await browser.submit('/auth/second-factor/link', { token: new URL(url).searchParams.get('token') ?? '' })

      const former = await one.app.authority.startEnrolment(sub)
      const { url, expiresAt } = await two.app.authority.startEnrolment(sub)
      t.equal((await press(testBrowser(one.app), former.url)).statusCode, 400, 'the newest alone')
      clock.step(expiresAt.getTime() - clock.now() - 1)
      const browsers = Array.from({ length: 50 }, (_, index) => testBrowser(instances[index % 2]?.app ?? one.app))
      const replies = await parallel(50, async (index) => await press(browsers[index] ?? testBrowser(one.app), url))
      t.strictSame(tally(replies.map(({ statusCode }) => String(statusCode))), { 303: 1, 400: 49 })
      const [winner, ...others] = browsers.filter(({ cookies }) => cookies.has(cookieName('enrolment')))
      t.equal(others.length, 0)

      const late = await one.app.authority.startEnrolment(sub)
      t.equal(
        (await logIn(winner ?? testBrowser(one.app), username)).headers.location,
        '/',
        'another link ends what the first one gave'
      )
      clock.step(late.expiresAt.getTime() - clock.now())
      t.equal((await press(testBrowser(two.app), late.url)).statusCode, 400, 'its end is the end')

      const last = await one.app.authority.startEnrolment(sub)
      const browser = testBrowser(two.app)
      await press(browser, last.url)
      t.equal((await logIn(browser, username)).headers.location, '/auth/second-factor/set-up')
      const { body } = await browser.get('/auth/second-factor/set-up')
      const secret = (/<code dir="ltr">([A-Z2-7 ]+)<\/code>/.exec(body)?.[1] ?? '').replaceAll(' ', '')
      // One form of one browser is one press, however often it arrives.
      const presses = await parallel(
        10,
        async () =>
          await browser.submit('/auth/second-factor/set-up', {
            ...formOf(body).fields,
            code: codeFor(secret, clock.now())
          })
      )
      t.strictSame(tally(presses.map(({ statusCode }) => String(statusCode))), { 303: 10 })
      const codes: string[][] = []
      for (const press of presses) {
        // Each answer has its own cookie for the page of the codes.
        for (const { name, value } of press.cookies) browser.cookies.set(name, value)
        codes.push(codesIn((await browser.follow(press)).reply.body))
      }
      t.equal(codes[0]?.length, 10)
      t.equal(new Set(codes.map((shown) => shown.join())).size, 1, 'all show the same recovery codes')
      t.match(await one.app.authority.factors(sub), { factors: { length: 1 } })
      t.not((await signedInAnywhere(browser)).length, 0)
      await t.rejects(one.app.authority.startEnrolment(sub), { error: 'invalid_request', message: /second factor/ })
    }
  )

  t.test(`adds one app for thirty parallel imports of one key at two instances (${where})`, async (t) => {
    const instances: TestApp[] = []
    for (let n = 0; n < 2; n++) {
      const instance = await testApp({ secret: 'of two instances, of 32 bytes at least', ...open(t) })
      t.teardown(instance.close)
      instances.push(instance)
    }
    const [one, two] = instances as [TestApp, TestApp]
    const { sub } = await signUp(one.app, `bob-${where.toLowerCase()}`)
    const { sub: another } = await signUp(one.app, `eve-${where.toLowerCase()}`)
    const key = Buffer.from('12345678901234567890')
    const outcomes = await parallel(
      30,
      async (index) =>
        await (index % 2 === 0 ? one : two).app.authority.importTotp(sub, {
          secret: index % 3 === 0 ? toBase32(key) : key
        })
    )
    t.strictSame(tally(outcomes), { added: 1, already_added: 29 })
    t.match(await one.app.authority.factors(sub), { factors: { length: 1 } })
    t.equal([...one.events, ...two.events].filter(({ name }) => name === 'factor_added').length, 1)
    t.same(
      await parallel(2, async (index) => await one.app.authority.importTotp(sub, { secret: Buffer.alloc(20, index) })),
      ['added', 'added'],
      'another key is another app'
    )
    t.equal(
      await two.app.authority.importTotp(another, { secret: key }),
      'added',
      'and another person may have the same key'
    )
    const ids = (await Promise.all([sub, another].map(async (id) => (await one.app.authority.factors(id)).factors)))
      .flat()
      .map(({ id }) => id)
    t.equal(new Set(ids).size, 4)
    const importFor = async (id: unknown) => await one.app.authority.importTotp(id as string, { secret: key })
    for (const wrong of ['', '\0', 'nobody'])
      await t.rejects(
        importFor(wrong),
        { name: 'OAuthError', error: 'invalid_grant' } as unknown as Error,
        inspect(wrong)
      )
    for (const wrong of [undefined, null, 7, {}]) await t.rejects(importFor(wrong), TypeError, inspect(wrong))
  })
}
