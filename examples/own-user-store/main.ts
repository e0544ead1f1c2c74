/**
 * A host that keeps its own users.
 *
 *   node dist/examples/own-user-store/main.js
 */
import Fastify from 'fastify'
import authPlugin from 'fastify-authority'
import { peopleStore, type PersonRow } from './people.ts'

const people: PersonRow[] = []

const app = Fastify({ logger: true })
await app.register(authPlugin, { issuer: 'http://localhost:3000', users: peopleStore(people) })
app.get('/me', { onRequest: [app.authenticate] }, async (request) => {
  const row = people.find(({ person_no: no }) => no === request.auth?.sub)
  return { person: row?.person_no, login: row?.login }
})
await app.listen({ port: Number(process.env['PORT'] ?? 3000) })
