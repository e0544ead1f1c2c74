import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import Fastify from 'fastify'
// @ts-expect-error -- oidc-provider ships no types
import Provider from 'oidc-provider'
import t from '../../support/tap.ts'
import authPlugin, { memoryUserStore } from '../../../lib/index.ts'
import resourceServer from '../../../lib/resource/index.ts'
import { freePort } from '../../support/free-port.ts'
import { systemClock } from '../../../lib/adapters/node/system.ts'
import { proofOf, RESOURCE, signingKey } from './world.ts'

const CLIENT = { clientId: 'reports', clientSecret: 'a secret of thirty-two characters or more' }
const BASIC = `Basic ${Buffer.from(`${CLIENT.clientId}:${encodeURIComponent(CLIENT.clientSecret).replaceAll('%20', '+')}`).toString('base64')}`
const API_URL = `${RESOURCE}/orders`

async function api(options: Parameters<typeof resourceServer>[1]) {
  const app = Fastify()
  await app.register(resourceServer, options)
  app.get(
    '/v1/orders',
    { onRequest: [app.authenticate, app.requireScope('orders:read')] },
    async (request) => request.auth
  )
  return app
}

async function tokenFrom(url: string, fields: Record<string, string>, headers: Record<string, string> = {}) {
  const reply = await fetch(url, {
    method: 'POST',
    headers: { authorization: BASIC, ...headers },
    body: new URLSearchParams({ grant_type: 'client_credentials', scope: 'orders:read', ...fields })
  })
  return (await reply.json()) as { access_token: string; token_type: string }
}

t.test('guards an API with tokens of fastify-authority, and rejects a revoked one', async (t) => {
  const port = await freePort()
  const issuer = `http://127.0.0.1:${port}`
  const service = Fastify()
  await service.register(authPlugin, {
    issuer,
    users: memoryUserStore(),
    scopes: ['orders:read'],
    accessToken: { audience: RESOURCE },
    clients: [{ ...CLIENT, grantTypes: ['client_credentials', 'password'], scopes: ['orders:read'] }]
  })
  service.get('/me', { onRequest: service.authenticate }, async (request) => request.auth)
  await service.listen({ port, host: '127.0.0.1' })
  const app = await api({ issuer, resource: RESOURCE, introspection: CLIENT })
  t.teardown(async () => {
    await app.close()
    await service.close()
  })
  const { access_token } = await tokenFrom(`${issuer}/auth/token`, {})
  const send = async (token: string) =>
    await app.inject({ url: '/v1/orders', headers: { authorization: `Bearer ${token}` } })
  const reply = await send(access_token)
  t.equal(reply.statusCode, 200)
  t.match(reply.json(), { iss: issuer, aud: RESOURCE, client_id: 'reports' })
  const user = { username: 'bea@example.com', password: 'correct horse battery' }
  t.equal((await service.inject({ method: 'POST', url: '/auth/register', payload: user })).statusCode, 201)
  const { access_token: revoked } = await tokenFrom(`${issuer}/auth/token`, { grant_type: 'password', ...user })
  const { sub } = (await service.inject({ url: '/me', headers: { authorization: `Bearer ${revoked}` } })).json() as {
    sub: string
  }
  await service.authority.revokeUser(sub)
  t.equal((await send(revoked)).statusCode, 401)
})

t.test('guards an API with tokens of oidc-provider, bound to a key or not', async (t) => {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: CLIENT.clientId,
        client_secret: CLIENT.clientSecret,
        grant_types: ['client_credentials'],
        redirect_uris: [],
        response_types: []
      }
    ],
    features: {
      clientCredentials: { enabled: true },
      devInteractions: { enabled: false },
      dPoP: { enabled: true },
      introspection: { enabled: true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: () => ({ scope: 'orders:read', accessTokenFormat: 'jwt', accessTokenTTL: 600 })
      }
    }
  })
  server.on('request', provider.callback() as never)
  const app = await api({ issuer, resource: RESOURCE, algs: ['RS256'] })
  t.teardown(async () => {
    await app.close()
    server.close()
    server.closeAllConnections()
  })
  const plain = await tokenFrom(`${issuer}/token`, { resource: RESOURCE })
  const reply = await app.inject({ url: '/v1/orders', headers: { authorization: `Bearer ${plain.access_token}` } })
  t.equal(reply.statusCode, 200)

  const key = signingKey()
  const clock = systemClock as never
  const bound = await tokenFrom(
    `${issuer}/token`,
    { resource: RESOURCE },
    { dpop: proofOf(key, { clock, url: `${issuer}/token`, method: 'POST' }) }
  )
  t.equal(bound.token_type, 'DPoP')
  const token = bound.access_token
  const proved = await app.inject({
    url: '/v1/orders',
    headers: { authorization: `DPoP ${token}`, dpop: proofOf(key, { clock, url: API_URL, token }) }
  })
  t.equal(proved.statusCode, 200)
  t.equal((await app.inject({ url: '/v1/orders', headers: { authorization: `Bearer ${token}` } })).statusCode, 401)
})
