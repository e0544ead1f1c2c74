import Fastify from 'fastify'
import authPlugin, { memoryUserStore } from 'fastify-authority'

const app = Fastify({ logger: true })
await app.register(authPlugin, { issuer: 'http://localhost:3000', users: memoryUserStore() })
app.get('/', { onRequest: [app.authority.readSession] }, async (request, reply) => {
  return request.authSession ?? reply.redirect('/auth/login')
})
app.get('/me', { onRequest: [app.authenticate] }, async (request) => request.auth)
await app.listen({ port: 3000 })
