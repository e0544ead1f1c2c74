/** A host in CommonJS, where Node.js can require ESM. */
import Fastify from 'fastify'
import * as authority from 'fastify-authority'

export async function start(): Promise<string> {
  const app = Fastify()
  const users: authority.UserStore = authority.memoryUserStore()
  await app.register(authority.authPlugin, {
    issuer: 'http://localhost:3000',
    users,
    claims: (user) => ({ name: user.username.toUpperCase() })
  })
  await app.register(authority.default, { issuer: 'http://localhost:3000', users, prefix: '/two' })
  app.get('/me', { onRequest: [app.authenticate] }, async (request) => request.auth?.sub)
  // @ts-expect-error -- there is no such option
  await app.register(authority.authPlugin, { issuer: 'http://localhost:3000', users, isuer: '' })
  return (await app.authority.health()).state
}
