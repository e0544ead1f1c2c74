/**
 * The bounded costs that strangers can cause: events, log lines, emails, messages to one mailbox, and others'
 * allowances.
 */
import t from '../support/tap.ts'
import { memoryFactorStore } from '../../lib/index.ts'
import { bearer, ISSUER, PASSWORD, signIn, signUp, testApp, plainUrl } from '../support/app.ts'
import { fakeConnection, fakeUpstream, SECRET } from '../support/fake-upstream.ts'
import { logLines } from '../support/log-lines.ts'
import { basic, CLIENTS, KEYS } from '../support/openid.ts'

const TIMES = 80
/** More than any rule allows for one address, and fewer than were sent. */
const MOST_EVENTS = 40
const MOST_MAILS = 5
const MOST_LINES = 10
/** Processor time per request on average. Parsers, validation and a page take one or two. */
const MOST_MS = 20

const COUNTED = ['rate_limited', 'client_authentication_failed']

const ODD = {
  username: 'ann@example.com',
  email: 'ann@example.com',
  password: 'not the password',
  token: 'x'.repeat(43),
  code: '123456',
  state: 'x'.repeat(43),
  session: 'x',
  client_id: 'spa',
  refresh_token: 'x'.repeat(43),
  subject_token: 'e30.e30.x'
}
const GRANTS = [
  'password',
  'refresh_token',
  'authorization_code',
  'client_credentials',
  'urn:ietf:params:oauth:grant-type:token-exchange'
]

t.test('bounds events, log lines, emails and processor time of 80 unauthenticated requests per route', async (t) => {
  const up = fakeUpstream()
  const down = fakeUpstream()
  down.down = true
  const { lines, stream } = logLines()
  const routes: Array<{ method: string; url: string }> = []
  const subject = await testApp(
    {
      keys: KEYS,
      secret: SECRET,
      clients: CLIENTS,
      factors: memoryFactorStore(),
      emailSignIn: {},
      rateLimit: { refresh: { max: 30 } },
      connections: [fakeConnection(up), fakeConnection(down, { id: 'down' })]
    },
    { logger: { level: 'debug', stream }, disableRequestLogging: true },
    (app) => {
      app.addHook('onRoute', ({ method, url, config }) => {
        if (config === undefined || !('fastifyAuthority' in config)) return
        for (const one of [method].flat())
          for (const id of url.includes('/connect/:id') ? ['acme', 'down'] : ['nobodys'])
            routes.push({ method: one, url: plainUrl(url).replace(':id', id) })
      })
    }
  )
  t.teardown(subject.close)
  const { app, events, messages } = subject
  await signUp(app, 'ann@example.com')
  await messages.next('verify_email')
  t.ok(routes.length > 60, 'the routes were found')
  const loud = (): number =>
    lines.filter(({ level, msg }) => Number(level) > 20 && String(msg).startsWith('fastify-authority')).length

  for (const [index, { method, url }] of routes.entries()) {
    const before = { events: events.length, lines: loud(), mails: messages.messages.length }
    const used = process.cpuUsage()
    for (let i = 0; i < TIMES; i++) {
      const form = new URLSearchParams({ ...ODD, grant_type: GRANTS[i % GRANTS.length] ?? '' }).toString()
      await app.inject({
        method: method as 'GET',
        url: method === 'GET' || method === 'HEAD' ? `${url}?${form}` : url,
        remoteAddress: `192.0.2.${index}`,
        headers: {
          'sec-fetch-site': 'same-origin',
          origin: ISSUER,
          ...(i % 3 === 0 ? basic('web', 'not the secret') : {}),
          ...(i % 3 === 1 ? bearer('x.y.z') : {}),
          ...(method === 'GET' || method === 'HEAD'
            ? {}
            : { 'content-type': i % 2 === 0 ? 'application/x-www-form-urlencoded' : 'application/json' })
        },
        ...(method === 'GET' || method === 'HEAD' ? {} : { payload: i % 2 === 0 ? form : JSON.stringify(ODD) })
      })
    }
    const { user, system } = process.cpuUsage(used)
    const name = `${method} ${url}`
    // Refusals by a limit and wrong client secrets are counted by an event each, for metrics.
    const told = events.slice(before.events).flatMap((event) => (COUNTED.includes(event.name) ? [] : event.name))
    t.ok(told.length <= MOST_EVENTS, `${name}: ${told.length} events ${[...new Set(told)].join(' ')}`)
    t.ok(loud() - before.lines <= MOST_LINES, `${name}: ${loud() - before.lines} lines`)
    const mails = messages.messages.length - before.mails
    t.ok(mails <= MOST_MAILS, `${name}: ${mails} mails`)
    const ms = (user + system) / 1000 / TIMES
    t.ok(ms <= MOST_MS, `${name}: ${ms} ms of the processor`)
  }
  t.strictSame(
    events.filter(({ name }) => name === 'connection_failed'),
    [],
    'an answer to no sign-in of the browser is no event'
  )
})

t.test('limits confirmation messages to an address that many accounts enter as new email', async (t) => {
  const { app, clock, messages, close } = await testApp({ rateLimit: { register: false, login: false } })
  t.teardown(close)
  for (let i = 0; i < 12; i++) {
    await signUp(app, `sender-${i}@example.com`)
    const { access_token: token } = await signIn(app, `sender-${i}@example.com`)
    const reply = await app.inject({
      method: 'POST',
      url: '/auth/email',
      headers: bearer(token),
      payload: { email: 'victim@example.com', password: PASSWORD }
    })
    t.equal(reply.statusCode, 202, 'the answer tells nothing of it')
  }
  const sent = (): number => messages.messages.filter(({ kind }) => kind === 'email_change').length
  await messages.next('email_change')
  // The notice to the sender is posted together with the link, so that after the last notice all links are posted.
  while (messages.messages.filter(({ kind }) => kind === 'email_change_requested').length < 12)
    await messages.next('email_change_requested')
  await new Promise((resolve) => {
    setImmediate(resolve)
  })
  t.equal(sent(), 3)
  clock.step(3_600_000)
  const { access_token: token } = await signIn(app, 'sender-0@example.com')
  await app.inject({
    method: 'POST',
    url: '/auth/email',
    headers: bearer(token),
    payload: { email: 'victim@example.com', password: PASSWORD }
  })
  await messages.next('email_change')
})

t.test('limits email changes by user id, separately from strangers at the same address', async (t) => {
  const { app, close } = await testApp({ rateLimit: {} })
  t.teardown(close)
  await signUp(app, 'ann@example.com')
  const { access_token: token } = await signIn(app, 'ann@example.com')
  for (let i = 0; i < 4; i++) {
    const { statusCode } = await app.inject({
      method: 'POST',
      url: '/auth/password-reset',
      payload: { username: `stranger-${i}@example.com` }
    })
    t.equal(statusCode, i < 3 ? 202 : 429)
  }
  for (let i = 0; i < 4; i++) {
    const { statusCode } = await app.inject({
      method: 'POST',
      url: '/auth/email',
      // Another address gives no further attempts.
      remoteAddress: `192.0.2.${i}`,
      headers: bearer(token),
      payload: { email: `new-${i}@example.com`, password: PASSWORD }
    })
    t.equal(statusCode, i < 3 ? 202 : 429)
  }
})
