/** Clients that nobody registered: a host of documents, and their requests. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { FastifyServerOptions } from 'fastify'
import type { AuthorityOptions } from '../../../lib/index.ts'
import { PASSWORD } from '../../support/app.ts'
import { formAction, type TestBrowser } from '../../support/browser.ts'
import { logLines } from '../../support/log-lines.ts'
import { answerOf, authorizePath, type OpenidApp, openidApp, redeem } from '../../support/openid.ts'
import type { Test } from '../../support/tap.ts'

export const AGENT = 'https://agent.example/cb'
export const APP_SECRET = 'a secret of the service with more than 32 bytes'

export interface DocumentHost {
  url: string
  calls(): number
  /** The members of the document besides `client_id`. */
  metadata: Record<string, unknown>
  /** Replaces the whole answer. */
  answer: ((request: IncomingMessage, reply: ServerResponse) => void) | null
  headers: Record<string, string>
  close(): void
}

/** A host with the document of one client at `/client.json`. */
export async function documentHost(t: Test): Promise<DocumentHost> {
  let calls = 0
  const server = createServer((request, reply) => {
    calls++
    if (host.answer !== null) host.answer(request, reply)
    else
      reply
        .writeHead(200, { 'content-type': 'application/json', ...host.headers })
        .end(JSON.stringify({ client_id: host.url, ...host.metadata }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const host: DocumentHost = {
    url: `http://127.0.0.1:${port}/client.json`,
    calls: () => calls,
    metadata: {
      client_name: 'Agent',
      redirect_uris: [AGENT],
      grant_types: ['authorization_code', 'refresh_token'],
      token_endpoint_auth_method: 'none'
    },
    answer: null,
    headers: {},
    close() {
      server.close()
      server.closeAllConnections()
    }
  }
  t.teardown(host.close)
  return host
}

export type World = OpenidApp & { lines: Array<Record<string, unknown>>; told(): string }

export async function world(t: Test, options: Partial<AuthorityOptions> = {}): Promise<World> {
  const { lines, stream } = logLines()
  const server: FastifyServerOptions = { logger: { level: 'info', stream } }
  const test = await openidApp(
    {
      clientIdMetadata: true,
      clientRegistration: true,
      secret: APP_SECRET,
      scopes: ['openid', 'profile', 'email', 'offline_access'],
      resources: [{ resource: '/mcp', name: 'Notes', scopes: { 'notes:read': 'read your notes' } }],
      ...options
    },
    server
  )
  t.teardown(test.close)
  return { ...test, lines, told: () => lines.map((line) => JSON.stringify(line)).join('\n') }
}

export const requestOf = (clientId: string, params: Record<string, string | undefined> = {}): string =>
  authorizePath({ client_id: clientId, redirect_uri: AGENT, ...params })

/** Opens an authorization request, and signs in if a page asks. */
export async function open(browser: TestBrowser, path: string) {
  let { reply, url } = await browser.follow(await browser.get(path))
  if (url.includes('/auth/login?'))
    ({ reply, url } = await browser.follow(await browser.submit(url, { username: 'ann', password: PASSWORD })))
  return { reply, url }
}

/** Presses a button of the consent page. */
export const press = async (browser: TestBrowser, page: string, decision = 'allow') =>
  await browser.follow(await browser.submit(formAction(page), { decision }))

/** The whole journey to the tokens. */
export async function tokensFor(
  { app, browser }: Pick<World, 'app' | 'browser'>,
  clientId: string,
  params: Record<string, string | undefined> = {}
): Promise<Record<string, string>> {
  let { reply, url } = await open(browser, requestOf(clientId, params))
  if (url.includes('/auth/consent?')) ({ reply, url } = await press(browser, reply.body))
  const { code } = answerOf(url)
  if (code === undefined) throw new Error(`no code: ${reply.statusCode} ${url} ${reply.body}`)
  const { redirect_uri = AGENT, resource } = params
  const redeemed = await redeem(app, code, { client_id: clientId, redirect_uri, resource })
  if (redeemed.statusCode !== 200) throw new Error(`token: ${redeemed.statusCode} ${redeemed.body}`)
  return redeemed.json()
}

export async function refresh(
  { app }: Pick<World, 'app'>,
  clientId: string,
  token: string | undefined
): Promise<{ status: number; body: Record<string, string> }> {
  const reply = await app.inject({
    method: 'POST',
    url: '/auth/token',
    payload: { grant_type: 'refresh_token', client_id: clientId, refresh_token: token }
  })
  return { status: reply.statusCode, body: reply.json() }
}

export const register = async ({ app }: Pick<World, 'app'>, payload: object, headers: Record<string, string> = {}) =>
  await app.inject({ method: 'POST', url: '/auth/clients', payload, headers })
