/** The bindings of a code, and the sign-ins that end when it gives an account to the owner of the mailbox. */
import t from '../../support/tap.ts'
import { memoryFactorStore, memoryState, memoryUserStore, type NewUser } from '../../../lib/index.ts'
import { PASSWORD } from '../../support/app.ts'
import { testBrowser } from '../../support/browser.ts'
import { fakeConnection, fakeUpstream, SECRET } from '../../support/fake-upstream.ts'
import { ANN, ask, emailApp, enter, hasSession } from './support.ts'

const NEXT = 'another horse battery'
const MANAGED = 'ann@acme.example'
/** A connection that manages `acme.example`. */
const CONNECTED = {
  secret: SECRET,
  connections: [fakeConnection(fakeUpstream(), { domains: ['acme.example'], enforce: true })]
}

// covers EC-02
t.test('rejects the code of one new browser in the browser of a stranger who asked before', async (t) => {
  const subject = await emailApp(t)
  const stranger = testBrowser(subject.app)
  await ask(stranger)
  await subject.mail()
  await ask(subject.browser)
  const { code } = await subject.mail()
  const refused = await enter(stranger, code)
  t.equal(refused.statusCode, 400)
  t.match(refused.body, /This code is wrong/)
  t.notOk(hasSession(stranger))
  t.equal((await enter(subject.browser, code)).statusCode, 303, 'and works where she asked')
  t.ok(hasSession(subject.browser))
})

t.test('leads the holder of an enrolment link to the set-up after the code that proves the address', async (t) => {
  const users = memoryUserStore()
  const { app, mail } = await emailApp(t, { users, factors: memoryFactorStore(), secret: SECRET })
  const { id } = await users.create({ username: 'bob@mail.example', passwordHash: null, emailVerified: false })
  const { url } = await app.authority.startEnrolment(id)
  const browser = testBrowser(app)
  await browser.submit('/auth/second-factor/link', { token: new URL(url).searchParams.get('token') ?? '' })
  await ask(browser, 'bob@mail.example')
  const reply = await enter(browser, (await mail()).code)
  t.match(reply.headers.location, /^\/auth\/second-factor\/set-up/)
  t.notOk(hasSession(browser))
})

t.test('rejects the code of an account that a connection manages, and sends no further code', async (t) => {
  const users = memoryUserStore()
  let id = ''
  const subject = await emailApp(t, {
    ...CONNECTED,
    users: {
      ...users,
      // Finds Ann by her address too, so that a change of the username alone leaves the code valid.
      findByUsername: async (name) =>
        await (name === ANN && id !== '' ? users.findById(id) : users.findByUsername(name))
    }
  })
  id = subject.sub
  await ask(subject.browser)
  const { code } = await subject.mail()
  await users.update(id, { username: MANAGED })
  t.equal((await enter(subject.browser, code)).statusCode, 400)
  t.notOk(hasSession(subject.browser))
  await ask(subject.browser)
  await users.update(id, { username: ANN })
  await ask(subject.browser)
  t.equal(
    (await enter(subject.browser, (await subject.mail()).code)).statusCode,
    303,
    'the connection alone refused it'
  )
  t.equal(subject.sent().length, 2, 'no code between the first and the last')
})

for (const hasPassword of [true, false]) {
  t.test(
    `rejects an earlier reset link after the owner of the mailbox took over an account with${hasPassword ? '' : 'out'} a password`,
    async (t) => {
      const memory = memoryUserStore()
      const users = hasPassword
        ? memory
        : { ...memory, create: async (user: NewUser) => await memory.create({ ...user, passwordHash: null }) }
      const subject = await emailApp(t, { users }, { verified: false })
      const { app, sub, browser } = subject
      await app.authority.startPasswordReset(sub)
      const { token } = await subject.messages.next('password_reset')
      await ask(browser)
      t.equal((await enter(browser, (await subject.mail()).code)).statusCode, 303)
      t.equal(
        (await app.inject({ method: 'POST', url: '/auth/password-reset/confirm', payload: { token, password: NEXT } }))
          .statusCode,
        400
      )
      const signedIn = async (password: string): Promise<number> =>
        (
          await app.inject({
            method: 'POST',
            url: '/auth/token',
            payload: { grant_type: 'password', username: ANN, password }
          })
        ).statusCode
      t.same([await signedIn(NEXT), await signedIn(PASSWORD)], [400, 400])
    }
  )
}

t.test('revokes a session that begins during the removal of unproven second factors', async (t) => {
  const store = memoryFactorStore()
  const during = async (): Promise<void> => {
    thiefs = (await subject.app.authority.issueTokens(subject.sub)).refresh_token
  }
  const factors = {
    ...store,
    removeProvisional: async (userId: string) => {
      await during()
      return await store.removeProvisional(userId)
    }
  }
  let thiefs: string | undefined
  const subject = await emailApp(t, { factors }, { verified: false })
  await store.addTotp({
    userId: subject.sub,
    factor: {
      id: 'thief',
      sealedSecret: 'sealed',
      lastStep: 0,
      failures: 0,
      knownFailures: 0,
      disabled: false,
      name: null,
      createdAt: 0,
      lastUsedAt: null,
      provisional: true
    },
    limit: 10
  })
  await ask(subject.browser)
  t.equal((await enter(subject.browser, (await subject.mail()).code)).statusCode, 303)
  t.type(thiefs, 'string')
  t.equal(
    (
      await subject.app.inject({
        method: 'POST',
        url: '/auth/token',
        payload: { grant_type: 'refresh_token', refresh_token: thiefs }
      })
    ).statusCode,
    400
  )
  t.ok(hasSession(subject.browser))
  t.same(subject.events.findLast(({ name }) => name === 'factor_removed')?.payload['by'], 'mailbox')
})

for (const [what, change] of [
  ['another address', { email: 'new@mail.example' }],
  ['a disabled account', { disabled: true }]
] as const) {
  t.test(
    `signs nobody in to an account that changed while the owner of the mailbox took it over: ${what}`,
    async (t) => {
      const memory = memoryUserStore()
      const users = {
        ...memory,
        setEmailVerified: async (id: string, address?: string) => {
          await memory.update?.(id, { ...change, emailVerified: true })
          await memory.setEmailVerified?.(id, address)
        }
      }
      const subject = await emailApp(t, { users }, { verified: false })
      await ask(subject.browser)
      t.equal((await enter(subject.browser, (await subject.mail()).code)).statusCode, 503)
      t.notOk(hasSession(subject.browser))
      t.notOk(subject.events.some(({ name }) => name === 'email_verified' || name === 'authenticated'))
    }
  )
}

for (const [what, change] of [
  ['another address', { email: 'new@mail.example' }],
  ['a disabled account', { disabled: true }],
  ['an account that a connection manages', { username: MANAGED }]
] as const) {
  t.test(`ends the new session if the account changed while a code was redeemed: ${what}`, async (t) => {
    const state = memoryState()
    const { browserSessions } = state
    const subject = await emailApp(t, {
      ...CONNECTED,
      state: {
        ...state,
        browserSessions: {
          ...browserSessions,
          createSession: async (session, digest) => {
            await browserSessions.createSession(session, digest)
            await subject.users.update?.(subject.sub, change)
          }
        }
      }
    })
    await ask(subject.browser)
    t.equal((await enter(subject.browser, (await subject.mail()).code)).statusCode, 400)
    t.notOk(hasSession(subject.browser))
    t.same(await browserSessions.listSessionsOfUser(subject.sub, subject.clock.now()), [])
    t.notOk(subject.events.some(({ name }) => name === 'authenticated'))
    t.match(subject.events.find(({ name }) => name === 'logged_out')?.payload, { userId: subject.sub, by: 'undone' })
  })
}
