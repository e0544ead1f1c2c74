import Fastify, { type FastifyInstance } from 'fastify'
import authPlugin, { argon2Hasher, memoryUserStore } from '../lib/index.ts'
import { type Benchmark, listen } from './subject.ts'

const password = 'correct horse battery'
const request = {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ grant_type: 'password', username: 'ann', password })
} as const

/** What a sign-in costs beside the one argon2 verification that it can't be without. Limits are off: one address does it all. */
export const signIn: Benchmark = {
  title: 'a sign-in with a right password, argon2id m=19456 t=2 p=1',
  requestsPerRound: 60,
  concurrency: 2,
  subjects: {
    'argon2 verify in a bare route': async () => {
      const hasher = argon2Hasher()
      const stored = await hash()
      const app = Fastify() as unknown as FastifyInstance
      app.post<{ Body: { password: string } }>('/', async ({ body }) => ({ matches: await hasher.verify(stored, body.password) }))
      return await listen(app, { ...request, path: '/' })
    },
    'POST /auth/token': async () => {
      const app = Fastify() as unknown as FastifyInstance
      const users = memoryUserStore([{ id: 'u1', username: 'ann', passwordHash: await hash() }])
      await app.register(authPlugin, { issuer: 'http://localhost', users, rateLimit: false })
      return await listen(app, { ...request, path: '/auth/token' })
    }
  }
}

async function hash (): Promise<string> {
  return await argon2Hasher().hash(password, { memoryCost: 19_456, timeCost: 2, parallelism: 1 })
}
