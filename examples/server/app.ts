import Fastify, { type FastifyInstance, type FastifyRequest } from 'fastify'
import authPlugin, { sqliteState, sqliteUserStore } from 'fastify-authority'
import type { Config } from './config.ts'
import { openDatabase } from './database.ts'
import { logMessages } from './messages.ts'
import { site } from './site.ts'

/** The whole server, not yet listening. Closing it closes the database. */
export async function buildApp (config: Config): Promise<FastifyInstance> {
  const app = Fastify({
    logger: { level: 'info', serializers: { req: loggedRequest } },
    ...config.trustProxy.length === 0 ? {} : { trustProxy: config.trustProxy }
  })
  const db = openDatabase(config.dataDirectory)
  // Hooks run last in, first out: the plugin, registered later, has let go of the database by then.
  app.addHook('onClose', async () => { db.close() })

  const users = sqliteUserStore(db)
  await app.register(authPlugin, {
    issuer: config.issuer,
    users,
    state: sqliteState(db),
    secret: config.secret,
    clients: [config.clients.spa, config.clients.thirdParty, ...config.moreClients],
    pages: { title: 'fastify-authority example', home: '/' },
    sendMessage: logMessages(() => app.log),
    rateLimit: { bypass: config.bypass }
  })
  await app.register(site, { users, config })

  app.get('/me', { onRequest: [app.authenticate] }, async (request, reply) => {
    reply.header('cache-control', 'no-store')
    const user = request.auth === null ? null : await users.findById(request.auth.sub)
    if (user === null) return await reply.code(404).send({ error: 'not_found', error_description: 'The account is gone.' })
    return { sub: user.id, username: user.username, ...user.email === undefined ? {} : { email: user.email }, scope: request.auth?.scope }
  })
  return app
}

/** Without the query: the callbacks of the demo clients get codes in theirs. (On its own routes the plugin sees to it.) */
function loggedRequest ({ method, url, ip, host }: FastifyRequest): Record<string, string> {
  return { method, url: url.replace(/\?.*/, ''), host, remoteAddress: ip }
}
