/** The option `connections`: the resolved connections, and errors of functions that the host passes in. */
import { Type } from '@sinclair/typebox'
import Fastify from 'fastify'
import { outbound } from '../../../lib/adapters/node/outbound.ts'
import { aesSealer } from '../../../lib/adapters/node/sealer.ts'
import t from '../../support/tap.ts'
import { connectionsOf } from '../../../lib/features/connections/connection.ts'
import { google, oidc } from '../../../lib/connections/index.ts'
import { type AuthorityOptions, memoryUserStore } from '../../../lib/index.ts'
import type { ConnectionOption, ConnectionOptions } from '../../../lib/ports/provider.ts'
import { type Connection, type Upstream, UPSTREAM } from '../../../lib/ports/upstream.ts'
import { settingsOf } from '../../../lib/composition/compose.ts'
import { connectionSettings } from '../../support/upstream/connection-settings.ts'
import { steppedClock } from '../../../lib/testing/index.ts'
import { testApp } from '../../support/app.ts'
import { freePort } from '../../support/free-port.ts'
import { logLines } from '../../support/log-lines.ts'
import { flow, refusalOf } from '../../support/upstream/sign-in.ts'

const client = { clientId: 'client', clientSecret: 'secret' }
const base = {
  issuer: 'https://auth.example',
  users: memoryUserStore(),
  secret: 'a secret of more than 32 bytes, for tests only'
}

async function made(
  options: Partial<ConnectionOptions>,
  settings: Partial<AuthorityOptions> = {}
): Promise<{ connection: Connection; lines: Array<Record<string, unknown>>; step(ms: number): void }> {
  const { lines, stream } = logLines()
  const clock = steppedClock()
  const connections = await connectionsOf(
    connectionSettings({ ...base, connections: [google({ ...options, ...client })], ...settings }),
    settingsOf({ ...base, ...settings }),
    {
      clock,
      outbound: outbound(clock),
      log: Fastify({ logger: { level: 'debug', stream } }).log,
      callbackUrl: (id) => `https://auth.example/auth/connect/${id}/callback`,
      sealer: aesSealer([base.secret])
    }
  )
  const connection = connections.get('google')
  if (connection === undefined) throw new Error('no connection')
  return {
    connection,
    lines,
    step: (ms) => {
      clock.step(ms)
    }
  }
}

t.test('fills in the defaults of a connection, and logs its callback URL', async (t) => {
  const { connection, lines } = await made({})
  t.match(connection, {
    id: 'google',
    name: 'Google',
    callbackUrl: 'https://auth.example/auth/connect/google/callback',
    linking: 'confirm',
    registration: true,
    sync: 'create',
    domains: [],
    enforce: false,
    formPost: false,
    provesFreshness: false,
    button: { brand: 'google', mark: { '#4285F4': /^M/ }, label: null, logoUrl: null },
    onSignIn: null
  })
  t.equal(await connection.enabled(), true)
  t.match(lines, [
    {
      code: 'FST_AUTHORITY_NOTICE',
      connection: 'google',
      msg: /the callback URL of the connection "google" is https:\/\/auth\.example\/auth\/connect\/google\/callback/
    }
  ])
})

// covers FED-26
t.test('takes only standard claims and declared fields from the profile of a provider', async (t) => {
  const claims = JSON.parse(
    '{"sub":"1","id":"x","username":"admin","email":"e@x.example","emailVerified":true,"email_verified":true,"disabled":false,"roles":["admin"],"version":7,"passwordHash":"x","__proto__":{"admin":true},"constructor":"x","name":"Ann","locale":"de","team":"red","age":41,"preferred_username":"admin"}'
  ) as Record<string, unknown>
  const plain = await made({})
  t.strictSame(plain.connection.profile(claims), { name: 'Ann', locale: 'de' })
  const registration = {
    fields: Type.Object({
      team: Type.String({ maxLength: 5 }),
      age: Type.Optional(Type.Integer({ maximum: 40 })),
      name: Type.String({ maxLength: 10 })
    })
  }
  t.strictSame(
    (await made({}, { registration })).connection.profile(claims),
    { name: 'Ann', locale: 'de' },
    'a provider fills no field of the host by itself'
  )
  const withFields = await made({ profile: (said) => ({ ...said }) }, { registration })
  t.strictSame(
    withFields.connection.profile(claims),
    { name: 'Ann', locale: 'de', team: 'red' },
    'what does not fit the schema of a field is left out'
  )
  t.strictSame(withFields.connection.profile({ ...claims, name: 'A name of many characters', team: ['red'] }), {
    locale: 'de'
  })
  const mapped = await made(
    {
      profile: ({ team }) => ({
        team,
        id: 'x',
        sub: 'x',
        roles: ['admin'],
        disabled: false,
        email: 'e',
        passwordHash: 'h',
        ['__proto__']: { a: 1 }
      })
    },
    { registration }
  )
  t.strictSame(mapped.connection.profile(claims), { team: 'red' })
})

t.test('logs a failing function of the host, and treats its answer as empty or false', async (t) => {
  for (const profile of [
    () => {
      throw new Error('broken')
    },
    () => 7,
    () => [],
    async () => ({ name: 'x' }),
    // A rejection that nobody handles would end the process.
    async () => await Promise.reject(new Error('broken later'))
  ]) {
    const { connection, lines } = await made({ profile: profile as never })
    t.strictSame(connection.profile({ name: 'Ann' }), {})
    t.match(lines.at(-1), {
      code: 'FST_AUTHORITY_HOOK_FAILED',
      msg: /the function profile of the connection "google"/
    })
  }
  for (const assurance of [
    () => {
      throw new Error('broken')
    },
    () => ({ amr: 'pwd' }),
    () => ({ amr: [7] }),
    () => ({ acr: '' }),
    () => 'mfa',
    async () => await Promise.reject(new Error('broken later'))
  ]) {
    const { connection, lines } = await made({ assurance: assurance as never })
    t.strictSame(connection.assurance({}), {})
    t.match(lines.at(-1), { code: 'FST_AUTHORITY_HOOK_FAILED' })
  }
  t.strictSame(
    (await made({ assurance: ({ amr }) => ({ amr: amr as string[], acr: 'mfa' }) })).connection.assurance({
      amr: ['pwd', 'otp']
    }),
    { amr: ['pwd', 'otp'], acr: 'mfa' }
  )
  t.strictSame((await made({ assurance: () => undefined as never })).connection.assurance({}), {})
  for (const [enabled, answer] of [
    [true, true],
    [false, false],
    [() => true, true],
    [async () => false, false],
    [() => 1, false],
    [() => undefined, false],
    [
      () => {
        throw new Error('broken')
      },
      false
    ],
    [async () => await Promise.reject(new Error('broken')), false]
  ] as Array<[never, boolean]>)
    t.equal(await (await made({ enabled })).connection.enabled(), answer, String(enabled))
  const slow = await made({ enabled: async () => await new Promise(() => {}) })
  const pending = slow.connection.enabled()
  slow.step(5000)
  t.equal(await pending, false, 'nor is it waited for')
})

t.test('calls the function enabled once a second, and delays a page by at most half a second', async (t) => {
  let asked = 0
  let answer: () => Promise<boolean> = async () => true
  const { connection, lines, step } = await made({
    enabled: async () => {
      asked++
      return await answer()
    }
  })
  await Promise.all(Array.from({ length: 100 }, async () => await connection.shown()))
  step(999)
  t.equal(await connection.enabled(), true)
  t.equal(asked, 1)
  answer = async () => await Promise.reject(new Error('broken'))
  step(1)
  for (let i = 0; i < 100; i++) t.equal(await connection.enabled(), false)
  t.equal(asked, 2, 'a failure is kept too')
  t.equal(lines.filter(({ code }) => code === 'FST_AUTHORITY_HOOK_FAILED').length, 1, 'with one line')
  answer = async () => true
  step(1000)
  t.equal(await connection.shown(), true)
  answer = async () => await new Promise(() => {})
  step(1000)
  const page = connection.shown()
  const flow = connection.enabled()
  step(500)
  t.equal(await page, true, 'a page shows what was said last')
  const next = connection.shown()
  step(500)
  t.equal(await next, true)
  t.equal(asked, 4, 'which is asked once')
  step(4000)
  t.equal(await flow, false, 'a sign-in waits')
})

// covers FED-17
t.test('starts without a request to a provider that is down', async (t) => {
  const issuer = `http://127.0.0.1:${await freePort()}`
  const { app, close } = await testApp({ secret: base.secret, connections: [oidc({ id: 'up', issuer, ...client })] })
  t.equal((await app.inject('/.well-known/oauth-authorization-server')).statusCode, 200)
  await close()
  const connections = await connectionsOf(
    connectionSettings({ ...base, connections: [oidc({ id: 'up', issuer, ...client })] }),
    settingsOf(base),
    {
      clock: steppedClock(),
      outbound: async () => await Promise.reject(new Error('no call')),
      log: Fastify().log,
      callbackUrl: () => '',
      sealer: aesSealer([base.secret])
    }
  )
  t.match(await refusalOf(connections.get('up')?.upstream.authorizationUrl(flow(), {}) ?? Promise.resolve()), {
    reason: 'outage'
  })
})

t.test('builds the callback URL from the origin of the issuer and the route prefix', async (t) => {
  const { lines, stream } = logLines()
  const { close } = await testApp(
    { secret: base.secret, issuer: 'https://auth.example/tenant', prefix: '/sso', connections: [google(client)] },
    { logger: { level: 'info', stream } }
  )
  t.ok(lines.some(({ msg }) => String(msg).includes(' https://auth.example/sso/connect/google/callback:')))
  await close()
})

t.test('accepts a test double instead of the provider', async (t) => {
  const option: ConnectionOption = google(client)
  const fake: Upstream = {
    authorizationUrl: async () => 'https://fake.example/',
    revoke: async () => {},
    verifyIdToken: async () => {
      throw new Error('not asked')
    },
    authenticate: async () => {
      throw new Error('not asked')
    }
  }
  const connections = await connectionsOf(
    connectionSettings({
      ...base,
      connections: [{ ...option, provider: Object.assign({}, option.provider, { [UPSTREAM]: fake }) }]
    }),
    settingsOf(base),
    {
      clock: steppedClock(),
      outbound: async () => await Promise.reject(new Error('no call')),
      log: Fastify().log,
      callbackUrl: () => '',
      sealer: aesSealer([base.secret])
    }
  )
  t.equal(await connections.get('google')?.upstream.authorizationUrl(flow(), {}), 'https://fake.example/')
})
