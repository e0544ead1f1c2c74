import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
// @ts-expect-error -- it has no types of its own
import untyped from 'oidc-provider'
import type { Subject } from '../subject.ts'

/** As much of it as is used here. */
interface ForeignProvider {
  callback(): RequestListener
  Client: { find(id: string): Promise<object> }
  Grant: new (of: { accountId: string; clientId: string }) => {
    addOIDCScope(scope: string): void
    save(): Promise<string>
  }
  RefreshToken: new (of: { accountId: string; client: object; grantId: string; scope: string; gty: string }) => {
    save(): Promise<string>
  }
}

const Provider = untyped as new (issuer: string, options: object) => ForeignProvider

const CLIENT = {
  client_id: 'app',
  token_endpoint_auth_method: 'none',
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
  redirect_uris: ['https://app.example/callback']
}

/** Its own in-memory adapter holds a thousand entries and would lose grants under rotation. */
class MapAdapter {
  static records = new Map<string, unknown>()
  readonly kind: string
  constructor(kind: string) {
    this.kind = kind
  }

  async upsert(id: string, payload: unknown): Promise<void> {
    MapAdapter.records.set(`${this.kind}:${id}`, payload)
  }
  async find(id: string): Promise<unknown> {
    return MapAdapter.records.get(`${this.kind}:${id}`)
  }
  async findByUid(): Promise<undefined> {}
  async findByUserCode(): Promise<undefined> {}
  async consume(id: string): Promise<void> {
    ;(MapAdapter.records.get(`${this.kind}:${id}`) as { consumed?: number }).consumed = Math.floor(Date.now() / 1000)
  }
  async destroy(id: string): Promise<void> {
    MapAdapter.records.delete(`${this.kind}:${id}`)
  }
  async revokeByGrantId(): Promise<void> {}
}

/** oidc-provider's refresh grant with rotation and opaque access tokens, which is the least it does. */
export async function oidcProviderRefresh(connections: number): Promise<Subject> {
  const server = createServer()
  // It has nothing to do while the others are loaded.
  server.keepAliveTimeout = 120_000
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const provider = new Provider(`http://localhost:${port}`, {
    adapter: MapAdapter,
    clients: [CLIENT],
    cookies: { keys: ['of no use here'] },
    features: { devInteractions: { enabled: false } },
    findAccount: (_context: unknown, accountId: string) => ({ accountId, claims: async () => ({ sub: accountId }) }),
    rotateRefreshToken: true,
    ttl: { AccessToken: 3600, Grant: 86_400, RefreshToken: 86_400 }
  })
  server.on('request', provider.callback())
  const client = await provider.Client.find('app')
  const tokens: string[] = []
  for (let i = 0; i < connections; i++) {
    const grant = new provider.Grant({ accountId: `u${i}`, clientId: 'app' })
    grant.addOIDCScope('offline_access')
    const token = new provider.RefreshToken({
      accountId: `u${i}`,
      client,
      grantId: await grant.save(),
      scope: 'offline_access',
      gty: 'authorization_code'
    })
    tokens.push(await token.save())
  }
  return {
    port,
    requests: [
      {
        method: 'POST',
        path: '/token',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: 'grant_type=refresh_token&client_id=app&refresh_token=%TOKEN%'
      }
    ],
    status: 200,
    follow: { member: 'refresh_token', tokens }
  }
}
