/** The API: it knows the issuer's URL and its own, and nothing else. */
import Fastify from 'fastify'
import resourceServer from 'fastify-authority/resource'

const { PORT, ISSUER = '', RESOURCE = '' } = process.env
const app = Fastify({ logger: true })
await app.register(resourceServer, { issuer: ISSUER, resource: RESOURCE, scopes: ['orders:read'] })
app.get('/orders', { onRequest: [app.authenticate, app.requireScope('orders:read')] }, async (request) => ({
  of: request.auth.sub,
  orders: [{ id: 1, what: 'a boat' }]
}))
await app.listen({ port: Number(PORT) })
process.send?.('ready')
// The issuer has ended.
process.once('disconnect', () => process.exit(0))
