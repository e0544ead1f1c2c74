/** One of the servers, in a process of its own, which measures itself. It loads nothing that it does not need. */
import Fastify, { type FastifyInstance } from 'fastify'
import { answerEach } from '../child.ts'
import { watchFootprint } from '../footprint.ts'
import { listen } from '../subject.ts'
import type { Start } from './scene.ts'

const SAMPLE_EVERY_MS = 5
/** About as long as a sign-in takes here with seven others. */
const BARE_ANSWER_MS = 60

async function app({ setting: { engine, concurrency }, passwordHash }: Start): Promise<FastifyInstance> {
  const app = Fastify() as unknown as FastifyInstance
  if (engine === 'none') {
    app.post('/auth/token', async () => {
      await new Promise((resolve) => {
        setTimeout(resolve, BARE_ANSWER_MS)
      })
      return { hello: 'world' }
    })
    return app
  }
  // As it is installed, in one file.
  const { default: authPlugin, argon2Hasher, memoryUserStore, nodeRsHasher } = await import('fastify-authority')
  const users = memoryUserStore([{ id: 'u1', username: 'ann', passwordHash }])
  const hasher = engine === 'argon2' ? argon2Hasher() : nodeRsHasher()
  await app.register(authPlugin, {
    issuer: 'http://localhost',
    users,
    rateLimit: false,
    password: { hasher, ...(concurrency === undefined ? {} : { concurrency }) }
  })
  return app
}

const port = await listen(await app(JSON.parse(process.argv[2] ?? '') as Start))
answerEach(port, watchFootprint(SAMPLE_EVERY_MS))
