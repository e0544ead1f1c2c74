/** A host with a page of its own and sign-ins, in a process of its own, which measures itself. */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import Fastify, { type FastifyInstance } from 'fastify'
import authPlugin, { argon2Hasher, memoryUserStore, nodeRsHasher } from '../../lib/index.ts'
import { listen } from '../subject.ts'
import { answerEach } from '../child.ts'
import { watchFootprint } from '../footprint.ts'
import { rawVerify } from './raw-verify.ts'
import { type Kind, type Library, type Measured, PARAMETERS, PASSWORD, USERS } from './scene.ts'

const SAMPLE_EVERY_MS = 20

async function app(kind: Kind, library: Library): Promise<FastifyInstance> {
  const passwordHash = await argon2Hasher().hash(PASSWORD, PARAMETERS)
  const app = Fastify() as unknown as FastifyInstance
  app.get(
    '/host',
    { schema: { response: { 200: { type: 'object', properties: { hello: { type: 'string' } } } } } },
    async () => ({ hello: 'world' })
  )
  if (kind === 'ours') {
    const users = memoryUserStore(
      Array.from({ length: USERS }, (_none, index) => ({ id: `u${index}`, username: `user-${index}`, passwordHash }))
    )
    await app.register(authPlugin, {
      issuer: 'http://localhost',
      users,
      rateLimit: false,
      password: { hasher: library === 'argon2' ? argon2Hasher() : nodeRsHasher() }
    })
  } else {
    const verify = await rawVerify(library)
    app.post<{ Body: { password: string } }>('/auth/token', async ({ body }) => ({
      matches: await verify(passwordHash, body.password)
    }))
  }
  return app
}

/** `kind` and `library` are its arguments; it answers every message with what it has measured. */
async function serve(kind: Kind, library: Library): Promise<void> {
  const port = await listen(await app(kind, library))
  const delay = monitorEventLoopDelay({ resolution: 1 })
  delay.enable()
  const footprint = watchFootprint(SAMPLE_EVERY_MS)
  answerEach(port, (): Measured => {
    const measured = { loopDelayP99: delay.percentile(99) / 1e6, ...footprint() }
    delay.reset()
    return measured
  })
}

await serve(process.argv[2] as Kind, process.argv[3] as Library)
