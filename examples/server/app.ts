import Fastify, { type FastifyInstance, type FastifyRequest } from 'fastify'
import authPlugin from 'fastify-authority'
import { capturedMails } from './captured-mails.ts'
import type { Config } from './config.ts'
import { lifecycle } from './lifecycle.ts'
import { messageSender } from './messages.ts'
import { site } from './site.ts'
import { openStores } from './stores.ts'

/** The whole server, not yet listening. Closing it closes its stores. */
export async function buildApp(config: Config): Promise<FastifyInstance> {
  const app = Fastify({
    logger: { level: config.logLevel, serializers: { req: loggedRequest } },
    ...(config.trustProxy.length === 0 ? {} : { trustProxy: config.trustProxy })
  })
  const { users, state, audit, redis, close } = openStores(config, (error, server) => {
    app.log.warn({ reason: error.message }, `${server} can't be reached`)
  })
  // Hooks run last in, first out: the plugin, registered later, has let go of the stores by then.
  app.addHook('onClose', async () => {
    await close()
  })
  lifecycle(app)
  const captured = config.capturesMails ? capturedMails(app, config.issuer) : null

  await app.register(authPlugin, {
    issuer: config.issuer,
    allowInsecureIssuer: config.allowInsecureIssuer,
    users,
    state,
    ...(redis === undefined ? {} : { redis }),
    secret: config.secret,
    audit,
    // A confirmed address alone proves the person, because anybody can sign up with the name.
    admin: {
      allow: ({ user, scopes }) => (user?.emailVerified === true && user.username === config.admin ? scopes : [])
    },
    // Redirect URIs over http: are for loopback alone.
    clients: [
      ...(config.allowInsecureIssuer ? [] : [config.clients.spa, config.clients.thirdParty]),
      ...config.moreClients
    ],
    connections: config.connections,
    pages: { title: 'fastify-authority example', logo: { url: '/logo.svg' }, home: '/' },
    sendMessage: await messageSender(config, () => app.log, captured),
    rateLimit: { bypass: config.bypass }
  })
  await app.register(site, { users, config })

  app.get('/me', { onRequest: [app.authenticate] }, async (request, reply) => {
    reply.header('cache-control', 'no-store')
    const user = request.auth === null ? null : await users.findById(request.auth.sub)
    if (user === null)
      return await reply.code(404).send({ error: 'not_found', error_description: 'The account is gone.' })
    return {
      sub: user.id,
      username: user.username,
      ...(user.email === undefined ? {} : { email: user.email }),
      scope: request.auth.scope
    }
  })
  return app
}

/**
 * Without the query: the callbacks of the demo clients get codes in theirs. (On its own routes the plugin sees to it.)
 */
function loggedRequest({ method, url, ip, host }: FastifyRequest): Record<string, string> {
  return { method, url: url.replace(/\?.*/, ''), host, remoteAddress: ip }
}
