/**
 * A service that signs in a command line tool by the device grant.
 *
 *   node dist/examples/device/main.js
 *   node dist/examples/device/cli.js
 */
import Fastify from 'fastify'
import authPlugin, { memoryUserStore } from 'fastify-authority'

const { PORT = '3000', ISSUER = `http://localhost:${PORT}` } = process.env
const app = Fastify({ logger: true })
await app.register(authPlugin, {
  issuer: ISSUER,
  users: memoryUserStore(),
  deviceGrant: true,
  clients: [
    {
      clientId: 'acme-cli',
      name: 'Acme CLI',
      grantTypes: ['urn:ietf:params:oauth:grant-type:device_code', 'refresh_token']
    }
  ]
})
app.get('/', async (_request, reply) => reply.redirect('/device'))
app.get('/me', { onRequest: [app.authenticate] }, async (request) => ({ sub: request.auth.sub }))
await app.listen({ port: Number(PORT) })
