import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import t from '../support/tap.ts'
import { createBackChannelLogout } from '../../lib/authorize/logout.ts'
import { memoryState } from '../../lib/index.ts'
import { steppedClock } from '../../lib/testing/index.ts'
import { signUp } from '../support/app.ts'
import { authorizeAs, authorizePath, CALLBACK, CLIENTS, openidApp } from '../support/openid.ts'
import { testBrowser } from '../support/browser.ts'

const SESSIONS = 1000

const ended = (count: number) =>
  Array.from({ length: count }, (_, index) => ({
    sid: `sid-${index}`,
    userId: `user-${index}`,
    authenticatedAt: 0,
    methods: [],
    createdAt: 0,
    lastUsedAt: 0,
    expiresAt: 1,
    idleExpiresAt: 1,
    userAgent: null,
    clientIds: ['app']
  }))

async function turns(until: () => boolean): Promise<void> {
  for (let turn = 0; turn < 100_000 && !until(); turn++) await setImmediate()
}

// covers OIDF-oidcc-backchannel-rp-initiated-logout
t.test('notifies a client of 1,000 ended sessions 4 at a time, each session once', async (t) => {
  let inFlight = 0
  let most = 0
  const told: string[] = []
  const errors: unknown[] = []
  const backChannel = createBackChannelLogout({
    clients: { findById: async () => ({ clientId: 'app', backchannelLogoutUri: 'https://app.example/bc' }) },
    idTokens: { ready: async () => {}, mintLogoutToken: async ({ sid }) => sid },
    formPost: async (_url, { logout_token: token = '' }) => {
      most = Math.max(most, ++inFlight)
      await setImmediate()
      inFlight--
      told.push(token)
      return { status: 200 }
    },
    clock: steppedClock(),
    onError: (error) => {
      errors.push(error)
    }
  })
  backChannel.sessionsEnded(ended(SESSIONS))
  t.strictSame([inFlight, told.length], [0, 0], 'not in the way of the reply')
  await turns(() => told.length === SESSIONS)
  t.equal(most, 4)
  t.equal(new Set(told).size, SESSIONS)
  t.strictSame(errors, [])
  await backChannel.close()
})

t.test('limits queued notices to a hanging client, and reports unsent ones within 5 seconds at close', async (t) => {
  const clock = steppedClock()
  const errors: Error[] = []
  let begun = 0
  const backChannel = createBackChannelLogout({
    clients: { findById: async () => ({ clientId: 'app', backchannelLogoutUri: 'https://app.example/bc' }) },
    idTokens: { ready: async () => {}, mintLogoutToken: async () => 'a.logout.token' },
    formPost: async () => {
      begun++
      return await new Promise<never>(() => {})
    },
    clock,
    onError: (error) => {
      errors.push(error as Error)
    }
  })
  backChannel.sessionsEnded(ended(3 * SESSIONS))
  await turns(() => begun === 4)
  t.strictSame([begun, errors.length], [4, 1], 'what does not fit is said once')
  let closed = false
  const closing = backChannel.close().then(() => {
    closed = true
  })
  clock.step(4999)
  await setImmediate()
  t.equal(closed, false)
  clock.step(1)
  await closing
  t.equal(errors.length, 1 + SESSIONS - 4, 'those that were not tried')
  t.notOk(errors.some(({ message }) => message.includes('a.logout.token')))
})

// covers ASVS-7.4.5
t.test('sends back-channel notices of 200 sessions of ten users with at most 4 in flight', async (t) => {
  let inFlight = 0
  let most = 0
  const sids = new Set<string>()
  const server = createServer((request, reply) => {
    most = Math.max(most, ++inFlight)
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => {
      chunks.push(chunk)
    })
    request.on('end', () => {
      const token = new URLSearchParams(Buffer.concat(chunks).toString()).get('logout_token') ?? ''
      sids.add((JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as { sid: string }).sid)
      inFlight--
      reply.end()
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
  const heard = {
    clientId: 'heard',
    idTokenSignedResponseAlg: 'ES256' as const,
    redirectUris: [CALLBACK],
    backchannelLogoutUri: `http://127.0.0.1:${(server.address() as AddressInfo).port}/bc`
  }
  const subject = await openidApp({ clients: [...CLIENTS, heard], state: memoryState({ maxSessionsPerUser: 20 }) })
  const users = await Promise.all(
    Array.from({ length: 10 }, async (_, index) => await signUp(subject.app, `user-${index}`))
  )
  for (const { username } of users) {
    for (let session = 0; session < 20; session++)
      await authorizeAs(testBrowser(subject.app), authorizePath({ client_id: 'heard' }), { username })
  }
  await Promise.all(
    users.map(async ({ sub }) => {
      await subject.app.authority.revokeUser(sub)
    })
  )
  for (const { sub } of users) t.strictSame(await subject.app.authority.sessions(sub), [])
  // Closing the app waits for them.
  await subject.close()
  t.equal(sids.size, 200, 'each session')
  t.ok(most <= 4, `${most} at once`)
})
