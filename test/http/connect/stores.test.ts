/**
 * Sign-in through providers over a socket, with users in PostgreSQL and the state in Redis, with attackers and races.
 */
import type { AddressInfo } from 'node:net'
import t from '../../support/tap.ts'
import { postgresUserStore, redisState } from '../../../lib/index.ts'
import { TOKEN_EXCHANGE_GRANT } from '../../../lib/protocol/request-params.ts'
import { startRedis } from '../../support/redis-server.ts'
import { sharedPostgres } from '../../support/shared-postgres.ts'
import { fakeUpstream } from '../../support/fake-upstream.ts'
import { connectApp, CROSS, SAME } from './support.ts'

const [postgres, redis] = await Promise.all([sharedPostgres(t), startRedis()])
t.teardown(async () => {
  await redis.stop()
})
const pool = (await postgres.database()).pool({ max: 20 })
let made = 0

/** A browser over `fetch` that keeps cookies and follows no redirect by itself. */
function socketBrowser(origin: string) {
  const cookies = new Map<string, string>()
  return {
    cookies,
    async ask(
      path: string,
      init: { method?: string; headers?: Record<string, string>; body?: string } = {}
    ): Promise<{ status: number; location: string; text: string }> {
      const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
      const reply = await fetch(`${origin}${path}`, {
        redirect: 'manual',
        ...init,
        headers: { ...init.headers, ...(cookie === '' ? {} : { cookie }) }
      })
      for (const line of reply.headers.getSetCookie()) {
        const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
        if (value === '' || /Max-Age=0/.test(line)) cookies.delete(name)
        else cookies.set(name, value)
      }
      return { status: reply.status, location: reply.headers.get('location') ?? '', text: await reply.text() }
    }
  }
}

async function socketApp(t: Parameters<typeof connectApp>[0], options: Parameters<typeof connectApp>[1] = {}) {
  const users = postgresUserStore(pool, { table: `users_${++made}` })
  await users.prepare()
  const test = await connectApp(t, {
    users,
    state: redisState(redis.client(), { prefix: `test${made}:` }),
    clients: [{ clientId: 'phone', grantTypes: [TOKEN_EXCHANGE_GRANT] }],
    ...options
  })
  await test.app.listen({ port: 0, host: '127.0.0.1' })
  const origin = `http://127.0.0.1:${(test.app.server.address() as AddressInfo).port}`
  const begin = async (browser = socketBrowser(origin)) => {
    const { location } = await browser.ask('/auth/connect/acme', { headers: SAME })
    const state = new URL(location).searchParams.get('state') ?? ''
    return {
      browser,
      state,
      back: async () => await browser.ask(`/auth/connect/acme/callback?code=good&state=${state}`, { headers: CROSS })
    }
  }
  const exchange = async (token: string) =>
    (
      await fetch(`${origin}/auth/token`, {
        method: 'POST',
        body: new URLSearchParams({
          grant_type: TOKEN_EXCHANGE_GRANT,
          client_id: 'phone',
          connection: 'acme',
          nonce: 'n',
          subject_token: token,
          subject_token_type: 'urn:ietf:params:oauth:token-type:id_token'
        })
      })
    ).status
  return {
    ...test,
    users,
    origin,
    begin,
    exchange,
    count: async () => Number((await pool.query(`SELECT count(*) AS n FROM users_${made}`)).rows[0].n)
  }
}

// covers FED-12 FED-25
t.test('creates one user for 30 parallel callbacks and 30 ID tokens, and accepts a token once', async (t) => {
  const test = await socketApp(t, { connection: { audiences: ['app'] } })
  const flows = await Promise.all(Array.from({ length: 30 }, async () => await test.begin()))
  const [callbacks, tokens] = await Promise.all([
    Promise.all(flows.map(async ({ back }) => (await back()).status)),
    Promise.all(Array.from({ length: 30 }, async (_, index) => await test.exchange(`good.${index}.x`)))
  ])
  t.strictSame([...new Set(callbacks)], [303])
  t.strictSame([...new Set(tokens)], [200])
  t.equal(await test.count(), 1)
  const replayed = await Promise.all(Array.from({ length: 50 }, async () => await test.exchange('good.one.x')))
  t.equal(replayed.filter((status) => status === 200).length, 1)
  t.equal(replayed.filter((status) => status === 400).length, 49)
  const [claim = ''] = await redis.client().keys(`test${made}:*:x:*`)
  t.ok((await redis.client().pttl(claim)) > 0, 'a claim has an end')
})

// covers FED-2
t.test('accepts a form_post answer once, only in the browser that began the sign-in', async (t) => {
  const test = await socketApp(t, { connection: { responseMode: 'form_post', audiences: ['app'] } })
  const { browser, state } = await test.begin()
  const post = async (by: ReturnType<typeof socketBrowser>) =>
    await by.ask('/auth/connect/acme/callback', {
      method: 'POST',
      headers: { ...CROSS, 'content-type': 'application/x-www-form-urlencoded' },
      body: `state=${state}&code=good`
    })
  // Unlike this fake, a browser sends no cookie with a form of another site.
  const thief = socketBrowser(test.origin)
  const { location } = await post(thief)
  t.equal((await thief.ask(location, { headers: CROSS })).status, 400, 'another browser')
  await post(browser)
  t.equal((await browser.ask(location, { headers: CROSS })).status, 303)
  t.equal((await browser.ask(location, { headers: CROSS })).status, 400, 'again')
  t.equal(test.fake.answers.length, 1)
})

// covers FED-24
t.test('redirects known and unknown users of a domain to its connection, and rejects another domain', async (t) => {
  const test = await socketApp(t, {
    connection: { domains: ['acme.com'], enforce: true, audiences: ['app'] },
    fake: fakeUpstream({ subject: 'x', email: 'eve@example.com' })
  })
  await test.users.create({ username: 'ann@acme.com', passwordHash: 'h', email: 'ann@acme.com' })
  const typed = async (username: string) => {
    const { status, text } = await socketBrowser(test.origin).ask('/auth/login', {
      method: 'POST',
      headers: { ...SAME, origin: test.origin, 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ username, password: 'x' }).toString()
    })
    return { status, text: text.replaceAll(encodeURIComponent(username), '').replaceAll(username, '') }
  }
  const known = await typed('ann@acme.com')
  t.match(known.text, '/auth/connect/acme')
  t.strictSame(await typed('bob@acme.com'), known)
  t.equal((await (await test.begin()).back()).status, 403)
  t.equal(await test.count(), 1)
})

t.test('finds and links no subject with a NUL, and drops a name or address with a NUL at sign-in', async (t) => {
  const test = await socketApp(t, { connection: { audiences: ['app'] }, fake: fakeUpstream({ subject: 'x\0y' }) })
  t.equal(await test.users.findByIdentity({ issuer: 'https://sso.example.com', subject: 'x\0y' }), null)
  t.equal(
    await test.users
      .linkIdentity((await test.users.create({ username: 'ann', passwordHash: null })).id, {
        issuer: 'i',
        subject: 'x\0y',
        connection: 'acme',
        linkedAt: 1,
        lastUsedAt: 1
      })
      .catch((error: Error) => error.name),
    'TypeError'
  )
  test.fake.person = { subject: 'fine', email: 'a\0b@example.com', profile: {} }
  test.fake.claims = { name: 'An\0n', nickname: 'Ann' }
  t.equal((await (await test.begin()).back()).status, 303)
  const user = await test.users.findByIdentity({ issuer: 'https://sso.example.com', subject: 'fine' })
  t.equal(user?.['name'], undefined)
  t.equal(user?.['nickname'], 'Ann')
  t.match(user?.username, /^acme-/)
})
