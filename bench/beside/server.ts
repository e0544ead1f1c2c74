/**
 * A service of another checkout, in a process of its own: `server.ts CHECKOUT STORE URL`. Tells where it listens and
 * the first tokens of its users, and then, whenever it is asked, the processor time that it has used.
 */
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import Fastify, { type FastifyInstance } from 'fastify'
import type * as lib from '../../lib/index.ts'
import { sqliteFile } from '../databases.ts'
import { listen, type Subject } from '../subject.ts'

type Library = typeof lib

const USERS = 64
const secret = 'a secret of at least 32 characters, used for nothing else'
const [checkout = '.', kind = 'memory', url = ''] = process.argv.slice(2)
const library = (await import(pathToFileURL(resolve(checkout, 'lib/index.ts')).href)) as Library

async function state(): Promise<ReturnType<Library['memoryState']>> {
  if (kind === 'sqlite') return library.sqliteState(await sqliteFile())
  if (kind === 'redis') {
    const { Redis } = await import('ioredis')
    return library.redisState(new Redis(url), { prefix: `bench-${process.pid}:` })
  }
  if (kind === 'postgres') {
    const { Pool } = await import('pg')
    return library.postgresState(new Pool({ connectionString: url, max: 8 }), { schema: 'public' })
  }
  return library.memoryState()
}

const app = Fastify() as unknown as FastifyInstance
const users = library.memoryUserStore(
  Array.from({ length: USERS }, (_, index) => ({ id: `u${index}`, username: `user-${index}`, passwordHash: null }))
)
await app.register(library.default, {
  issuer: 'http://localhost',
  secret,
  users,
  keys: { secret },
  state: await state(),
  rateLimit: false
})
await app.ready()
const tokens: string[] = []
for (let index = 0; index < USERS; index++)
  tokens.push((await app.authority.issueTokens(`u${index}`)).refresh_token ?? '')

process.on('disconnect', () => {
  process.exit()
})
process.on('message', () => {
  process.send?.(process.cpuUsage())
})
const subject: Subject = {
  port: await listen(app),
  requests: [
    {
      method: 'POST',
      path: '/auth/token',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ grant_type: 'refresh_token', refresh_token: '%TOKEN%' })
    }
  ],
  status: 200,
  follow: { member: 'refresh_token', tokens }
}
process.send?.(subject)
