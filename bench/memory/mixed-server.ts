/** One of the servers of the comparison, in a process of its own. It loads nothing that it does not need. */
import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { answerEach } from '../child.ts'
import { watchFootprint } from '../footprint.ts'
import { MapAdapter } from '../peers/map-adapter.ts'
import type { LoadedRequest } from '../subject.ts'
import type { Mix } from './mixed.ts'
import { PASSWORD } from './scene.ts'

const SAMPLE_EVERY_MS = 20
const CALLBACK = 'https://app.example/callback'
const SECRET = 'a secret of at least 32 characters, used for nothing else'
const keys = [
  { ...generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' }), alg: 'ES256', kid: 'k' }
]
const asMachine = {
  'content-type': 'application/x-www-form-urlencoded',
  authorization: `Basic ${Buffer.from(`machine:${encodeURIComponent(SECRET)}`).toString('base64')}`
}
const post = (path: string, body: string, headers: Record<string, string> = asMachine): LoadedRequest => ({
  method: 'POST',
  path,
  headers,
  body
})
const asPerson = (path: string, token: string): LoadedRequest => ({
  method: 'GET',
  path,
  headers: { authorization: `Bearer ${token}` },
  body: ''
})
const FORM = { 'content-type': 'application/x-www-form-urlencoded' }
const ROTATION = 'grant_type=refresh_token&client_id=app&refresh_token=%TOKEN%'

async function ours(users: number, passwordHash: string): Promise<() => Promise<Mix>> {
  const { default: Fastify } = await import('fastify')
  const { default: authPlugin, memoryUserStore } = await import('fastify-authority')
  const app = Fastify()
  await app.register(
    authPlugin as never,
    {
      issuer: 'http://localhost',
      secret: SECRET,
      keys,
      users: memoryUserStore(
        Array.from({ length: users }, (_none, index) => ({ id: `u${index}`, username: `user-${index}`, passwordHash }))
      ),
      clients: [
        { clientId: 'app', redirectUris: [CALLBACK], grantTypes: ['authorization_code', 'refresh_token', 'password'] },
        { clientId: 'machine', clientSecret: SECRET, grantTypes: ['client_credentials'] }
      ],
      rateLimit: false
    } as never
  )
  await app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = app.server.address() as AddressInfo
  const signIn = async (username: string): Promise<{ access_token: string; refresh_token: string }> =>
    (
      await app.inject({
        method: 'POST',
        url: '/auth/token',
        headers: FORM,
        payload: `grant_type=password&client_id=app&username=${username}&password=${encodeURIComponent(PASSWORD)}&scope=openid offline_access`
      })
    ).json()
  return async () => {
    const all: Array<Awaited<ReturnType<typeof signIn>>> = []
    for (let index = 0; index < users; index++) all.push(await signIn(`user-${index}`))
    const { access_token: token = '' } = all[0] ?? {}
    return {
      port,
      tokens: all.map((one) => one.refresh_token),
      requests: [
        { method: 'GET', path: '/.well-known/openid-configuration', headers: {}, body: '' },
        post('/auth/token', 'grant_type=client_credentials'),
        asPerson('/auth/userinfo', token),
        post('/auth/introspect', `token=${token}`),
        post('/auth/token', ROTATION, FORM)
      ],
      check: post(
        '/auth/token',
        `grant_type=password&client_id=app&username=user-0&password=${encodeURIComponent(PASSWORD)}`,
        FORM
      )
    }
  }
}

interface ForeignProvider {
  callback(): RequestListener
  Client: { find(id: string): Promise<object> }
  Grant: new (of: object) => { addOIDCScope(scope: string): void; save(): Promise<string> }
  RefreshToken: new (of: object) => { save(): Promise<string> }
  AccessToken: new (of: object) => { save(): Promise<string> }
}

/** Its host checks passwords by itself, with the package that `argon2Hasher` uses. */
async function oidcProvider(users: number, passwordHash: string): Promise<() => Promise<Mix>> {
  // @ts-expect-error -- it has no types of its own
  const { default: Provider } = (await import('oidc-provider')) as {
    default: new (issuer: string, options: object) => ForeignProvider
  }
  const { verify } = await import('argon2')
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const provider = new Provider(`http://localhost:${port}`, {
    adapter: MapAdapter,
    jwks: { keys },
    clients: [
      {
        client_id: 'app',
        token_endpoint_auth_method: 'none',
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        redirect_uris: [CALLBACK]
      },
      {
        client_id: 'machine',
        client_secret: SECRET,
        grant_types: ['client_credentials'],
        response_types: [],
        redirect_uris: []
      }
    ],
    clientDefaults: { id_token_signed_response_alg: 'ES256' },
    cookies: { keys: ['of no use here'] },
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      introspection: { enabled: true, allowedPolicy: () => true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => 'https://api.example',
        useGrantedResource: () => true,
        getResourceServerInfo: () => ({ scope: 'api', accessTokenFormat: 'jwt', jwt: { sign: { alg: 'ES256' } } })
      }
    },
    findAccount: (_context: unknown, accountId: string) => ({ accountId, claims: async () => ({ sub: accountId }) }),
    rotateRefreshToken: true,
    ttl: { AccessToken: 900, ClientCredentials: 900, Grant: 86_400, RefreshToken: 86_400 }
  })
  const answer = provider.callback()
  server.on('request', (request, response) => {
    if (request.url !== '/login') {
      answer(request, response)
      return
    }
    request.resume()
    void verify(passwordHash, PASSWORD).then((matches) => {
      response.writeHead(matches ? 200 : 401, { 'content-length': 0 }).end()
    })
  })
  return async () => {
    const client = await provider.Client.find('app')
    const tokens: string[] = []
    let token = ''
    for (let index = 0; index < users; index++) {
      const of = {
        accountId: `u${index}`,
        client,
        clientId: 'app',
        scope: 'openid offline_access',
        gty: 'authorization_code'
      }
      const grant = new provider.Grant({ accountId: of.accountId, clientId: 'app' })
      grant.addOIDCScope(of.scope)
      ;(grant as unknown as { addResourceScope(resource: string, scope: string): void }).addResourceScope(
        'https://api.example',
        'api'
      )
      const grantId = await grant.save()
      tokens.push(await new provider.RefreshToken({ ...of, grantId }).save())
      if (index === 0) token = await new provider.AccessToken({ ...of, grantId }).save()
    }
    return {
      port,
      tokens,
      requests: [
        { method: 'GET', path: '/.well-known/openid-configuration', headers: {}, body: '' },
        post('/token', 'grant_type=client_credentials'),
        asPerson('/me', token),
        post('/token/introspection', `token=${token}`),
        post('/token', ROTATION, FORM)
      ],
      check: post('/login', '', FORM)
    }
  }
}

const HOSTS = { 'fastify-authority': ours, 'oidc-provider': oidcProvider }
const [name, users, passwordHash = ''] = process.argv.slice(2)
const prepare = await HOSTS[name as keyof typeof HOSTS](Number(users), passwordHash)
const measure = watchFootprint(SAMPLE_EVERY_MS)
answerEach({}, async (question: string) => (question === 'prepare' ? await prepare() : measure()))
