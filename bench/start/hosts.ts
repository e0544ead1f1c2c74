import type { FastifyInstance } from 'fastify'

const ISSUER = 'http://localhost'
const TEXT = { type: 'object', properties: { text: { type: 'string' } } }

async function bare(onRoute?: () => void): Promise<FastifyInstance> {
  const { default: Fastify } = await import('fastify')
  const app = Fastify() as unknown as FastifyInstance
  if (onRoute !== undefined) app.addHook('onRoute', onRoute)
  app.get('/', async () => ({ hello: 'world' }))
  return app
}

/** So many routes with schemas such as most APIs have. */
async function withRoutes(count: number): Promise<void> {
  const app = await bare()
  for (let index = 0; index < count; index++)
    app.post(`/${index}`, { schema: { body: TEXT, response: { 200: TEXT, '4xx': TEXT } } }, async () => ({ text: '' }))
  await app.ready()
}

interface Counts {
  /** How many routes of its own a bare one has. */
  routes: number
  onRoute?: () => void
}

/**
 * The smallest of their kind. Each imports by itself what it needs and resolves when it could take requests, with what
 * is to be closed.
 */
export const HOSTS: Record<string, (counts: Counts) => Promise<unknown>> = {
  'node alone': async () => {},
  'bare Fastify': async () => {
    await (await bare()).ready()
  },
  'bare Fastify, as many routes': async ({ routes }) => {
    await withRoutes(routes)
  },
  async 'fastify-authority'({ onRoute }) {
    const app = await bare(onRoute)
    const { default: authPlugin, memoryUserStore } = await import('fastify-authority')
    app.register(authPlugin, { issuer: ISSUER, users: memoryUserStore([]) })
    return await app.ready()
  },
  'bare Fastify, as many routes as with both': async ({ routes }) => {
    await withRoutes(routes)
  },
  async 'fastify-authority, a connection and second factors'({ onRoute }) {
    const app = await bare(onRoute)
    const [{ default: authPlugin, memoryFactorStore, memoryUserStore }, { google }] = await Promise.all([
      import('fastify-authority'),
      import('fastify-authority/connections')
    ])
    app.register(authPlugin, {
      issuer: ISSUER,
      users: memoryUserStore([]),
      secret: 'a secret of at least 32 characters, used for nothing else',
      factors: memoryFactorStore(),
      connections: [google({ clientId: 'client', clientSecret: 'secret' })]
    })
    return await app.ready()
  },
  async '@fastify/jwt and @fastify/rate-limit'() {
    const app = await bare()
    const [{ default: jwt }, { default: rateLimit }] = await Promise.all([
      import('@fastify/jwt'),
      import('@fastify/rate-limit')
    ])
    app.register(jwt, { secret: 'a secret of at least 32 characters, used for nothing else' })
    app.register(rateLimit, { max: 100 })
    await app.ready()
  },
  async 'oidc-provider'() {
    // @ts-expect-error -- it has no types of its own
    const { default: Provider } = (await import('oidc-provider')) as {
      default: new (issuer: string, options: object) => { callback(): unknown }
    }
    return new Provider(ISSUER, { clients: [] }).callback()
  },
  async 'better-auth in Fastify'() {
    const app = await bare()
    const [{ betterAuth }, { memoryAdapter }, { toNodeHandler }] = await Promise.all([
      import('better-auth'),
      import('better-auth/adapters/memory'),
      import('better-auth/node')
    ])
    const auth = betterAuth({
      baseURL: ISSUER,
      secret: 'a secret of at least 32 characters, used for nothing else',
      database: memoryAdapter({ user: [], session: [], account: [], verification: [] }),
      emailAndPassword: { enabled: true }
    })
    await auth.$context
    const handler = toNodeHandler(auth)
    app.all('/api/auth/*', async (request, reply) => {
      reply.hijack()
      await handler(request.raw, reply.raw)
    })
    await app.ready()
  }
}

/** The base of the comparison. */
export const BARE = 'bare Fastify'
export const OURS = 'fastify-authority'
export const PEER = 'oidc-provider'
/** The bare host with as many routes as each of ours. */
export const SAME_ROUTES: Record<string, string> = {
  'fastify-authority': 'bare Fastify, as many routes',
  'fastify-authority, a connection and second factors': 'bare Fastify, as many routes as with both'
}

/** How many routes this host has, `HEAD` among them. */
export async function routesOf(name: string): Promise<number> {
  let routes = 0
  const app = (await HOSTS[name]?.({
    routes: 0,
    onRoute: () => {
      routes++
    }
  })) as FastifyInstance
  await app.close()
  return routes
}
