/** A browser that is known for an account whose password hash its first sign-in replaces. */
import { cookieName } from '../../support/cookies.ts'
import t, { type Test } from '../../support/tap.ts'
import { memoryUserStore } from '../../../lib/index.ts'
import { fastHasher } from '../../../lib/testing/index.ts'
import { type LightMyRequestResponse, PASSWORD, testApp } from '../../support/app.ts'
import { testBrowser } from '../../support/browser.ts'
import { KEYS } from '../../support/openid.ts'

const BROWSER = { 'sec-fetch-site': 'same-origin', origin: 'http://localhost:3000' }
const FORMER = { memoryCost: 4096, timeCost: 3, parallelism: 1 }
/** pbkdf2_sha256 of `PASSWORD`, as Django has it. */
const DJANGO = 'pbkdf2_sha256$1000$seasalt$DrdiWD40lyBuydnjvZiDrdQMx1S1mOA9O0QYex0R6ww='

const cookieOf = ({ headers }: LightMyRequestResponse): string | undefined =>
  [headers['set-cookie'] ?? []]
    .flat()
    .find((cookie) => cookie.includes(`${cookieName('device')}=`))
    ?.split(';')[0]

async function annsApp(t: Test, passwordHash: string) {
  const users = memoryUserStore([{ id: 'ann', username: 'ann', passwordHash }])
  const hasher = fastHasher()
  // A new hash takes longer than the rest of the reply.
  const slow = {
    ...hasher,
    async hash(...args: Parameters<typeof hasher.hash>) {
      for (let turn = 0; turn < 50; turn++)
        await new Promise((resolve) => {
          setImmediate(resolve)
        })
      return await hasher.hash(...args)
    }
  }
  const { app, close } = await testApp({
    keys: KEYS,
    users,
    password: { hasher: slow },
    rateLimit: { login: false, account: { max: 2 } }
  })
  t.teardown(close)
  const byToken = async (password: string, headers: Record<string, string> = {}): Promise<LightMyRequestResponse> =>
    await app.inject({
      method: 'POST',
      url: '/auth/token',
      headers,
      payload: { grant_type: 'password', username: 'ann', password }
    })
  const byPage = async (password: string, headers: Record<string, string> = {}): Promise<LightMyRequestResponse> =>
    await testBrowser(app).submit('/auth/login', { username: 'ann', password }, { ...BROWSER, ...headers })
  return { users, entrances: { 'token endpoint': byToken, 'sign-in page': byPage } }
}

for (const entrance of ['token endpoint', 'sign-in page'] as const) {
  for (const [what, stored] of [
    ['another system made', async () => DJANGO],
    ['was made with other parameters', async () => await fastHasher().hash(PASSWORD, FORMER)],
    ['is up to date', async () => await fastHasher().hash(PASSWORD, { memoryCost: 19456, timeCost: 2, parallelism: 1 })]
  ] as const) {
    // covers RL-24
    t.test(`${entrance}: signs in from a known browser over the account limit, with a hash that ${what}`, async (t) => {
      const hash = await stored()
      const { users, entrances } = await annsApp(t, hash)
      const enter = entrances[entrance]
      const signedIn = await enter(PASSWORD, BROWSER)
      t.ok(signedIn.statusCode < 400, `${signedIn.statusCode} ${signedIn.body.slice(0, 200)}`)
      t.equal((await users.findById('ann'))?.passwordHash === hash, what === 'is up to date')
      for (const status of [400, 400, 429]) t.equal((await entrances['token endpoint']('wrong')).statusCode, status)
      const known = { ...BROWSER, cookie: cookieOf(signedIn) ?? '' }
      t.equal((await enter(PASSWORD, { ...BROWSER })).statusCode, 429, 'a browser that is not known is out')
      t.ok((await enter(PASSWORD, known)).statusCode < 400, 'the known one is not')
    })
  }
}

t.test('answers an unknown browser before the new hash is stored', async (t) => {
  const { users, entrances } = await annsApp(t, DJANGO)
  t.equal((await entrances['token endpoint'](PASSWORD)).statusCode, 200)
  t.equal((await users.findById('ann'))?.passwordHash, DJANGO, 'the reply came before')
})
