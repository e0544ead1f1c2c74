import { availableParallelism } from 'node:os'
import Fastify, { type FastifyInstance } from 'fastify'
import authPlugin, { argon2Hasher, memoryUserStore, nodeRsHasher } from '../lib/index.ts'
import { rawVerify } from './flood/raw-verify.ts'
import { type Library, PARAMETERS, PASSWORD } from './flood/scene.ts'
import { connectLoad } from './load.ts'
import { betterAuthSignIn } from './peers/better-auth.ts'
import { isQuick } from './quick.ts'
import { type HttpBenchmark, serve, type Subject } from './subject.ts'

const request = {
  method: 'POST',
  path: '/auth/token',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ grant_type: 'password', username: 'ann', password: PASSWORD })
} as const

async function storedHash(): Promise<string> {
  return await argon2Hasher().hash(PASSWORD, PARAMETERS)
}

/** The library's own call in a bare route: as many at once as come, which is the pool's four, or `atOnce`. */
async function raw(library: Library, atOnce = Number.POSITIVE_INFINITY): Promise<Subject> {
  const app = Fastify() as unknown as FastifyInstance
  const stored = await storedHash()
  const verify = await rawVerify(library)
  const waiting: Array<() => void> = []
  let running = 0
  app.post<{ Body: { password: string } }>('/auth/token', async ({ body }) => {
    if (running >= atOnce)
      await new Promise<void>((resolve) => {
        waiting.push(resolve)
      })
    else running++
    const matches = await verify(stored, body.password)
    const next = waiting.shift()
    if (next === undefined) running--
    else next()
    return { matches }
  })
  return await serve(app, request)
}

const WARM_MS = 4000

/**
 * All by default but the limits, which one address would soon reach. The compiler sees thousands of sign-ins that wait
 * for no hash first: at a hundred in a second it would still be at work during the rounds.
 */
async function ours(library: Library): Promise<Subject> {
  const app = Fastify() as unknown as FastifyInstance
  const users = memoryUserStore([{ id: 'u1', username: 'ann', passwordHash: await storedHash() }])
  const hasher = library === 'argon2' ? argon2Hasher() : nodeRsHasher()
  let isWarm = false
  await app.register(authPlugin, {
    issuer: 'http://localhost',
    users,
    rateLimit: false,
    password: {
      hasher: { ...hasher, verify: async (...given) => (isWarm ? await hasher.verify(...given) : true) }
    }
  })
  const subject = await serve(app, request)
  const load = await connectLoad(subject, signIn)
  await load.run(isQuick() ? 5 : WARM_MS)
  load.close()
  isWarm = true
  return subject
}

const CORES = availableParallelism()
const atCores = (library: Library): string => `${library} in a bare route, ${CORES} at once`

/** The cost of a sign-in without the one argon2id that it needs. */
export const signIn: HttpBenchmark = {
  title: 'a sign-in with a right password, argon2id m=19456 t=2 p=1',
  shotMs: 1200,
  concurrency: 8,
  idleClients: true,
  subjects: {
    '@node-rs/argon2 in a bare route': { start: async () => await raw('@node-rs/argon2') },
    [atCores('@node-rs/argon2')]: { start: async () => await raw('@node-rs/argon2', CORES) },
    'POST /auth/token, nodeRsHasher()': { start: async () => await ours('@node-rs/argon2') },
    'the same, compared with as many at once': {
      start: async () => await ours('@node-rs/argon2'),
      against: atCores('@node-rs/argon2'),
      leastSpeed: 0.95
    },
    'argon2 in a bare route': { start: async () => await raw('argon2') },
    [atCores('argon2')]: { start: async () => await raw('argon2', CORES), against: 'argon2 in a bare route' },
    'POST /auth/token, argon2Hasher()': { start: async () => await ours('argon2'), against: 'argon2 in a bare route' },
    'the same, compared with as many at once ': {
      start: async () => await ours('argon2'),
      against: atCores('argon2'),
      leastSpeed: 0.95
    },
    'better-auth sign-in/email (scrypt)': { start: betterAuthSignIn }
  }
}
