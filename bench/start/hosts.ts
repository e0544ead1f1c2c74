import type { FastifyInstance } from 'fastify'

/** As many as the plugin mounts by default, with schemas such as most APIs have. */
const ROUTES = 30
const ISSUER = 'http://localhost'
const TEXT = { type: 'object', properties: { text: { type: 'string' } } }

async function bare (): Promise<FastifyInstance> {
  const { default: Fastify } = await import('fastify')
  const app = Fastify() as unknown as FastifyInstance
  app.get('/', async () => ({ hello: 'world' }))
  return app
}

/** The smallest of their kind. Each imports by itself what it needs and resolves when it could take requests. */
export const HOSTS: Record<string, () => Promise<unknown>> = {
  'node alone': async () => {},
  'bare Fastify': async () => { await (await bare()).ready() },
  async [`bare Fastify, ${ROUTES} routes with schemas`] () {
    const app = await bare()
    for (let index = 0; index < ROUTES; index++) app.post(`/${index}`, { schema: { body: TEXT, response: { 200: TEXT, '4xx': TEXT } } }, async () => ({ text: '' }))
    await app.ready()
  },
  async 'fastify-authority' () {
    const app = await bare()
    const { default: authPlugin, memoryUserStore } = await import('fastify-authority')
    app.register(authPlugin, { issuer: ISSUER, users: memoryUserStore([]) })
    await app.ready()
  },
  async 'fastify-authority, a connection and second factors' () {
    const app = await bare()
    const [{ default: authPlugin, memoryFactorStore, memoryUserStore }, { google }] = await Promise.all([import('fastify-authority'), import('fastify-authority/connections')])
    app.register(authPlugin, { issuer: ISSUER, users: memoryUserStore([]), secret: 'a secret of at least 32 characters, used for nothing else', factors: memoryFactorStore(), connections: [google({ clientId: 'client', clientSecret: 'secret' })] })
    await app.ready()
  },
  async '@fastify/jwt and @fastify/rate-limit' () {
    const app = await bare()
    const [{ default: jwt }, { default: rateLimit }] = await Promise.all([import('@fastify/jwt'), import('@fastify/rate-limit')])
    app.register(jwt, { secret: 'a secret of at least 32 characters, used for nothing else' })
    app.register(rateLimit, { max: 100 })
    await app.ready()
  },
  async 'oidc-provider' () {
    // @ts-expect-error -- it has no types of its own
    const { default: Provider } = await import('oidc-provider') as { default: new (issuer: string, options: object) => { callback(): unknown } }
    return new Provider(ISSUER, { clients: [] }).callback()
  },
  async 'better-auth in Fastify' () {
    const app = await bare()
    const [{ betterAuth }, { memoryAdapter }, { toNodeHandler }] = await Promise.all([import('better-auth'), import('better-auth/adapters/memory'), import('better-auth/node')])
    const auth = betterAuth({ baseURL: ISSUER, secret: 'a secret of at least 32 characters, used for nothing else', database: memoryAdapter({ user: [], session: [], account: [], verification: [] }), emailAndPassword: { enabled: true } })
    await auth.$context
    const handler = toNodeHandler(auth)
    app.all('/api/auth/*', async (request, reply) => {
      reply.hijack()
      await handler(request.raw, reply.raw)
    })
    await app.ready()
  }
}

/** What they are judged by. */
export const BARE = 'bare Fastify'
export const SAME_ROUTES = `bare Fastify, ${ROUTES} routes with schemas`
