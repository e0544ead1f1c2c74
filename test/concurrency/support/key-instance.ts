/**
 * A process with the plugin on a shared Redis server. Reports `loaded`. On `begin` it starts, and reports its published
 * keys and a signed access token. Verifies each received list of tokens and reports the number of valid ones. Ends on
 * `end`.
 */
import { drawFrom } from '../../support/small-rsa.ts'
import Fastify from 'fastify'
import { Redis } from 'ioredis'
import authPlugin, { memoryUserStore, redisState } from '../../../lib/index.ts'
import { fastHasher } from '../../../lib/testing/index.ts'
import { CLIENTS } from '../../support/openid.ts'
import { patiently, publishedKids } from './published.ts'

const [port = '', issuer = '', secret = '', index = ''] = process.argv.slice(2)
// Every process would make its own key.
drawFrom(1000 * (1 + Number(index)))
const redis = new Redis({ host: '127.0.0.1', port: Number(port) })
redis.on('error', () => {})
const users = memoryUserStore()
const app = Fastify()

async function begin(): Promise<{ kids: string[]; token: string }> {
  await app.register(authPlugin, {
    issuer,
    users,
    state: redisState(redis),
    clients: CLIENTS,
    rateLimit: false,
    secret,
    password: { hasher: fastHasher() }
  })
  await app.ready()
  const [kids, user] = await Promise.all([
    patiently(async () => await publishedKids(app)),
    users.create({ username: 'ann', passwordHash: 'none' })
  ])
  const { access_token: token } = await patiently(async () => await app.authority.issueTokens(user.id))
  return { kids, token }
}

async function verify(tokens: string[]): Promise<{ good: number }> {
  const settled = await Promise.allSettled(tokens.map(async (token) => await app.authority.verify(token)))
  return { good: settled.filter(({ status }) => status === 'fulfilled').length }
}

process.on('message', (message: 'begin' | 'end' | string[]) => {
  if (message === 'end') {
    void app.close().then(() => {
      redis.disconnect()
      process.disconnect()
    })
    return
  }
  const work: Promise<unknown> = message === 'begin' ? begin() : verify(message as string[])
  work.then(
    (report) => process.send?.(report),
    (error: unknown) => process.send?.({ error: String(error) })
  )
})
process.send?.('loaded')
