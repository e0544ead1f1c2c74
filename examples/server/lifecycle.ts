import type { FastifyInstance, FastifyReply } from 'fastify'

declare module 'fastify' {
  interface FastifyInstance {
    /**
     * From now on `/ready` says no, and each answer ends its connection: the balancer sends new requests elsewhere. All
     * of them are still served.
     */
    leave(): void
  }
}

/**
 * The questions of an orchestrator and a balancer, and the shutdown of an instance. Before all plugins, because it is
 * for their routes too.
 */
export function lifecycle(app: FastifyInstance): void {
  let leaving = false
  app.decorate('leave', () => {
    leaving = true
  })
  // Fastify closes idle connections at once. One with a request under way would stay open for as long as keep-alive
  // lasts, and hold up the end.
  app.addHook('preClose', async () => {
    leaving = true
  })
  app.addHook('onSend', async (_request, reply) => {
    if (leaving) reply.header('connection', 'close')
  })

  /** The process answers. A store that is down is no reason to end it. */
  app.get('/live', { logLevel: 'warn' }, async (_request, reply): Promise<FastifyReply> =>
    reply.header('cache-control', 'no-store').send({ live: true })
  )
  /** True if requests should be sent here. */
  app.get('/ready', { logLevel: 'warn' }, async (_request, reply): Promise<FastifyReply> => {
    const health = await app.authority.health()
    const ready = health.ready && !leaving
    return reply
      .code(ready ? 200 : 503)
      .header('cache-control', 'no-store')
      .send({ ...health, ready })
  })
}
