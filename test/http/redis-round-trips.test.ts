/** Trips to Redis for each operation, as in the table of docs/guides/state.md. */
import { readFileSync } from 'node:fs'
import t from '../support/tap.ts'
import { bearer, PASSWORD, signIn, signUp, testApp } from '../support/app.ts'
import { authorizePath, basic, openidApp, redeem, SECRET } from '../support/openid.ts'
import { startRedis } from '../support/redis-server.ts'

const server = await startRedis()
t.teardown(async () => {
  await server.stop()
})

const client = server.client()
await client.ping()
let writes = 0
const write = client.stream.write.bind(client.stream)
client.stream.write = ((...args: Parameters<typeof write>) => {
  writes++
  return write(...args)
}) as typeof client.stream.write

/** How often the work writes to the server. */
async function tripsOf(work: () => Promise<unknown>): Promise<number> {
  const before = writes
  await work()
  // Background work of the last response is sent at the end of its turn.
  for (let turn = 0; turn < 3; turn++)
    await new Promise((resolve) => {
      setImmediate(resolve)
    })
  return writes - before
}

/** The trips for the state, and the additional trips for the limits. */
const found: Record<string, [state: number, limits: number]> = {}

for (const rateLimit of [false, {}] as const) {
  async function measured(what: string, work: () => Promise<unknown>): Promise<void> {
    const trips = await tripsOf(work)
    if (rateLimit === false) found[what] = [trips, 0]
    else (found[what] as [number, number])[1] = trips - (found[what] as [number, number])[0]
  }

  t.test(`completes sign-in and refreshes on Redis ${rateLimit === false ? 'without' : 'with'} limits`, async (t) => {
    const { app, close } = await testApp({ redis: client, rateLimit })
    const post = async (url: string, payload: Record<string, unknown>, headers: Record<string, string> = {}) => {
      const reply = await app.inject({ method: 'POST', url, payload, headers })
      t.ok(reply.statusCode < 300, `${url} ${reply.statusCode}`)
      return reply
    }
    const rotate = async (token: string): Promise<string> =>
      (await post('/auth/token', { grant_type: 'refresh_token', refresh_token: token })).json().refresh_token
    await signUp(app)
    // Runs each script once before, because its first call takes a second trip.
    const first = await signIn(app)
    await post('/auth/refresh', {}, bearer(first.refresh_token))
    await post('/auth/revoke', { token: await rotate(first.refresh_token) })

    let tokens = first
    await measured('sign-in with a password', async () => {
      tokens = await signIn(app)
    })
    await app.inject({ url: '/auth/sessions', headers: bearer(tokens.access_token) })
    await measured('protected route', async () => {
      t.equal((await app.inject({ url: '/me', headers: bearer(tokens.access_token) })).statusCode, 200)
    })
    await measured('`POST /auth/refresh`', async () => await post('/auth/refresh', {}, bearer(tokens.refresh_token)))
    await measured('rotation at the token endpoint', async () => {
      tokens.refresh_token = await rotate(tokens.refresh_token)
    })
    await measured('`GET /auth/sessions`', async () => {
      t.equal((await app.inject({ url: '/auth/sessions', headers: bearer(tokens.access_token) })).statusCode, 200)
    })
    await measured('`POST /auth/revoke`', async () => await post('/auth/revoke', { token: tokens.refresh_token }))
    if (rateLimit !== false) {
      for (let attempt = 0; attempt < 5; attempt++)
        await app.inject({
          method: 'POST',
          url: '/auth/token',
          payload: { grant_type: 'password', username: 'ann', password: 'wrong wrong' }
        })
      found['a sign-in that the limits refuse'] = [
        0,
        await tripsOf(async () => {
          t.equal(
            (
              await app.inject({
                method: 'POST',
                url: '/auth/token',
                payload: { grant_type: 'password', username: 'ann', password: PASSWORD }
              })
            ).statusCode,
            429
          )
        })
      ]
    }
    await close()
    await client.flushdb()
  })

  t.test(`completes a redirect sign-in on Redis ${rateLimit === false ? 'without' : 'with'} limits`, async (t) => {
    const { app, browser, close } = await openidApp({ redis: client, rateLimit })
    await browser.submit('/auth/login', { username: 'ann', password: PASSWORD })
    const authorized = async (): Promise<string> => {
      const code = new URL(
        (await browser.get(authorizePath({ scope: 'openid offline_access' }))).headers.location ?? ''
      ).searchParams.get('code')
      t.ok(code)
      return code ?? ''
    }
    await redeem(app, await authorized())
    await browser.get('/auth/session')

    let code = ''
    await measured('authorization request with a session', async () => {
      code = await authorized()
    })
    let accessToken = ''
    await measured('code redemption', async () => {
      accessToken = (await redeem(app, code)).json().access_token
    })
    await measured('userinfo', async () => {
      t.equal((await app.inject({ url: '/auth/userinfo', headers: bearer(accessToken) })).statusCode, 200)
    })
    await measured('`GET /auth/session`', async () => {
      t.equal((await browser.get('/auth/session')).statusCode, 200)
    })
    await measured('introspection', async () => {
      const reply = await app.inject({
        method: 'POST',
        url: '/auth/introspect',
        payload: { token: accessToken },
        headers: basic('web', SECRET)
      })
      t.equal(reply.json().active, true)
    })
    await close()
    await client.flushdb()
  })
}

t.test('needs exactly the round trips to Redis that the guide about state lists', async (t) => {
  const page = readFileSync('docs/guides/state.md', 'utf8')
  const rows = Object.fromEntries(
    [...page.matchAll(/^\| ([^|]+) \| (\d) \| (\d) \|$/gm)].map(([, what, state, limits]) => [
      what,
      [Number(state), Number(limits)]
    ])
  )
  t.strictSame(found, rows)
})
