/** Requests to a provider that is slow, broken, hostile or unreachable: limits and reports. */
import dns from 'node:dns'
import { createServer } from 'node:https'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import t, { type Test } from '../../support/tap.ts'
import { outbound } from '../../../lib/adapters/node/outbound.ts'
import type { Upstream } from '../../../lib/ports/upstream.ts'
import { PRIVATE_NETWORK, PUBLIC, THIS_MACHINE } from '../../../lib/protocol/distance.ts'
import { oauth2, oidc } from '../../../lib/connections/index.ts'
import { steppedClock } from '../../../lib/testing/index.ts'
import { freePort } from '../../support/free-port.ts'
import type { Answer } from '../../support/upstream/provider-server.ts'
import { openidServer, type OpenidServer } from '../../support/upstream/openid-server.ts'
import { flow, refusalOf, signInAt, upstreamOf } from '../../support/upstream/sign-in.ts'

const connectionTo = (issuer: string) => oidc({ id: 'up', issuer, clientId: 'client', clientSecret: 'secret' })

async function provider(t: Test): Promise<OpenidServer> {
  const server = await openidServer()
  t.teardown(async () => {
    await server.close()
  })
  return server
}

const CANARY = '{"error":"CANARY","access_token":"CANARY","token_type":"bearer","sub":"CANARY","issuer":"CANARY"}'
const BROKEN: Record<string, Answer> = {
  '302 to another place': { status: 302, headers: { location: '/elsewhere' }, body: CANARY },
  '307, which would post the secret on': { status: 307, headers: { location: '/elsewhere' }, body: CANARY },
  '40 MiB': { body: Buffer.alloc(40 * 1024 * 1024, ' ') },
  HTML: { type: 'text/html', body: '<h1>CANARY</h1>' },
  'HTML that calls itself JSON': { body: '<h1>CANARY</h1>' },
  '500': { status: 500, json: { error: 'CANARY' } },
  '500 with HTML': { status: 500, type: 'text/html', body: 'CANARY' },
  'a list': { json: ['CANARY'] },
  null: { body: 'null' },
  'a number': { body: '7' },
  nothing: { status: 204, body: '' }
}

// covers FED-17
t.test('ends the sign-in on a broken response of any endpoint, without quoting its content', async (t) => {
  const server = await provider(t)
  const usual = { ...server.routes }
  const places: Array<[route: string, reason: string]> = [
    ['GET /.well-known/openid-configuration', 'outage'],
    ['POST /token', 'exchange'],
    ['GET /keys', 'outage'],
    ['GET /userinfo', 'userinfo']
  ]
  for (const [route, reason] of places) {
    for (const [name, answer] of Object.entries(BROKEN)) {
      Object.assign(server.routes, usual, { [route]: () => answer })
      t.match(
        (await refusalOf(signInAt(upstreamOf(connectionTo(server.issuer)), server.answerTo))).reason,
        new RegExp(`^(?:${reason})$`),
        `${route}: ${name}`
      )
    }
  }
  t.equal(server.count('/elsewhere'), 0, 'no redirect is followed')
})

// covers FED-17
t.test('refuses a response of more than 256 KiB', async (t) => {
  const server = await provider(t)
  const usual = { ...server.routes }
  for (const route of ['GET /.well-known/openid-configuration', 'POST /token', 'GET /keys', 'GET /userinfo']) {
    const padded = (bytes: number): void => {
      Object.assign(server.routes, usual, {
        [route]: async (asked: Parameters<NonNullable<(typeof usual)[string]>>[0]) => ({
          json: { ...((await usual[route]?.(asked))?.json as object), padding: ' '.repeat(bytes) }
        })
      })
    }
    padded(200 * 1024)
    t.equal(
      (await signInAt(upstreamOf(connectionTo(server.issuer)), server.answerTo)).assertion.subject,
      'person-1',
      route
    )
    padded(256 * 1024)
    t.match(
      (await refusalOf(signInAt(upstreamOf(connectionTo(server.issuer)), server.answerTo))).message,
      /more than 262144 bytes/,
      route
    )
  }
})

// covers FED-17
t.test('gives up on a request after five seconds', async (t) => {
  const server = await provider(t)
  const usual = { ...server.routes }
  for (const route of ['GET /.well-known/openid-configuration', 'POST /token', 'GET /keys', 'GET /userinfo']) {
    const clock = steppedClock(Date.now())
    const asked = new Promise<void>((resolve) => {
      Object.assign(server.routes, usual, {
        [route]: () => {
          resolve()
          return { hangs: true }
        }
      })
    })
    const pending = refusalOf(signInAt(upstreamOf(connectionTo(server.issuer), clock), server.answerTo))
    await asked
    clock.step(5000)
    t.match(await pending, { reason: 'outage', message: /in time/ }, route)
  }
})

// covers FED-17
t.test('gives up on a callback after six seconds in total', async (t) => {
  const server = await provider(t)
  const clock = steppedClock(Date.now())
  const usual = server.routes['POST /token']
  server.routes['POST /token'] = async (asked) => {
    clock.step(3000)
    return (await usual?.(asked)) ?? {}
  }
  const hung = new Promise<void>((resolve) => {
    server.routes['GET /userinfo'] = () => {
      resolve()
      return { hangs: true }
    }
  })
  const pending = refusalOf(signInAt(upstreamOf(connectionTo(server.issuer), clock), server.answerTo))
  await hung
  clock.step(3000)
  t.match(await pending, { reason: 'outage' })
  const slow = steppedClock(Date.now())
  const asked = new Promise<void>((resolve) => {
    server.routes['POST /token'] = async (request) => {
      slow.step(3000)
      resolve()
      return (await usual?.(request)) ?? {}
    }
  })
  const option = oauth2({
    id: 'up',
    issuer: server.issuer,
    clientId: 'client',
    clientSecret: 's',
    scopes: [],
    authorizationEndpoint: `${server.origin}/authorize`,
    tokenEndpoint: `${server.origin}/token`,
    identify: async () => await new Promise(() => {})
  })
  const never = refusalOf(signInAt(upstreamOf(option, slow), server.answerTo))
  await asked
  slow.step(3000)
  t.match(await never, { reason: 'outage' }, 'nor for an identify that never ends')
})

// covers FED-17
t.test('reports an unreachable provider and a self-signed certificate as an outage', async (t) => {
  const refused = upstreamOf(connectionTo(`http://127.0.0.1:${await freePort()}`))
  t.match(await refusalOf(refused.authorizationUrl(flow(), {})), { reason: 'outage', message: /ECONNREFUSED/ })
  t.match(await refusalOf(upstreamOf(connectionTo('https://provider.invalid')).authorizationUrl(flow(), {})), {
    reason: 'outage',
    message: /can't be reached/
  })
  const certificate = new URL('../../support/upstream/self-signed.pem', import.meta.url)
  const server = createServer(
    { key: readFileSync(certificate), cert: readFileSync(certificate) },
    (_request, response) => {
      response.end('{}')
    }
  )
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => {
    server.close()
  })
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`
  const { reason, message } = await refusalOf(upstreamOf(connectionTo(url)).authorizationUrl(flow(), {}))
  t.equal(reason, 'outage')
  t.match(message, /SELF_SIGNED|CERT/)
})

t.test(
  'queries an unavailable provider after pauses of 1 to 10 seconds, and reports the outage and its end once',
  async (t) => {
    const server = await provider(t)
    for (const [route, of] of [
      ['GET /.well-known/openid-configuration', "the provider's metadata"],
      ['GET /keys', "the provider's key set"]
    ] as const) {
      const clock = steppedClock(Date.now())
      const told: string[] = []
      const subject = upstreamOf(connectionTo(server.issuer), clock, {
        down: (what, { message }) => told.push(`${what} down: ${message}`),
        back: (what) => told.push(`${what} back`)
      })
      const usual = server.routes[route]
      server.routes[route] = () => ({ status: 503, json: {} })
      const path = route.slice(4)
      const before = server.count(path)
      const signIn = async (): Promise<{ reason: string }> => await refusalOf(signInAt(subject, server.answerTo))
      for (const [pauseMs, times] of [
        [0, 1],
        [999, 1],
        [1, 2],
        [1999, 2],
        [1, 3],
        [4000, 4],
        [8000, 5],
        [9999, 5],
        [1, 6],
        [9999, 6],
        [1, 7]
      ] as const) {
        clock.step(pauseMs)
        for (let i = 0; i < 10; i++) t.match(await signIn(), { reason: 'outage' })
        t.equal(server.count(path) - before, times, `${path} after ${pauseMs} ms more`)
      }
      t.match(told, [`${of} down`], 'one report of a hundred failures')
      if (usual !== undefined) server.routes[route] = usual
      clock.step(10_000)
      t.equal((await signInAt(subject, server.answerTo)).assertion.subject, 'person-1', 'without a restart')
      t.match(told, [/down/, `${of} back`])
      t.equal(told.length, 2)
    }
  }
)

t.test('reports an outage of the token endpoint once, and also its end', async (t) => {
  const server = await provider(t)
  const told: string[] = []
  const subject = upstreamOf(connectionTo(server.issuer), undefined, {
    down: (what) => told.push(`${what} down`),
    back: (what) => told.push(`${what} back`)
  })
  const usual = server.routes['POST /token']
  server.routes['POST /token'] = () => ({ cuts: true })
  for (let i = 0; i < 5; i++) t.match(await refusalOf(signInAt(subject, server.answerTo)), { reason: 'outage' })
  if (usual !== undefined) server.routes['POST /token'] = usual
  await signInAt(subject, server.answerTo)
  await signInAt(subject, server.answerTo)
  t.strictSame(told, ['the token endpoint down', 'the token endpoint back'])
})

t.test('limits concurrent calls to one provider to fifty', async (t) => {
  const server = await provider(t)
  const told: string[] = []
  const clock = steppedClock(Date.now())
  const subject = upstreamOf(connectionTo(server.issuer), clock, { down: (what) => told.push(what) })
  await signInAt(subject, server.answerTo)
  let asked = 0
  const fifty = new Promise<void>((resolve) => {
    server.routes['POST /token'] = () => {
      if (++asked === 50) resolve()
      return { hangs: true }
    }
  })
  const waiting = Array.from({ length: 50 }, async () => await refusalOf(signInAt(subject, server.answerTo)))
  await fifty
  for (let i = 0; i < 20; i++)
    t.match(await refusalOf(signInAt(subject, server.answerTo)), { reason: 'outage', message: /Too many/ })
  t.equal(asked, 50)
  t.strictSame(told, [], 'which says nothing of the provider')
  clock.step(5000)
  await Promise.all(waiting)
  t.strictSame(told, ['the token endpoint'])
})

t.test('caches metadata for a day and keys for ten minutes, and longer during an outage', async (t) => {
  const server = await provider(t)
  const clock = steppedClock(Date.now())
  const subject = upstreamOf(connectionTo(server.issuer), clock)
  server.is.now = () => Math.floor(clock.now() / 1000)
  const signIn = async (): Promise<string> => (await signInAt(subject, server.answerTo)).assertion.subject
  const counts = (): number[] => [server.count('/.well-known/openid-configuration'), server.count('/keys')]
  await Promise.all([signIn(), signIn(), signIn()])
  t.strictSame(counts(), [1, 1], 'of many at once one asks')
  clock.step(599_999)
  await signIn()
  t.strictSame(counts(), [1, 1])
  clock.step(1)
  const usual = { ...server.routes }
  let keysAsked = Promise.resolve()
  const down = (route: string): Promise<void> =>
    new Promise((resolve) => {
      server.routes[route] = () => {
        resolve()
        return { status: 500, json: {} }
      }
    })
  keysAsked = down('GET /keys')
  t.equal(await signIn(), 'person-1', 'behind the answer, which goes by what was known')
  await keysAsked
  t.equal(await signIn(), 'person-1', 'and a failure changes nothing')
  clock.step(86_400_000)
  const metadataAsked = down('GET /.well-known/openid-configuration')
  t.equal(await signIn(), 'person-1')
  await metadataAsked
  t.equal(await signIn(), 'person-1')
  Object.assign(server.routes, usual)
})

t.test('calls only https: URLs, and http: ones on this machine', async (t) => {
  const server = await provider(t)
  for (const endpoint of [
    'http://provider.example/token',
    'ftp://127.0.0.1/token',
    'https://user:pass@provider.example/token',
    '/token',
    7
  ]) {
    for (const name of ['token_endpoint', 'jwks_uri', 'authorization_endpoint']) {
      server.is.metadata = { [name]: endpoint }
      t.match(
        await refusalOf(upstreamOf(connectionTo(server.issuer)).authorizationUrl(flow(), {})),
        { reason: 'outage', message: new RegExp(name) },
        `${name} ${endpoint}`
      )
    }
  }
  const option = oauth2({
    id: 'up',
    issuer: 'https://x.example',
    clientId: 'client',
    clientSecret: 's',
    scopes: [],
    authorizationEndpoint: `${server.origin}/authorize`,
    tokenEndpoint: `${server.origin}/token`,
    identify: async (get) => ({ subject: String(await get('http://169.254.169.254/latest/meta-data')) })
  })
  t.match(
    await refusalOf(
      signInAt(upstreamOf(option), (url) => {
        const answer = server.answerTo(url)
        answer.delete('iss')
        return answer
      })
    ),
    { reason: 'userinfo', message: /https/ }
  )
})

t.test('refuses endpoints that are nearer in the network than the provider', async (t) => {
  const near = await provider(t)
  const hosts = ['sso.example', 'api.sso.example']
  const server = await openidServer(
    {},
    {
      hosts,
      issuer: () => 'https://sso.example',
      authorize: 'sso.example/authorize',
      token: 'sso.example/token',
      keys: 'sso.example/keys',
      userinfo: 'api.sso.example/userinfo'
    }
  )
  t.teardown(async () => {
    await server.close()
  })
  const subject = (): Upstream => upstreamOf(connectionTo('https://sso.example'))
  t.equal((await signInAt(subject(), server.answerTo)).assertion.subject, 'person-1', 'of the same distance')
  const places = [
    `${near.origin}/admin`,
    `${near.origin.replace('127.0.0.1', 'localhost')}/admin`,
    'https://localhost/admin',
    'https://127.0.0.1/admin',
    'https://[::1]/admin',
    'https://[::ffff:10.0.0.1]/admin',
    'https://10.0.0.1/admin',
    'https://169.254.169.254/latest/meta-data',
    'https://[fd00:ec2::254]/',
    'https://2130706433/admin'
  ]
  for (const name of ['authorization_endpoint', 'token_endpoint', 'jwks_uri', 'userinfo_endpoint']) {
    for (const place of places) {
      server.is.metadata = { [name]: place }
      t.match(
        await refusalOf(signInAt(subject(), server.answerTo)),
        { reason: 'outage', message: new RegExp(name) },
        `${name} ${place}`
      )
    }
  }
  t.strictSame(near.asked, [])
})

t.test('refuses a host name that resolves to an address nearer than the provider', async (t) => {
  const { lookup } = dns
  t.teardown(() => {
    dns.lookup = lookup
  })
  const call = outbound(steppedClock())
  const near = await provider(t)
  const { port } = new URL(near.origin)
  for (const [address, bound, code] of [
    ['127.0.0.1', PUBLIC, 'TOO_NEAR'],
    ['127.0.0.1', PRIVATE_NETWORK, 'TOO_NEAR'],
    ['::1', PUBLIC, 'TOO_NEAR'],
    ['10.1.2.3', PUBLIC, 'TOO_NEAR'],
    ['::ffff:192.168.0.1', PUBLIC, 'TOO_NEAR'],
    ['64:ff9b::7f00:1', PUBLIC, 'TOO_NEAR'],
    ['fe80::1', PRIVATE_NETWORK, 'TOO_NEAR'],
    // Allowed. The call fails later, because the server does not speak TLS.
    ['127.0.0.1', THIS_MACHINE, /^(?!TOO_NEAR)/]
  ] as const) {
    dns.lookup = ((_name: string, _options: object, tell: (error: null, found: unknown[]) => void) => {
      tell(null, [{ address, family: address.includes(':') ? 6 : 4 }])
    }) as typeof dns.lookup
    await t.rejects(
      call({
        url: `https://provider.example:${port}/`,
        method: 'GET',
        noNearerThan: bound,
        reads: 'whole',
        maxBytes: 10,
        timeoutMs: 1000
      }),
      { code },
      `${address} for ${bound}`
    )
  }
  t.strictSame(near.asked, [])
})

t.test('refuses a response that is nested too deeply', async (t) => {
  const server = await provider(t)
  const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`
  const usual = { ...server.routes }
  for (const [route, reason] of [
    ['GET /.well-known/openid-configuration', /outage/],
    ['POST /token', /id_token|exchange|mismatch/],
    ['GET /keys', /outage|id_token/],
    ['GET /userinfo', /userinfo/]
  ] as const) {
    Object.assign(server.routes, usual, {
      [route]: () => ({ body: `{"sub":${deep},"access_token":"x","keys":${deep}}` })
    })
    t.match((await refusalOf(signInAt(upstreamOf(connectionTo(server.issuer)), server.answerTo))).reason, reason, route)
  }
})

// covers ADV-supabase-CVE-2026-31813
t.test('refuses metadata of another issuer', async (t) => {
  const server = await provider(t)
  for (const issuer of ['https://other.example', `${server.issuer}/`, server.issuer.toUpperCase(), undefined, 7]) {
    server.is.metadata = { issuer }
    t.match(
      await refusalOf(upstreamOf(connectionTo(server.issuer)).authorizationUrl(flow(), {})),
      {
        reason: 'outage',
        message:
          `The provider's metadata are those of ${typeof issuer === 'string' ? `"${issuer}"` : 'no issuer'}, and the ` +
          `connection names "${server.issuer}": set issuer of the connection to the former, byte for byte.`
      },
      String(issuer)
    )
  }
})

t.test('treats an error or an invalid result of the identify option as a fault of the provider', async (t) => {
  const server = await provider(t)
  for (const identify of [
    () => {
      throw new Error('CANARY')
    },
    async () => await Promise.reject(new TypeError('CANARY')),
    () => ({ subject: '' }),
    () => ({ subject: 7 as unknown as string }),
    () => ({ subject: 'x'.repeat(256) }),
    ...['', 'x'.repeat(2049), 'a\0b', '\ud800', null, 7, {}].map((issuer) => () => ({
      subject: 'x',
      issuer: issuer as string
    })),
    ...[Number.NaN, Number.POSITIVE_INFINITY, -1, '7', null].map((time) => () => ({
      subject: 'x',
      authenticatedAt: time as number
    })),
    ...[7, {}].map((email) => () => ({ subject: 'x', email: email as string })),
    ...[7, 'x', null, []].map((profile) => () => ({
      subject: 'x',
      profile: profile as unknown as object as Record<string, unknown>
    })),
    ...[null, undefined, 7, 'x', []].map((answer) => () => answer as unknown as { subject: string }),
    async (get: (url: string) => Promise<unknown>) => ({ subject: String(await get(`${server.origin}/nowhere`)) })
  ]) {
    const option = oauth2({
      id: 'up',
      issuer: server.issuer,
      clientId: 'client',
      clientSecret: 's',
      scopes: [],
      authorizationEndpoint: `${server.origin}/authorize`,
      tokenEndpoint: `${server.origin}/token`,
      identify
    })
    t.match(await refusalOf(signInAt(upstreamOf(option), server.answerTo)), { reason: 'userinfo' }, identify.toString())
  }
})

t.test('reports an error of identify with its stack and without the tokens', async (t) => {
  const server = await provider(t)
  const failed: Error[] = []
  const option = oauth2({
    id: 'up',
    issuer: server.issuer,
    clientId: 'client',
    clientSecret: 's',
    scopes: [],
    authorizationEndpoint: `${server.origin}/authorize`,
    tokenEndpoint: `${server.origin}/token`,
    identify: (_get, { accessToken }) => {
      throw new TypeError(`can't read x of ${accessToken}`)
    }
  })
  const subject = upstreamOf(option, undefined, { hostFailed: (error) => failed.push(error) })
  t.match(await refusalOf(signInAt(subject, server.answerTo)), { reason: 'userinfo' })
  t.match(failed, [{ message: "can't read x of [removed]", stack: /outbound\.test/ }])
  t.notMatch(failed[0]?.stack, /upstream-access-token/)
})

t.test('sends fastify-authority as user agent in every request, and no cookie', async (t) => {
  const server = await provider(t)
  const usual = server.routes['GET /keys']
  server.routes['GET /keys'] = async (asked) => ({
    ...(await usual?.(asked)),
    headers: { 'set-cookie': 'a=b; Path=/' }
  })
  await signInAt(upstreamOf(connectionTo(server.issuer)), server.answerTo)
  t.strictSame(
    [...new Set(server.asked.map(({ headers }) => `${headers['user-agent']} ${headers.cookie}`))],
    ['fastify-authority undefined']
  )
})
