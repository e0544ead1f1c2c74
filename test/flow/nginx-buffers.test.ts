/** The cookies of a browser through nginx, whose buffers bound the head of a request and of an answer. */
import { mkdtempSync, rmSync } from 'node:fs'
import { request, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from '../support/tap.ts'
import { memoryFactorStore } from '../../lib/index.ts'
import { PASSWORD, signUp } from '../support/app.ts'
import { freePort } from '../support/free-port.ts'
import { testBrowser } from '../support/browser.ts'
import { authorizationRequest, noise } from '../http/connect/cookie-room.ts'
import { connectApp, CROSS, SAME } from '../http/connect/support.ts'
import { startNginx } from './support/nginx.ts'

const ISSUER = 'https://auth.example.com'
/** A cookie of the host app on the same host name. */
const HOST_COOKIE = `host=${'x'.repeat(2000)}`

interface Answer {
  status: number
  headers: IncomingHttpHeaders
}

t.test('accepts requests with all cookies at their maximum size behind nginx', async (t) => {
  const test = await connectApp(t, {
    issuer: ISSUER,
    clients: [{ clientId: 'spa', redirectUris: ['https://spa.example/cb'] }],
    factors: memoryFactorStore(),
    emailSignIn: {},
    mfa: { rememberDevice: {} }
  })
  await signUp(test.app, 'ann@example.com')
  await test.app.listen({ port: 0, host: '127.0.0.1' })
  const { port: upstream } = test.app.server.address() as AddressInfo
  const directory = mkdtempSync(join(tmpdir(), 'nginx-buffers-'))
  t.teardown(() => {
    rmSync(directory, { recursive: true, force: true })
  })
  const [defaults, guided] = [await freePort(), await freePort()]
  const server = (port: number, more: string): string =>
    `server { listen 127.0.0.1:${port}; access_log off; ${more} location / { proxy_pass http://127.0.0.1:${upstream}; } }`
  await startNginx(t, {
    confd: () => ({
      // The guide's settings for answers. The bounds of requests are those of nginx.
      'site.conf': server(defaults, '') + server(guided, 'proxy_buffer_size 16k; proxy_buffers 8 16k;')
    }),
    directory,
    log: directory,
    port: guided
  })

  const { cookies } = testBrowser(test.app, ISSUER)
  async function send(
    port: number,
    path: string,
    headers: Record<string, string>,
    form?: Record<string, string>
  ): Promise<Answer> {
    const cookie = [HOST_COOKIE, ...[...cookies].map(([name, value]) => `${name}=${value}`)].join('; ')
    const answer = await new Promise<Answer>((resolve, reject) => {
      request(
        {
          port,
          path,
          method: form === undefined ? 'GET' : 'POST',
          headers: {
            host: 'auth.example.com',
            cookie,
            ...headers,
            ...(form === undefined
              ? {}
              : { origin: ISSUER, 'content-type': 'application/x-www-form-urlencoded', ...SAME })
          }
        },
        (response) => {
          response.resume().on('end', () => {
            resolve({ status: response.statusCode ?? 0, headers: response.headers })
          })
        }
      )
        .on('error', reject)
        .end(form === undefined ? undefined : new URLSearchParams(form).toString())
    })
    for (const set of answer.headers['set-cookie'] ?? []) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(set) ?? []
      if (value === '') cookies.delete(name)
      else cookies.set(name, value)
    }
    return answer
  }

  t.equal((await send(defaults, authorizationRequest(noise(300)), CROSS)).status, 303, 'an ordinary one by defaults')
  for (let count = 0; count < 8; count++) {
    const path = authorizationRequest(noise(count === 1 ? 1500 : 1100))
    t.equal((await send(guided, path, CROSS)).status, 303, `start ${count}`)
    t.equal((await send(guided, '/auth/connect/acme?return_to=/cart', SAME)).status, 303, `our start ${count}`)
    test.clock.step(1000)
    t.equal((await send(guided, '/auth/email-code', {}, { username: 'ann@example.com' })).status, 303, 'a code')
    t.equal(
      (await send(guided, '/auth/login', {}, { username: 'ann@example.com', password: PASSWORD })).status,
      303,
      'a sign-in'
    )
    t.equal((await send(defaults, '/auth/account', {})).status, 200, 'a page by defaults')
  }
  const bytes = [...cookies].join('; ').length
  t.ok(bytes > 3500, `the room is full: ${bytes} bytes`)
})
