/** The statements of a browser sign-in to PostgreSQL: each is a round trip that the person waits for. */
import { cookieName } from '../support/cookies.ts'
import t, { type Test } from '../support/tap.ts'
import { postgresState } from '../../lib/adapters/postgres/record-store.ts'
import { postgresUserStore } from '../../lib/adapters/postgres/user-store.ts'
import { ISSUER, signUp, testApp } from '../support/app.ts'
import { testBrowser, type TestBrowser } from '../support/browser.ts'
import { answerOf, authorizeAs, authorizePath, basic, CLIENTS, KEYS, redeem, SECRET } from '../support/openid.ts'
import { sharedPostgres } from '../support/shared-postgres.ts'

const server = await sharedPostgres(t)

const NAMES: ReadonlyArray<readonly [name: string, of: RegExp]> = [
  ['user by name', /authority_users" WHERE username/],
  ['user by id', /authority_users" WHERE id/],
  ['read', /^SELECT .* FROM authority_records/],
  ['commit', /^SELECT authority_records_commit/],
  ['commit of one record', /^(UPDATE|DELETE FROM) authority_records/]
]

async function world(t: Test): Promise<{
  app: Awaited<ReturnType<typeof testApp>>['app']
  browser: TestBrowser
  asked: (work: () => Promise<unknown>) => Promise<string[]>
}> {
  const database = await server.database()
  const pool = database.pool()
  const texts: string[] = []
  const db = {
    query: async (text: string, params?: unknown[]) => {
      texts.push(text)
      return await pool.query(text, params)
    }
  }
  const { app, close } = await testApp({
    keys: KEYS,
    clients: CLIENTS,
    state: postgresState(db),
    users: postgresUserStore(db),
    rateLimit: {}
  })
  t.teardown(close)
  await signUp(app)
  return {
    app,
    browser: testBrowser(app, ISSUER),
    async asked(work) {
      texts.length = 0
      await work()
      return texts.map((text) => NAMES.find(([, of]) => of.test(text))?.[0] ?? text)
    }
  }
}

const SIGN_IN = ['user by name', 'commit', 'user by id']
const CODE = ['read', 'user by id', 'commit']

// covers B20
t.test('runs eight statements for a sign-in by redirect, and five in a signed-in browser', async (t) => {
  const { app, browser, asked } = await world(t)
  let code = ''
  const signIn = async (): Promise<void> => {
    ;({ code = '' } = await authorizeAs(browser, authorizePath()))
  }
  t.same(await asked(signIn), [...SIGN_IN, ...CODE])
  t.same(
    await asked(async () => {
      t.equal((await redeem(app, code)).statusCode, 200)
    }),
    ['commit', 'user by id']
  )
  t.same(await asked(signIn), CODE, 'single sign-on')
  for (const name of browser.cookies.keys()) if (name.includes('session')) browser.cookies.delete(name)
  t.same([...browser.cookies.keys()], [cookieName('device')])
  t.same(await asked(signIn), [...SIGN_IN, ...CODE], 'of a known browser')
})

// covers B20
t.test('reads the consent of a third-party client before and after it creates a code', async (t) => {
  const { app, browser, asked } = await world(t)
  const third = { client_id: 'third', redirect_uri: 'https://third.example/cb' }
  await authorizeAs(browser, authorizePath())
  const page = await browser.follow(await browser.get(authorizePath(third)))
  const url = /<form[^>]* action="([^"]*)"/.exec(page.reply.body)?.[1]?.replaceAll('&amp;', '&') ?? ''
  let location = ''
  t.same(
    await asked(async () => {
      location = (await browser.submit(url, { decision: 'allow' })).headers.location ?? ''
    }),
    ['read', 'user by id', 'read', 'read', 'commit', 'user by id', 'read', 'commit', 'read']
  )
  t.equal((await redeem(app, answerOf(location)['code'] ?? '', third, basic('third', SECRET))).statusCode, 200)
  t.same(
    await asked(async () => {
      await authorizeAs(browser, authorizePath(third))
    }),
    ['read', 'user by id', 'read', 'commit', 'read']
  )
})
