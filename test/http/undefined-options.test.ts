/** The common `env.X && Number(env.X)`: an option with the value `undefined` has its default. */
import Database from 'libsql'
import t from '../support/tap.ts'
import {
  argon2Hasher,
  memoryState,
  postgresState,
  postgresUserStore,
  type SqliteDatabase,
  sqliteState,
  sqliteUserStore
} from '../../lib/index.ts'
import { PASSWORD, signIn, signUp, testApp } from '../support/app.ts'

const wrong = {
  method: 'POST',
  url: '/auth/token',
  payload: { grant_type: 'password', username: 'ann', password: 'not this one' }
} as const

// covers A6
t.test('applies the default limit when the max of a rule is undefined', async (t) => {
  for (const rateLimit of [
    { login: { max: undefined } },
    { login: { windowMs: undefined, max: undefined, count: undefined } },
    { login: undefined },
    undefined
  ]) {
    const { app, close } = await testApp({ rateLimit })
    await signUp(app)
    const statuses: number[] = []
    for (let attempt = 0; attempt < 7; attempt++) statuses.push((await app.inject(wrong)).statusCode)
    t.strictSame(statuses, [400, 400, 400, 400, 400, 429, 429], JSON.stringify(rateLimit))
    await close()
  }
})

// covers A6
t.test('limits guesses on one name when account.max is undefined', async (t) => {
  const { app, close } = await testApp({ rateLimit: { login: false, account: { max: undefined } } })
  await signUp(app)
  const statuses: number[] = []
  for (let attempt = 0; attempt < 12; attempt++)
    statuses.push((await app.inject({ ...wrong, remoteAddress: `192.0.2.${attempt}` })).statusCode)
  t.strictSame(statuses, [...Array<number>(10).fill(400), 429, 429])
  await close()
})

// covers A6
t.test('issues working refresh tokens when refreshToken.* is undefined', async (t) => {
  const { app, clock, close } = await testApp({
    refreshToken: { expiresIn: undefined, idleTimeout: undefined, rotate: undefined, reuseGraceSeconds: undefined }
  })
  await signUp(app)
  const { refresh_token } = await signIn(app)
  const refresh = async () =>
    await app.inject({ method: 'POST', url: '/auth/token', payload: { grant_type: 'refresh_token', refresh_token } })
  const first = await refresh()
  t.equal(first.statusCode, 200)
  clock.step(9000)
  const repeated = await refresh()
  t.equal(
    repeated.json<{ refresh_token: string }>().refresh_token,
    first.json<{ refresh_token: string }>().refresh_token,
    'the grace time is the default one'
  )
  clock.step(2000)
  t.match((await refresh()).json(), { error: 'invalid_grant' }, 'and ends when that does')
  await close()
})

// covers A6
t.test('applies the default lifetime of access tokens when all lifetimes are undefined', async (t) => {
  const { app, close } = await testApp({
    accessToken: { expiresIn: undefined, audience: undefined },
    session: { expiresIn: undefined, idleTimeout: undefined },
    idToken: { expiresIn: undefined },
    authorizationCode: { expiresIn: undefined }
  })
  await signUp(app)
  const { access_token, expires_in } = await signIn(app)
  t.equal(expires_in, 900)
  t.equal((await app.inject({ url: '/me', headers: { authorization: `Bearer ${access_token}` } })).statusCode, 200)
  await close()
})

// covers A6
t.test('uses the default name when decorators.authenticate is undefined', async (t) => {
  const { app, close } = await testApp({ decorators: { authenticate: undefined, auth: undefined } })
  t.type(app.authenticate, 'function')
  t.notOk(app.hasDecorator('undefined'))
  t.notOk(app.hasRequestDecorator('undefined'))
  await close()
})

// covers A6
t.test('hashes with the default cost when password.memoryCost is undefined', async (t) => {
  const { app, close } = await testApp({
    password: {
      memoryCost: undefined,
      timeCost: undefined,
      parallelism: undefined,
      maxQueue: undefined,
      concurrency: undefined,
      minLength: undefined,
      hasher: argon2Hasher()
    }
  })
  t.match(await app.authority.hashPassword(PASSWORD), /^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
  t.equal(
    (await app.inject({ method: 'POST', url: '/auth/register', payload: { username: 'ann', password: 'short' } }))
      .statusCode,
    400
  )
  await close()
})

// covers A6
t.test('accepts undefined in the options of the stores', async (t) => {
  const bounds = { maxFamiliesPerUser: undefined, maxSessionsPerUser: undefined }
  const none = async (): Promise<{ rows: unknown[] }> => ({ rows: [] })
  const db = new Database(':memory:') as unknown as SqliteDatabase
  for (const state of [memoryState(bounds), sqliteState(db, bounds)]) {
    const { app, close } = await testApp({ state, users: sqliteUserStore(db, { table: undefined }) })
    await signUp(app, `ann${state.kind}`)
    t.ok((await signIn(app, `ann${state.kind}`)).refresh_token, state.kind)
    await close()
  }
  t.doesNotThrow(() => postgresState({ query: none }, { ...bounds, schema: undefined }))
  t.doesNotThrow(() => postgresUserStore({ query: none }, { table: undefined }))
})
