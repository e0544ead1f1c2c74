import { createServer, type IncomingMessage } from 'node:http'
import { type AddressInfo, Socket } from 'node:net'
import t from '../support/tap.ts'
import { bearer, PASSWORD, signUp } from '../support/app.ts'
import { authorizeAs, authorizePath, basic, CALLBACK, CLIENTS, openidApp, redeem, SECRET } from '../support/openid.ts'

/** The targets that this process connects to after the call, by any library. */
function connections(t: { teardown(task: () => void): void }): string[] {
  const seen: string[] = []
  const { connect } = Socket.prototype
  Socket.prototype.connect = function (this: Socket, ...args: unknown[]) {
    const [first] = args.flat() as Array<{ host?: string; port?: number; path?: string } | string | number>
    seen.push(typeof first === 'object' ? (first.path ?? `${first.host}:${first.port}`) : String(first))
    return Reflect.apply(connect, this, args) as Socket
  } as typeof connect
  t.teardown(() => {
    Socket.prototype.connect = connect
  })
  return seen
}

// covers ASVS-14.2.3
t.test('connects to no third party except the registered back-channel logout address', async (t) => {
  const posts: Array<{ url: string | undefined; headers: IncomingMessage['headers']; body: string }> = []
  let told = (): void => {}
  const heard = new Promise<void>((resolve) => {
    told = resolve
  })
  const server = createServer((request, reply) => {
    let body = ''
    request.on('data', (chunk: Buffer) => {
      body += chunk.toString()
    })
    request.on('end', () => {
      posts.push({ url: request.url, headers: request.headers, body })
      reply.end()
      told()
    })
  })
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  t.teardown(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => {
      server.close(resolve)
    })
  })
  const { port } = server.address() as AddressInfo
  const clients = CLIENTS.map((client) =>
    client.clientId === 'web' ? { ...client, backchannelLogoutUri: `http://127.0.0.1:${port}/bc` } : client
  )
  const subject = await openidApp({ clients, rateLimit: {}, pages: { logo: { url: 'https://cdn.example/logo.png' } } })
  t.teardown(subject.close)
  const seen = connections(t)
  const { app, browser } = subject

  await signUp(app, 'bob@mail.example')
  await app.inject({ method: 'POST', url: '/auth/password-reset', payload: { username: 'bob@mail.example' } })
  const { code: spaCode = '' } = await authorizeAs(browser, authorizePath({ scope: 'openid email offline_access' }))
  const tokens: { access_token: string; refresh_token: string; id_token: string } = (await redeem(app, spaCode)).json()
  await app.inject({ url: '/auth/userinfo', headers: bearer(tokens.access_token) })
  await app.inject({
    method: 'POST',
    url: '/auth/token',
    payload: { grant_type: 'refresh_token', client_id: 'spa', refresh_token: tokens.refresh_token }
  })
  await app.inject({
    method: 'POST',
    url: '/auth/introspect',
    headers: basic('web', SECRET),
    payload: { token: tokens.access_token }
  })
  for (const hostile of ['https://evil.example/r', 'http://169.254.169.254/latest']) {
    await browser.get(authorizePath({ request_uri: hostile }))
    await browser.get(authorizePath({ redirect_uri: hostile }))
    await app.inject({
      url: '/me',
      headers: bearer(
        `${Buffer.from(JSON.stringify({ alg: 'ES256', typ: 'at+jwt', kid: 'k', jku: hostile, x5u: hostile })).toString('base64url')}.e30.AA`
      )
    })
  }
  t.strictSame(seen, [], 'sign-up, sign-in, tokens and a message of the host: nobody is called')

  const pages = await Promise.all(
    ['/auth/login', '/auth/signup', '/auth/forgot-password', '/auth/logout', '/auth/nothing'].map(
      async (url) => (await browser.get(url)).body
    )
  )
  for (const page of pages) {
    const loaded = [...page.matchAll(/(?:src|action|srcset|<link[^>]*href)="([^"]*)"/g)]
      .map(([, url = '']) => url)
      .filter((url) => /^(?:https?:)?\/\//.test(url))
    t.ok(
      loaded.every((url) => url === 'https://cdn.example/logo.png'),
      `a page loads nothing of others but the logo that the host named: ${loaded.join(' ')}`
    )
  }

  const { code = '' } = await authorizeAs(browser, authorizePath({ client_id: 'web', redirect_uri: CALLBACK }))
  await redeem(app, code, { client_id: undefined }, basic('web', SECRET))
  await browser.submit('/auth/login', { username: 'ann', password: PASSWORD })
  await app.authority.revokeUser(subject.ann.sub)
  await heard
  t.strictSame(seen, [`127.0.0.1:${port}`], 'of two clients of the session, the one that registered an address')
  t.equal(posts.length, 1)
  const [{ url, headers, body } = { url: '', headers: {}, body: '' }] = posts
  t.equal(url, '/bc')
  t.strictSame([...new URLSearchParams(body).keys()], ['logout_token'])
  const claims = JSON.parse(Buffer.from(body.split('.')[1] ?? '', 'base64url').toString()) as Record<string, unknown>
  t.strictSame(
    Object.keys(claims).toSorted((a, b) => a.localeCompare(b)),
    ['aud', 'events', 'exp', 'iat', 'iss', 'jti', 'sid', 'sub'],
    'and it hears of the session and its subject, and of nothing else'
  )
  t.notMatch(JSON.stringify(headers), /ann|cookie|authorization|referer/i)
})
