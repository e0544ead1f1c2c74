import { createHash, generateKeyPairSync } from 'node:crypto'
import type { FastifyServerOptions } from 'fastify'
import type { AuthorityOptions, Client } from '../../lib/index.ts'
import { ISSUER, type LightMyRequestResponse, PASSWORD, signUp, type TestApp, testApp } from './app.ts'
import { type TestBrowser, testBrowser } from './browser.ts'

/** Made once a process, because managed RS256 keys would be made again for every app of a test. */
export const KEYS = [
  {
    ...generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' }),
    alg: 'ES256',
    kid: 'es'
  },
  {
    ...generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ format: 'jwk' }),
    alg: 'RS256',
    kid: 'rs'
  }
]

export const SECRET = 'a client secret of more than 32 bytes, for tests only'
export const CALLBACK = 'https://app.example/cb'
export const LOGGED_OUT = 'https://app.example/logged-out'

/** A public client, a confidential one, one as the certification suite registers it, and a third-party one. */
export const CLIENTS: Client[] = [
  { clientId: 'spa', name: 'The App', redirectUris: [CALLBACK], postLogoutRedirectUris: [LOGGED_OUT] },
  {
    clientId: 'web',
    name: 'The Site',
    clientSecret: SECRET,
    redirectUris: [CALLBACK, `${CALLBACK}?dummy1=lorem&dummy2=ipsum`],
    postLogoutRedirectUris: [LOGGED_OUT]
  },
  {
    clientId: 'suite',
    clientSecret: SECRET,
    requirePkce: false,
    redirectUris: [CALLBACK],
    postLogoutRedirectUris: [LOGGED_OUT]
  },
  {
    clientId: 'suite2',
    clientSecret: `${SECRET} 2`,
    requirePkce: false,
    redirectUris: [`${CALLBACK}?dummy1=lorem&dummy2=ipsum`]
  },
  {
    clientId: 'third',
    name: 'A Third Party',
    clientSecret: SECRET,
    firstParty: false,
    redirectUris: ['https://third.example/cb']
  }
]

export interface OpenidApp extends TestApp {
  browser: TestBrowser
  ann: { sub: string; username: string }
}

/** An app with clients, keys and one user, and a browser in front of it. */
export async function openidApp(
  options: Partial<AuthorityOptions> = {},
  server: FastifyServerOptions = {},
  before?: Parameters<typeof testApp>[2]
): Promise<OpenidApp> {
  const subject = await testApp({ keys: KEYS, clients: CLIENTS, ...options }, server, before)
  const ann = await signUp(subject.app)
  return { ...subject, ann, browser: testBrowser(subject.app, options.issuer ?? ISSUER) }
}

export const VERIFIER = 'a-verifier-of-at-least-43-characters-for-all-the-tests'
export const CHALLENGE = createHash('sha256').update(VERIFIER).digest('base64url')

/** The path of an authorization request of the public client, with PKCE; `undefined` takes a parameter out. */
export function authorizePath(params: Record<string, string | undefined> = {}): string {
  const all = {
    client_id: 'spa',
    redirect_uri: CALLBACK,
    response_type: 'code',
    scope: 'openid',
    state: 'state-1',
    code_challenge: CHALLENGE,
    code_challenge_method: 'S256',
    ...params
  }
  const query = new URLSearchParams(
    Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined)
  )
  return `/auth/authorize?${query.toString()}`
}

/** The same of a client that was registered as the certification suite does: with a secret and no PKCE. */
export function suitePath(params: Record<string, string | undefined> = {}): string {
  return authorizePath({
    client_id: 'suite',
    code_challenge: undefined,
    code_challenge_method: undefined,
    nonce: 'nonce-1',
    ...params
  })
}

/** Goes to `path`, signs in if a page asks, and resolves to the parameters that the client gets. */
export async function authorizeAs(
  browser: TestBrowser,
  path: string,
  { username = 'ann', password = PASSWORD } = {}
): Promise<Record<string, string>> {
  let { reply, url } = await browser.follow(await browser.get(path))
  if (reply.statusCode === 200 && url.includes('/auth/login?')) {
    ;({ reply, url } = await browser.follow(await browser.submit(url, { username, password })))
  }
  if (reply.statusCode !== 303) throw new Error(`authorize: ${reply.statusCode} at ${url}`)
  return answerOf(url)
}

/** The parameters of an answer at a redirect URI, in its query or its fragment. */
export function answerOf(location: string): Record<string, string> {
  const { search, hash } = new URL(location)
  return Object.fromEntries(new URLSearchParams(hash === '' ? search : hash.slice(1)))
}

export const basic = (clientId: string, clientSecret: string): { authorization: string } => ({
  authorization:
    'Basic ' + Buffer.from(`${encodeURIComponent(clientId)}:${encodeURIComponent(clientSecret)}`).toString('base64')
})

export interface CodeTokens {
  access_token: string
  token_type: string
  expires_in: number
  refresh_token?: string
  id_token?: string
  scope: string
}

/** Redeems a code of the public client. */
export async function redeem(
  app: TestApp['app'],
  code: string,
  params: Record<string, string | undefined> = {},
  headers: Record<string, string> = {}
): Promise<LightMyRequestResponse> {
  const all = {
    grant_type: 'authorization_code',
    client_id: 'spa',
    redirect_uri: CALLBACK,
    code_verifier: VERIFIER,
    code,
    ...params
  }
  const form = new URLSearchParams(
    Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined)
  )
  return await app.inject({
    method: 'POST',
    url: '/auth/token',
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
    payload: form.toString()
  })
}

/** The whole journey of the public client, to its tokens. */
export async function tokensOf(
  { app, browser }: Pick<OpenidApp, 'app' | 'browser'>,
  params: Record<string, string | undefined> = {}
): Promise<CodeTokens> {
  const { code = '' } = await authorizeAs(browser, authorizePath(params))
  const reply = await redeem(app, code)
  if (reply.statusCode !== 200) throw new Error(`token: ${reply.statusCode} ${reply.body}`)
  return reply.json()
}
