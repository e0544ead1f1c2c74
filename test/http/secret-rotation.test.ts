/** The promises of docs/deployment.md on a `secret` that was replaced at once, and on one that leaked. */
import Fastify, { type FastifyInstance } from 'fastify'
import t from '../support/tap.ts'
import authPlugin, { memoryState, memoryUserStore } from '../../lib/index.ts'
import { authAs, fastHasher, steppedClock } from '../../lib/testing/index.ts'

const ISSUER = 'http://localhost:3000'
const OLD = 'the secret of before, which is random enough'
const NEW = 'another secret, of 32 bytes and some more bytes'

const users = memoryUserStore([{ id: 'ann', username: 'ann@example.com', passwordHash: null }])

interface Instance {
  app: FastifyInstance
  said: string[]
  opens(headers: Record<string, string>): Promise<number>
}

async function instance(
  secret: string,
  shared: { state: ReturnType<typeof memoryState>; clock: ReturnType<typeof steppedClock> }
): Promise<Instance> {
  const said: string[] = []
  const stream = {
    write(line: string) {
      said.push((JSON.parse(line) as { code?: string }).code ?? '')
    }
  }
  const app = Fastify({ logger: { level: 'warn', stream } }) as unknown as FastifyInstance
  await app.register(authPlugin, { issuer: ISSUER, users, secret, password: { hasher: fastHasher() }, ...shared })
  app.get('/me', { onRequest: [app.authenticate] }, async () => 'me')
  await app.inject('/.well-known/jwks.json')
  return { app, said, opens: async (headers) => (await app.inject({ url: '/me', headers })).statusCode }
}

// covers ASVS-13.3.4
t.test('with a new secret alone, rejects old access tokens, logs this, and keeps refresh tokens valid', async (t) => {
  const shared = { state: memoryState(), clock: steppedClock() }
  const before = await instance(OLD, shared)
  const access = await authAs(before.app, { id: 'ann' })
  const { refresh_token: refresh } = await before.app.authority.issueTokens('ann', { scope: 'openid' })
  await before.app.close()

  const after = await instance(NEW, shared)
  t.equal(await after.opens(access), 401)
  t.ok(after.said.includes('FST_AUTHORITY_KEYS_FAILED'))
  const refreshed = await after.app.inject({
    method: 'POST',
    url: '/auth/refresh',
    headers: { authorization: `Bearer ${refresh}` }
  })
  t.equal(refreshed.statusCode, 200)
  t.equal(
    await after.opens({ authorization: `Bearer ${refreshed.json<{ access_token: string }>().access_token}` }),
    200
  )
  await after.app.close()
})

t.test('with a new secret and no old keys in the state, keeps refresh tokens valid and logs nothing', async (t) => {
  const shared = { state: memoryState(), clock: steppedClock() }
  const before = await instance(OLD, shared)
  const access = await authAs(before.app, { id: 'ann' })
  const { refresh_token: refresh } = await before.app.authority.issueTokens('ann', { scope: 'openid' })
  await before.app.close()
  for (const { kid } of await shared.state.keys.list()) await shared.state.keys.remove(kid)

  const after = await instance(NEW, shared)
  t.equal(await after.opens(access), 401)
  t.equal(
    (
      await after.app.inject({
        method: 'POST',
        url: '/auth/refresh',
        headers: { authorization: `Bearer ${refresh}` }
      })
    ).statusCode,
    200
  )
  t.same(after.said, [])
  await after.app.close()
})
