/** Checks that a failed refresh uses up no refresh token and is not reported as a replay. */
import { setImmediate } from 'node:timers/promises'
import t, { type Test } from '../support/tap.ts'
import { OutageError } from '../../lib/ports/outage.ts'
import { type AuthorityOptions, memoryState, memoryUserStore, type User, type UserStore } from '../../lib/index.ts'
import type { State } from '../../lib/ports/state.ts'
import { delayed } from '../../lib/testing/index.ts'
import { bearer, type LightMyRequestResponse, signIn, signUp, testApp, type TestApp } from '../support/app.ts'
import { basic, CLIENTS, KEYS, SECRET } from '../support/openid.ts'

const BEYOND_GRACE_MS = 11_000
const PARALLEL = 50

type Faults = { users: boolean; undo: boolean; claims: boolean }

interface Stage extends TestApp {
  faults: Faults
  rotate(token: string, params?: Record<string, string>): Promise<LightMyRequestResponse>
  refresh(token: string): Promise<LightMyRequestResponse>
}

async function stage(t: Test, options: Partial<AuthorityOptions> = {}): Promise<Stage> {
  const faults: Faults = { users: false, undo: false, claims: false }
  const users: UserStore = memoryUserStore()
  const memory = memoryState()
  const state: State = {
    ...memory,
    tokens: delayed({
      ...memory.tokens,
      undoRotation: async (undo) => {
        if (faults.undo) throw new OutageError('the state is down')
        await memory.tokens.undoRotation(undo)
      }
    })
  }
  const subject = await testApp({
    keys: KEYS,
    clients: CLIENTS,
    state,
    users: delayed({
      ...users,
      findById: async (id: string): Promise<User | null> => {
        if (faults.users) throw new Error('the users are down')
        return await users.findById(id)
      }
    }),
    claims: () => {
      if (faults.claims) throw new Error('no claims today')
      return {}
    },
    ...options
  })
  t.teardown(subject.close)
  await signUp(subject.app)
  return {
    ...subject,
    faults,
    rotate: async (token, params = {}) =>
      await subject.app.inject({
        method: 'POST',
        url: '/auth/token',
        payload: { grant_type: 'refresh_token', refresh_token: token, ...params }
      }),
    refresh: async (token) => await subject.app.inject({ method: 'POST', url: '/auth/refresh', headers: bearer(token) })
  }
}

const endpoints = ['grant', 'POST /auth/refresh'] as const
const through = (
  subject: Stage,
  endpoint: (typeof endpoints)[number],
  token: string
): Promise<LightMyRequestResponse> => (endpoint === 'grant' ? subject.rotate(token) : subject.refresh(token))

for (const endpoint of endpoints) {
  for (const fault of ['users', 'claims'] as const) {
    const failing = fault === 'users' ? 'the user store' : 'the claims hook'
    t.test(
      `${endpoint}: keeps the refresh token valid beyond its grace time when ${failing} fails after the rotation`,
      async (t) => {
        const subject = await stage(t, { refreshToken: { rotate: 'always' } })
        const { refresh_token: token } = await signIn(subject.app)
        for (let round = 0; round < 3; round++) {
          subject.faults[fault] = true
          const failed = await through(subject, endpoint, token)
          t.equal(failed.statusCode, 503)
          t.ok(failed.headers['retry-after'])
          subject.clock.step(BEYOND_GRACE_MS)
        }
        subject.faults[fault] = false
        const answered = await through(subject, endpoint, token)
        t.equal(answered.statusCode, 200)
        t.equal(
          (await through(subject, endpoint, answered.json<{ refresh_token: string }>().refresh_token)).statusCode,
          200
        )
        t.notOk(subject.events.some(({ name }) => name === 'refresh_token_reused'))
      }
    )

    t.test(
      `${endpoint}: keeps the refresh token valid after ${PARALLEL} parallel failures of ${failing}`,
      async (t) => {
        const subject = await stage(t, { refreshToken: { rotate: 'always' } })
        const { refresh_token: token } = await signIn(subject.app)
        subject.faults[fault] = true
        const failed = await Promise.all(
          Array.from({ length: PARALLEL }, async () => (await through(subject, endpoint, token)).statusCode)
        )
        t.strictSame(new Set(failed), new Set([503]))
        subject.faults[fault] = false
        subject.clock.step(BEYOND_GRACE_MS)
        t.equal((await through(subject, endpoint, token)).statusCode, 200)
        t.notOk(subject.events.some(({ name }) => name === 'refresh_token_reused'))
      }
    )

    t.test(
      `${endpoint}: keeps one successor when ${failing} recovers during ${PARALLEL} parallel refreshes`,
      async (t) => {
        const subject = await stage(t, { refreshToken: { rotate: 'always' } })
        const { refresh_token: token } = await signIn(subject.app)
        subject.faults[fault] = true
        const replies = await Promise.all(
          Array.from({ length: PARALLEL }, async (_, index) => {
            for (let turn = 0; turn < index; turn++) await setImmediate()
            if (index === PARALLEL / 2) subject.faults[fault] = false
            return await through(subject, endpoint, token)
          })
        )
        t.ok(replies.every(({ statusCode }) => statusCode === 200 || statusCode === 503))
        const given = new Set(
          replies
            .filter(({ statusCode }) => statusCode === 200)
            .map((reply) => reply.json<{ refresh_token: string }>().refresh_token)
        )
        t.equal(given.size, 1, 'all who were answered got the same')
        subject.clock.step(BEYOND_GRACE_MS)
        t.equal((await through(subject, endpoint, [...given][0] ?? '')).statusCode, 200)
      }
    )
  }
}

t.test('accepts the old refresh token within its grace time when undoing the rotation fails too', async (t) => {
  const subject = await stage(t)
  const { refresh_token: token } = await signIn(subject.app)
  subject.faults.claims = subject.faults.undo = true
  const failed = await subject.rotate(token)
  t.equal(failed.statusCode, 503, 'the first failure is the answer')
  subject.clock.step(8000)
  t.equal((await subject.rotate(token)).statusCode, 503)
  subject.faults.claims = subject.faults.undo = false
  subject.clock.step(8000)
  t.equal((await subject.rotate(token)).statusCode, 200, 'the outage of the state is made up for')
})

t.test('emits one logged_out event when a disabled user refreshes in parallel', async (t) => {
  const users = memoryUserStore()
  let disabled = false
  const subject = await stage(t, {
    users: {
      ...users,
      findById: async (id: string) => {
        const user = await users.findById(id)
        return user === null ? null : { ...user, disabled }
      }
    }
  })
  const { refresh_token: token } = await signIn(subject.app)
  disabled = true
  const replies = await Promise.all(
    Array.from({ length: PARALLEL }, async () => (await subject.rotate(token)).statusCode)
  )
  t.strictSame(new Set(replies), new Set([400]))
  disabled = false
  t.equal((await subject.rotate(token)).statusCode, 400)
  t.equal(subject.events.filter(({ name }) => name === 'logged_out').length, 1)
  t.notOk(subject.events.some(({ name }) => name === 'refresh_token_reused'))
})

t.test('keeps the refresh token valid beyond its grace time when a scope is refused', async (t) => {
  const subject = await stage(t)
  const { refresh_token: token } = await signIn(subject.app)
  for (let round = 0; round < 3; round++) {
    t.match((await subject.rotate(token, { scope: 'admin' })).json(), { error: 'invalid_scope' })
    subject.clock.step(BEYOND_GRACE_MS)
  }
  const rotated = await subject.rotate(token)
  t.equal(rotated.statusCode, 200)
  t.match(
    (await subject.rotate(token, { scope: 'admin' })).json(),
    { error: 'invalid_scope' },
    'one that was replaced a moment ago'
  )
  subject.clock.step(BEYOND_GRACE_MS)
  t.equal((await subject.rotate(rotated.json<{ refresh_token: string }>().refresh_token)).statusCode, 200)
})

t.test(`keeps the refresh token valid after ${PARALLEL} parallel requests for an ungranted scope`, async (t) => {
  const subject = await stage(t)
  const { refresh_token: token } = await signIn(subject.app)
  const refused = await Promise.all(
    Array.from({ length: PARALLEL }, async () => (await subject.rotate(token, { scope: 'admin' })).statusCode)
  )
  t.strictSame(new Set(refused), new Set([400]))
  subject.clock.step(BEYOND_GRACE_MS)
  t.equal((await subject.rotate(token)).statusCode, 200)
})

for (const attempts of [1, PARALLEL]) {
  t.test(
    `refuses ${attempts} uses of a third-party token at POST /auth/refresh, and keeps it valid for its client`,
    async (t) => {
      const subject = await stage(t, { refreshToken: { rotate: 'always' } })
      const { sub } = await signUp(subject.app, 'bob')
      const { refresh_token: token = '' } = await subject.app.authority.issueTokens(sub, { clientId: 'third' })
      const refused = await Promise.all(
        Array.from({ length: attempts }, async () => (await subject.refresh(token)).statusCode)
      )
      t.strictSame(new Set(refused), new Set([401]))
      subject.clock.step(BEYOND_GRACE_MS)
      const own = await subject.app.inject({
        method: 'POST',
        url: '/auth/token',
        headers: basic('third', SECRET),
        payload: { grant_type: 'refresh_token', refresh_token: token }
      })
      t.equal(own.statusCode, 200)
      t.notOk(subject.events.some(({ name }) => name === 'refresh_token_reused'))
    }
  )
}
