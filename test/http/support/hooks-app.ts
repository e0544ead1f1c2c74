import fastifyAuth from '@fastify/auth'
import Fastify, {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type FastifyServerOptions
} from 'fastify'
import type { Test } from '../../support/tap.ts'
import authPlugin, { memoryUserStore } from '../../../lib/index.ts'
import { fastHasher, steppedClock, type SteppedClock } from '../../../lib/testing/index.ts'
import { ISSUER } from '../../support/app.ts'
import { SECRET } from '../../support/openid.ts'

/** An app with @fastify/auth and the plugin, and with what `routes` adds afterwards. */
export async function appWith(
  t: Test,
  routes: (app: FastifyInstance) => unknown,
  server: FastifyServerOptions = {}
): Promise<{ app: FastifyInstance; clock: SteppedClock }> {
  const app = Fastify(server) as unknown as FastifyInstance
  t.teardown(async () => {
    await app.close()
  })
  const clock = steppedClock()
  await app.register(fastifyAuth)
  await app.register(authPlugin, {
    issuer: ISSUER,
    users: memoryUserStore(),
    clock,
    rateLimit: false,
    claims: (_user, { use }) => (use === 'access_token' ? { roles: ['editor'] } : {}),
    registration: { username: 'any' },
    password: { hasher: fastHasher() },
    clients: [
      { clientId: 'third', firstParty: false },
      { clientId: 'robot', clientSecret: SECRET, grantTypes: ['client_credentials'], scopes: ['read'] }
    ],
    scopes: ['openid', 'profile', 'email', 'offline_access', 'read']
  })
  routes(app)
  await app.ready()
  return { app, clock }
}

/** A handler that marks its response, so that a test sees whether it ran. */
export const next = async (_request: FastifyRequest, reply: FastifyReply): Promise<string> => {
  reply.header('x-reached', 'yes')
  return 'the next line'
}
