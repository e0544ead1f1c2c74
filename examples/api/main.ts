/**
 * An issuer and an API in two processes: this one signs people in, and starts the other, whose tokens are for it alone.
 *
 *   node dist/examples/api/main.js
 */
import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import Fastify from 'fastify'
import authPlugin, { memoryUserStore } from 'fastify-authority'

const port = Number(process.env['PORT'] ?? 3000)
const issuer = process.env['ISSUER'] ?? `http://localhost:${port}`
const apiPort = port + 1
const resource = `${new URL(issuer).protocol}//${new URL(issuer).hostname}:${apiPort}`

const app = Fastify({ logger: true })
await app.register(authPlugin, {
  issuer,
  users: memoryUserStore(),
  resources: [{ resource, name: 'Orders', scopes: { 'orders:read': 'see your orders' } }],
  // The client of the shell below. A browser app has redirectUris instead of the password grant.
  clients: [{ clientId: 'shell', grantTypes: ['password', 'refresh_token'] }]
})
app.get('/', async (_request, reply) =>
  reply.type('text/plain').send(`A token for the API, and a call of it:

curl ${issuer}/auth/register -d '{"username":"ann@example.com","password":"seven green boats"}' -H content-type:application/json
TOKEN=$(curl -s ${issuer}/auth/token -d grant_type=password -d client_id=shell -d username=ann@example.com \\
  --data-urlencode password='seven green boats' -d resource=${resource} | jq -r .access_token)
curl ${resource}/orders -H "authorization: Bearer $TOKEN"
`)
)

const api = fork(fileURLToPath(new URL('api.js', import.meta.url)), [], {
  env: { ...process.env, PORT: String(apiPort), ISSUER: issuer, RESOURCE: resource }
})
await new Promise((resolve) => api.once('message', resolve))
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => {
    api.kill()
    void app.close().then(() => process.exit(0))
  })
await app.listen({ port })
