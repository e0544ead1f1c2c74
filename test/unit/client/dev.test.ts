/** The errors of the browser client for invalid options and pages, and the extra checks of `client/dev`. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from '../../support/tap.ts'

interface Client {
  loginWithRedirect(): Promise<void>
  logout(): Promise<void>
  fetch(url: string): Promise<Response>
}
interface AuthClientOptions {
  clientId: string
  domain: string
  storage?: string
  mode?: string
}
interface Entry {
  createAuthClient(options: AuthClientOptions): Client
  issuerOf(domain: string): string
}

/** Imports by URL, because the client is compiled with the types of a browser. */
const load = async (name: string): Promise<Entry> =>
  (await import(new URL(`../../../lib/client/${name}.ts`, import.meta.url).href)) as Entry
const { createAuthClient } = await load('index')
const { createAuthClient: checked } = await load('dev')
const { issuerOf } = await load('http')
const good: AuthClientOptions = { clientId: 'spa', domain: 'auth.example.com', storage: 'memory' }
const invalid = (message: RegExp | string) => ({ name: 'AuthClientError', error: 'invalid_options', message })

t.test('throws when clientId or domain is missing', async (t) => {
  for (const options of [{}, { clientId: 'spa' }, { domain: 'auth.example.com' }, { clientId: '', domain: '' }]) {
    t.throws(() => createAuthClient(options as AuthClientOptions), invalid('clientId, domain'))
    t.throws(() => checked(options as AuthClientOptions), invalid(/^The option "(?:clientId|domain)" is missing/))
  }
})

t.test('uses http for a loopback host without a scheme, and https for any other host', async (t) => {
  for (const [domain, issuer] of [
    ['localhost:3000', 'http://localhost:3000'],
    ['localhost', 'http://localhost'],
    ['127.0.0.1:3000', 'http://127.0.0.1:3000'],
    ['[::1]:3000', 'http://[::1]:3000'],
    ['https://localhost:3000/', 'https://localhost:3000'],
    ['auth.example.com', 'https://auth.example.com'],
    ['localhost.example.com', 'https://localhost.example.com'],
    ['http://box.test', 'http://box.test']
  ] as const)
    t.equal(issuerOf(domain), issuer, domain)
})

t.test('rejects sign-in and sign-out outside a secure context', async (t) => {
  t.intercept(globalThis, 'isSecureContext' as keyof typeof globalThis, { value: false })
  const client = createAuthClient(good)
  const insecure = { error: 'insecure_context', retryable: false } as unknown as Error
  await t.rejects(client.loginWithRedirect(), insecure)
  await t.rejects(client.logout(), insecure)
})

t.test('in development rejects an unknown option, and cookie mode across origins', async (t) => {
  t.throws(
    () => checked({ ...good, redirectURI: 'x' } as AuthClientOptions),
    invalid(/^There is no option "redirectURI"\. There are: clientId, domain, redirectUri/)
  )
  t.intercept(globalThis, 'location' as keyof typeof globalThis, { value: new URL('https://app.example/x') })
  t.throws(
    () => checked({ ...good, mode: 'cookie' }),
    invalid(/this page is at https:\/\/app\.example, domain is https:\/\/auth\.example\.com/)
  )
  t.ok(checked({ ...good, domain: 'app.example', mode: 'cookie' }))
  t.ok(checked(good))
})

t.test('in development warns once about an origin that answers 401 and is not in allowedOrigins', async (t) => {
  const server = createServer((_request, response) => response.writeHead(401).end())
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const warnings: unknown[] = []
  t.intercept(console, 'warn', { value: (text: unknown) => warnings.push(text) })
  t.intercept(globalThis, 'location' as keyof typeof globalThis, { value: new URL('https://app.example/x') })
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const client = checked(good)
  for (const path of ['/a', '/b']) t.equal((await client.fetch(origin + path)).status, 401)
  t.match(warnings, [new RegExp(`^allowedOrigins: 401 ${origin}: `)])
  t.equal(warnings.length, 1)
})
