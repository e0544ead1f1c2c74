import Fastify, { type FastifyInstance } from 'fastify'
import authPlugin, { memoryUserStore } from '../lib/index.ts'
import { type Benchmark, listen } from './subject.ts'

const users = memoryUserStore([{ id: 'u1', username: 'ann', passwordHash: null }])

/** What `app.authenticate` adds to a route of the host, for a token that this process has seen. */
export const protectedRoute: Benchmark = {
  title: 'GET /, one access token, seen before',
  requestsPerRound: 5000,
  concurrency: 20,
  subjects: {
    // The same bytes come in, and a hook runs too.
    'bare route': async () => {
      const app = Fastify() as unknown as FastifyInstance
      app.get('/', { onRequest: (_request, _reply, done) => { done() } }, async () => ({ hello: 'world' }))
      const other = await protectedApp()
      const { access_token: token } = await other.authority.issueTokens('u1')
      await other.close()
      return await listen(app, { method: 'GET', path: '/', headers: { authorization: `Bearer ${token}` }, body: '' })
    },
    'app.authenticate': async () => {
      const app = await protectedApp()
      const { access_token: token } = await app.authority.issueTokens('u1')
      return await listen(app, { method: 'GET', path: '/', headers: { authorization: `Bearer ${token}` }, body: '' })
    }
  }
}

async function protectedApp (): Promise<FastifyInstance> {
  const app = Fastify() as unknown as FastifyInstance
  await app.register(authPlugin, { issuer: 'http://localhost', users })
  app.get('/', { onRequest: app.authenticate }, async () => ({ hello: 'world' }))
  await app.ready()
  return app
}
