/** Fastify prints `http://127.0.0.1:3000`, and the issuer of the quick start is `http://localhost:3000`. */
import type { AddressInfo } from 'node:net'
import t from '../support/tap.ts'
import type { AuthorityOptions } from '../../lib/index.ts'
import { sendRaw } from '../support/raw-socket.ts'
import { authorizePath, openidApp } from '../support/openid.ts'

interface Asked {
  host: string
  url?: string
  method?: 'GET' | 'POST'
  headers?: Record<string, string>
  options?: Partial<AuthorityOptions>
}

async function ask({
  host,
  url = '/auth/login?x=%2F1',
  method = 'GET',
  headers,
  options = {}
}: Asked): Promise<unknown[]> {
  const { app, close } = await openidApp(options)
  try {
    const { statusCode, headers: got } = await app.inject({ method, url, headers: { host, ...headers } })
    return [statusCode, got.location]
  } finally {
    await close()
  }
}

t.test('redirects a page opened under another loopback name to the issuer', async (t) => {
  const at = (url: string): unknown[] => [307, `http://localhost:3000${url}`]
  for (const host of ['127.0.0.1:3000', '127.0.0.2:3000', '[::1]:3000'])
    t.same(await ask({ host }), at('/auth/login?x=%2F1'), host)
  t.same(await ask({ host: '127.0.0.1:3000', url: '/auth/signup' }), at('/auth/signup'))
  t.same(await ask({ host: '127.0.0.1:3000', url: authorizePath() }), at(authorizePath()))
  t.same(await ask({ host: 'localhost:8080', url: '/auth/signup', options: { issuer: 'http://127.0.0.1:8080' } }), [
    307,
    'http://127.0.0.1:8080/auth/signup'
  ])
})

t.test('does not redirect a form, an API request, or a page at the issuer or a foreign host', async (t) => {
  const url = '/auth/login'
  for (const [what, asked, status] of [
    ['the issuer itself', { host: 'localhost:3000' }, 200],
    ['the issuer in other letters', { host: 'LOCALHOST:3000' }, 200],
    ['another port, as that of a development proxy', { host: '127.0.0.1:5173' }, 200],
    ['no port', { host: '127.0.0.1' }, 200],
    ['a name that is no loopback one', { host: 'evil.example:3000' }, 200],
    ['no address', { host: 'a b:3000' }, 200],
    ['a proxy before', { host: '127.0.0.1:3000', headers: { 'x-forwarded-for': '10.0.0.1' } }, 200],
    ['a public issuer', { host: '127.0.0.1:443', options: { issuer: 'https://auth.example.com' } }, 200],
    ['a form', { host: '127.0.0.1:3000', method: 'POST' }, 403],
    ['the API', { host: '127.0.0.1:3000', url: '/.well-known/oauth-authorization-server' }, 200],
    ['the stylesheet', { host: '127.0.0.1:3000', url: '/auth/pages.css' }, 200]
  ] as Array<[string, Asked, number]>)
    t.same(await ask({ url, ...asked }), [status, undefined], what)
})

t.test('does not redirect to the absolute address of a request line', async (t) => {
  const { app, close } = await openidApp({})
  t.teardown(close)
  await app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = app.server.address() as AddressInfo
  const [answer] = await sendRaw(
    port,
    'GET http://evil.example/auth/login HTTP/1.1\r\nHost: 127.0.0.1:3000\r\nConnection: close\r\n\r\n'
  )
  t.notMatch(answer?.head, /location: .*evil/i)
})
