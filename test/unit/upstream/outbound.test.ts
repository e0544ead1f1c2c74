/** A provider that is slow, broken, hostile or not there: what it costs, and what is said of it. */
import { createServer } from 'node:https'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import t, { type Test } from '../../support/tap.ts'
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
t.test('a broken answer of any endpoint ends the sign-in, with what it was and none of its content', async (t) => {
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
t.test('an answer that fits in all but its size is refused above 256 kB', async (t) => {
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
t.test('who does not answer is waited for five seconds, and all of a callback six', async (t) => {
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
t.test('a callback takes six seconds in all, however many answers it waits for', async (t) => {
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
t.test('a host that is not there, and a certificate that nobody signed', async (t) => {
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

t.test('a provider that comes back is found again without a restart', async (t) => {
  const server = await provider(t)
  const subject = upstreamOf(connectionTo(server.issuer))
  const usual = server.routes['GET /.well-known/openid-configuration']
  server.routes['GET /.well-known/openid-configuration'] = () => ({ status: 503, json: {} })
  t.match(await refusalOf(subject.authorizationUrl(flow(), {})), { reason: 'outage' })
  if (usual !== undefined) server.routes['GET /.well-known/openid-configuration'] = usual
  t.equal((await signInAt(subject, server.answerTo)).assertion.subject, 'person-1')
})

t.test('metadata are kept for a day and keys for ten minutes, and go on while the provider has none', async (t) => {
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

t.test('only https: is asked, and http: on this machine', async (t) => {
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

// covers ADV-supabase-CVE-2026-31813
t.test('metadata of another issuer are refused', async (t) => {
  const server = await provider(t)
  for (const issuer of ['https://other.example', `${server.issuer}/`, server.issuer.toUpperCase(), undefined, 7]) {
    server.is.metadata = { issuer }
    t.match(
      await refusalOf(upstreamOf(connectionTo(server.issuer)).authorizationUrl(flow(), {})),
      { reason: 'outage' },
      String(issuer)
    )
  }
})

t.test("what the host's identify throws ends the sign-in as one of the provider's faults", async (t) => {
  const server = await provider(t)
  for (const identify of [
    () => {
      throw new Error('CANARY')
    },
    async () => await Promise.reject(new TypeError('CANARY')),
    () => ({ subject: '' }),
    () => ({ subject: 7 as unknown as string }),
    () => ({ subject: 'x'.repeat(256) }),
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
    t.match(await refusalOf(signInAt(upstreamOf(option), server.answerTo)), { reason: 'userinfo' })
  }
})

t.test('every request names this service and bears no cookie', async (t) => {
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
