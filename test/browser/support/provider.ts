import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { type AuthorityOptions, type Client, memoryUserStore, type User } from '../../../lib/index.ts'
import { PASSWORD, type TestApp, testApp } from '../../support/app.ts'
import { authorizePath, KEYS, SECRET } from '../../support/openid.ts'
import { TV } from './device-states.ts'

/** The part of a test that a server needs. */
export interface Scope {
  teardown(close: () => unknown): unknown
}

/** A request that a site received. */
export interface Visit {
  method: string
  path: string
  /** The parameters of the query and of a posted form. */
  params: Record<string, string>
  body: string
  referer: string | null
}

/** Another server, of another origin. */
export interface Site {
  origin: string
  /** Requests for its pages, oldest first. */
  visits: Visit[]
  /** Its content at a path. Other paths show its title. */
  pages: Map<string, string>
}

export interface ProviderOptions extends Partial<AuthorityOptions> {
  /** The issuer ends with a slash, as those of Auth0 do. */
  issuerSlash?: boolean
  /** Default: `localhost`. */
  host?: string
}

export interface Provider extends TestApp {
  origin: string
  /** The site of the clients, which differs from the provider's. */
  client: Site
  /** Her password is `PASSWORD`. */
  ann: User
  /** Another user with a confirmed email address. */
  addUser(username: string): Promise<User>
  /** An authorization request of `spa`, or of another client; `undefined` takes a parameter out. */
  authorizeUrl(params?: Record<string, string | undefined>): string
}

/**
 * The whole server on a socket: `localhost`, for only there do browsers take a cookie over http; the clients are at
 * `127.0.0.1`, which is another site. `routes` are the host's own.
 */
export async function startProvider(
  t: Scope,
  { issuerSlash = false, host = 'localhost', ...options }: ProviderOptions = {},
  routes?: (host: FastifyInstance) => void
): Promise<Provider> {
  const client = await startSite(t, 'The client')
  const users = memoryUserStore()
  // Listens before the app exists, because the issuer contains the port.
  const { server, port } = await listening(t)
  const origin = `http://${host}:${port}`
  const subject = await testApp(
    {
      issuer: issuerSlash ? `${origin}/` : origin,
      keys: KEYS,
      users,
      clients: clientsAt(client.origin),
      pages: { title: 'Example Accounts' },
      ...options
    },
    {
      serverFactory: (handler) => server.on('request', handler as RequestListener)
    },
    async (app) => {
      // As browsers ask for it on every site.
      app.get('/favicon.ico', async (_request, reply) => await reply.code(204).send())
      app.get(
        '/',
        async (_request, reply) =>
          await reply.type('text/html').send('<!doctype html><html lang="en"><title>Home</title><h1>Home</h1>')
      )
      if (routes !== undefined) routes(app)
    }
  )
  t.teardown(subject.close)
  // Creates the user directly, without the sign-up and its limits.
  const addUser = async (username: string): Promise<User> =>
    await users.create({
      username,
      passwordHash: await subject.app.authority.hashPassword(PASSWORD),
      email: username.includes('@') ? username : `${username}@example.com`,
      emailVerified: true
    })
  return {
    ...subject,
    origin,
    client,
    ann: await addUser('ann'),
    addUser,
    authorizeUrl: (params = {}) => `${origin}${authorizePath({ redirect_uri: `${client.origin}/cb`, ...params })}`
  }
}

function clientsAt(origin: string): Client[] {
  const common = { redirectUris: [`${origin}/cb`], postLogoutRedirectUris: [`${origin}/logged-out`] }
  return [
    { clientId: 'spa', name: 'The App', ...common },
    TV,
    { clientId: 'web', name: 'The Site', clientSecret: SECRET, ...common },
    { clientId: 'third', name: 'A Third Party', clientSecret: SECRET, firstParty: false, ...common }
  ]
}

/** With the host `localhost`, the site is another origin of the provider's own site. */
export async function startSite(t: Scope, title: string, host = '127.0.0.1'): Promise<Site> {
  const { server, port } = await listening(t)
  const site: Site = { origin: `http://${host}:${port}`, visits: [], pages: new Map() }
  server.on('request', (request, response) => {
    answer(site, title, request).then(
      ({ status, html }) => {
        response.writeHead(status, { 'content-type': 'text/html; charset=utf-8' }).end(html)
      },
      (error: unknown) => {
        response.destroy(error as Error)
      }
    )
  })
  return site
}

async function answer(
  { origin, visits, pages }: Site,
  title: string,
  request: IncomingMessage
): Promise<{ status: number; html: string }> {
  const { pathname, searchParams } = new URL(request.url ?? '/', origin)
  let body = ''
  for await (const chunk of request) body += String(chunk)
  if (pathname === '/favicon.ico') return { status: 204, html: '' }
  visits.push({
    method: request.method ?? '',
    path: pathname,
    params: { ...Object.fromEntries(searchParams), ...Object.fromEntries(new URLSearchParams(body)) },
    body,
    referer: request.headers.referer ?? null
  })
  return {
    status: 200,
    html: pages.get(pathname) ?? `<!doctype html><html lang="en"><title>${title}</title><h1>${title}</h1>`
  }
}

async function listening(t: Scope): Promise<{ server: Server; port: number }> {
  const server = createServer()
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  return { server, port: (server.address() as AddressInfo).port }
}
