/**
 * A host whose people were there before the plugin was. One of them can sign in: her bcrypt hash is replaced as she
 * does.
 *
 *   node dist/examples/own-user-store/main.js curl localhost:3000/auth/token -d grant_type=password -d
 *   username=Ann@example.com --data-urlencode 'password=seven green boats at dawn'
 */
import Fastify from 'fastify'
import authPlugin from 'fastify-authority'
import Database from 'libsql'
import { peopleStore } from './people.ts'
import { addColumns, EXISTING_TABLE } from './table.ts'

const db = new Database(':memory:')
db.exec(EXISTING_TABLE)
db.prepare('INSERT INTO crm_person (login, crypt_pw) VALUES (?, ?)').run(
  'Ann@Example.com',
  '$2b$10$SuWUr70pA8p.vz.zuX6GPu0PTuG3LB1SFd4PGumbe0phtEc2dJ5tu'
)
addColumns(db)

const app = Fastify({ logger: true })
await app.register(authPlugin, { issuer: process.env['ISSUER'] ?? 'http://localhost:3000', users: peopleStore(db) })
app.get('/me', { onRequest: [app.authenticate] }, async (request) =>
  db
    .prepare('SELECT person_no, login, crypt_pw IS NOT NULL AS has_old_hash FROM crm_person WHERE person_no = ?')
    .get(Number(request.auth.sub))
)
await app.listen({ port: Number(process.env['PORT'] ?? 3000) })
