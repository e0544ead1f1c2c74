import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
// @ts-expect-error -- it has no types of its own
import untyped from 'oidc-provider'
import { MapAdapter } from './map-adapter.ts'
import { basic, bearer, IDLE_MS, type LoadedRequest, type Subject } from '../subject.ts'

/** As much of it as is used here. */
interface ForeignProvider {
  callback(): RequestListener
  Client: { find(id: string): Promise<object> }
  Grant: new (of: { accountId: string; clientId: string }) => {
    addOIDCScope(scope: string): void
    save(): Promise<string>
  }
  RefreshToken: Token
  AccessToken: Token
}
type Token = new (of: { accountId: string; client: object; grantId: string; scope: string; gty: string }) => {
  save(): Promise<string>
}

const Provider = untyped as new (issuer: string, options: object) => ForeignProvider

const clients = (clientSecret: string): object[] => [
  {
    client_id: 'app',
    token_endpoint_auth_method: 'none',
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    redirect_uris: ['https://app.example/callback']
  },
  // Asks about the tokens of the other.
  { client_id: 'api', client_secret: clientSecret, grant_types: [], response_types: [], redirect_uris: [] }
]

interface Provided {
  port: number
  refreshTokens: string[]
  accessTokens: string[]
}

/** A refresh token and an access token for each connection. Access tokens are opaque, which is the least it does. */
async function provided(connections: number, clientSecret: string): Promise<Provided> {
  const server = createServer()
  server.keepAliveTimeout = IDLE_MS
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const provider = new Provider(`http://localhost:${port}`, {
    adapter: MapAdapter,
    clients: clients(clientSecret),
    cookies: { keys: ['of no use here'] },
    features: {
      devInteractions: { enabled: false },
      introspection: { enabled: true, allowedPolicy: async () => true }
    },
    findAccount: (_context: unknown, accountId: string) => ({ accountId, claims: async () => ({ sub: accountId }) }),
    rotateRefreshToken: true,
    ttl: { AccessToken: 3600, Grant: 86_400, RefreshToken: 86_400 }
  })
  server.on('request', provider.callback())
  const client = await provider.Client.find('app')
  const [refreshTokens, accessTokens]: [string[], string[]] = [[], []]
  for (let i = 0; i < connections; i++) {
    const accountId = `u${i}`
    const grant = new provider.Grant({ accountId, clientId: 'app' })
    grant.addOIDCScope('openid offline_access')
    const token = { accountId, client, grantId: await grant.save(), gty: 'authorization_code' }
    refreshTokens.push(await new provider.RefreshToken({ ...token, scope: 'offline_access' }).save())
    accessTokens.push(await new provider.AccessToken({ ...token, scope: 'openid' }).save())
  }
  return { port, refreshTokens, accessTokens }
}

const FORM = { 'content-type': 'application/x-www-form-urlencoded' }

/** Its refresh grant with rotation, its userinfo and its introspection endpoint. */
export async function oidcProvider(
  endpoint: 'token' | 'userinfo' | 'introspection',
  connections: number,
  clientSecret: string
): Promise<Subject> {
  const { port, refreshTokens, accessTokens } = await provided(connections, clientSecret)
  if (endpoint === 'token') {
    const body = 'grant_type=refresh_token&client_id=app&refresh_token=%TOKEN%'
    return {
      port,
      requests: [{ method: 'POST', path: '/token', headers: FORM, body }],
      status: 200,
      follow: { member: 'refresh_token', tokens: refreshTokens }
    }
  }
  const requests = accessTokens.map((token): LoadedRequest =>
    endpoint === 'userinfo'
      ? { method: 'GET', path: '/me', headers: bearer(token), body: '' }
      : {
          method: 'POST',
          path: '/token/introspection',
          headers: { ...FORM, ...basic('api', clientSecret) },
          body: `token=${token}`
        }
  )
  return { port, requests, status: 200 }
}
