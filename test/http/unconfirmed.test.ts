import t from '../support/tap.ts'
import type { Message } from '../../lib/index.ts'
import { memoryUserStore } from '../../lib/adapters/memory/user-store.ts'
import { memoryState } from '../../lib/adapters/memory/record-store.ts'
import { LOCALES, messagesOf } from '../../lib/pages/texts.ts'
import { bearer, PASSWORD, testApp } from '../support/app.ts'
import { testBrowser } from '../support/browser.ts'
import { cookieName } from '../support/cookies.ts'
import { turns } from '../unit/accounts/world.ts'

const ANN = 'ann@example.com'
const LIMITS = { login: false, register: false, refresh: false, account: false } as const

/** An app in which a person signed up as Ann and has not confirmed the address. */
async function unconfirmed(t: { teardown(task: () => Promise<void>): void }) {
  const users = memoryUserStore()
  const state = memoryState()
  const test = await testApp({
    users,
    state,
    registration: { username: 'email', verifyEmail: true },
    rateLimit: LIMITS
  })
  t.teardown(test.close)
  const token = async (password: string, username = ANN) =>
    await test.app.inject({
      method: 'POST',
      url: '/auth/token',
      payload: { grant_type: 'password', username, password }
    })
  await test.app.inject({ method: 'POST', url: '/auth/register', payload: { username: ANN, password: PASSWORD } })
  const mail = await test.messages.next('verify_email')
  return {
    ...test,
    users,
    state,
    browser: testBrowser(test.app),
    token,
    mail,
    mails: (): Message[] => test.messages.messages.filter(({ kind }) => kind === 'verify_email')
  }
}

const field = (html: string, name: string): string => new RegExp(`name="${name}" value="([^"]*)"`).exec(html)?.[1] ?? ''

// covers H3
t.test('reports an unconfirmed address at the token endpoint only after the right password', async (t) => {
  const { token, hasher } = await unconfirmed(t)
  const hashes = async (act: () => Promise<unknown>): Promise<number> => {
    const before = hasher.calls.hash + hasher.calls.verify
    await act()
    return hasher.calls.hash + hasher.calls.verify - before
  }
  const right = await token(PASSWORD)
  t.equal(right.statusCode, 400)
  t.same(right.json(), {
    error: 'invalid_grant',
    error_description: 'The email address is not confirmed yet.',
    error_reason: 'email_not_verified'
  })
  const wrong = { error: 'invalid_grant', error_description: 'The username or password is wrong.' }
  for (const [what, attempt] of Object.entries({
    'a wrong password': [`${PASSWORD}x`, ANN],
    'an unknown name': [PASSWORD, 'nobody@example.com'],
    'a huge password': ['x'.repeat(2000), ANN]
  } satisfies Record<string, [string, string]>)) {
    t.same((await token(...attempt)).json(), wrong, what)
    t.equal(
      await hashes(async () => await token(...attempt)),
      await hashes(async () => await token(PASSWORD)),
      `${what}: one hash, as with the right password`
    )
  }
})

// covers H3
t.test('after the right password, offers to send the confirmation again, at most once in five minutes', async (t) => {
  const { browser, clock, mails, app } = await unconfirmed(t)
  const wrong = await browser.submit('/auth/login', { username: ANN, password: `${PASSWORD}x` })
  t.equal(wrong.statusCode, 400)
  t.equal((await browser.get('/auth/check-email')).headers.location, '/auth/login', 'not before the right password')
  const right = await browser.submit('/auth/login', { username: ANN, password: PASSWORD })
  t.match(right, { statusCode: 303, headers: { location: '/auth/check-email' } })
  const page = await browser.get('/auth/check-email')
  t.match(page.body, 'Confirm your email')
  t.match(page.body, ANN)
  t.notMatch(page.body, 'Error: ')
  t.notOk(browser.cookies.has(cookieName('session')), 'nobody is signed in')
  const resend = async (): Promise<void> => {
    const reply = await browser.submit('/auth/check-email', { decision: 'resend' })
    t.match(reply, { statusCode: 303, headers: { location: '/auth/check-email?done=resent' } })
    await turns()
  }
  await Promise.all([resend(), resend()])
  t.equal(mails().length, 1, 'the one of the sign-up is good still')
  clock.step(5 * 60_000)
  await Promise.all(Array.from({ length: 20 }, resend))
  t.equal(mails().length, 2)
  t.equal(
    (await app.inject({ method: 'POST', url: '/auth/email/verify', payload: { token: mails()[1]?.token } })).statusCode,
    204
  )
  clock.step(5 * 60_000)
  await resend()
  t.equal(mails().length, 2, 'confirmed by now')
  clock.step(24 * 60 * 60_000)
  t.match(await browser.submit('/auth/check-email', { decision: 'resend' }), { headers: { location: '/auth/login' } })
})

// covers H3
t.test('does not send the confirmation again without a valid cookie or for another site', async (t) => {
  const { browser, clock, mails, mail } = await unconfirmed(t)
  clock.step(5 * 60_000)
  for (const value of ['', 'x', `a..${'A'.repeat(62)}`, mail.token ?? '']) {
    browser.cookies.set(cookieName('waiting'), value)
    t.equal((await browser.submit('/auth/check-email', { decision: 'resend' })).headers.location, '/auth/login')
  }
  await browser.submit('/auth/login', { username: ANN, password: PASSWORD })
  const crossSite = { 'sec-fetch-site': 'cross-site' }
  t.equal((await browser.submit('/auth/check-email', { decision: 'resend' }, crossSite)).statusCode, 403)
  await turns()
  t.equal(mails().length, 1)
})

// covers A16
t.test('shows the address and the time of the sign-up on the confirmation page, in every language', async (t) => {
  const { browser, mail } = await unconfirmed(t)
  for (const locale of LOCALES) {
    const { body } = await browser.get(mail.url ?? '', { 'accept-language': locale })
    const messages = messagesOf(locale)
    t.match(body, ANN)
    t.match(body, '2026', `${locale}: when`)
    t.match(body, ' UTC')
    t.match(body, messages.verifyNotMeHint, locale)
    t.match(body, messages.verifyNotMe, locale)
  }
})

t.test('A16 "this was not me" revokes the password, the sessions and the link, and confirms nothing', async (t) => {
  const { app, browser, mail, users, token, events } = await unconfirmed(t)
  const { id } = (await users.findByUsername(ANN)) ?? { id: '' }
  const tokens = await app.authority.issueTokens(id)
  const page = await browser.get(mail.url ?? '')
  const { reply } = await browser.follow(
    await browser.submit('/auth/verify-email', { token: field(page.body, 'token'), decision: 'not_me' })
  )
  t.equal(reply.statusCode, 200)
  t.match(reply.body, 'The account is locked')
  t.same(
    (await token(PASSWORD)).json(),
    { error: 'invalid_grant', error_description: 'The username or password is wrong.' },
    'the stranger is out'
  )
  t.equal(
    (await app.inject({ method: 'POST', url: '/auth/refresh', headers: bearer(tokens.refresh_token ?? '') }))
      .statusCode,
    401
  )
  t.match(await users.findById(id), { emailVerified: false })
  t.match(
    events.filter(({ name }) => name === 'password_changed'),
    [{ payload: { userId: id, by: 'disowned' } }]
  )
  t.equal((await browser.get(mail.url ?? '')).statusCode, 400, 'the link is used up')
  t.equal(
    (await app.inject({ method: 'POST', url: '/auth/email/verify', payload: { token: mail.token } })).statusCode,
    400
  )
})

// covers A16
t.test('lets the mailbox owner reset the password after the decision "this was not me"', async (t) => {
  const { app, browser, mail, messages, token } = await unconfirmed(t)
  await browser.submit('/auth/verify-email', { token: mail.token ?? '', decision: 'not_me' })
  await app.inject({ method: 'POST', url: '/auth/password-reset', payload: { username: ANN } })
  const { token: reset } = await messages.next('password_reset')
  t.equal(
    (
      await app.inject({
        method: 'POST',
        url: '/auth/password-reset/confirm',
        payload: { token: reset, password: 'of the owner alone' }
      })
    ).statusCode,
    204
  )
  t.equal((await token('of the owner alone')).statusCode, 200)
  t.equal((await token(PASSWORD)).statusCode, 400)
})

// covers A16
t.test('accepts one decision on a confirmation link, and rejects repeated, cross-site and invalid ones', async (t) => {
  const both = await unconfirmed(t)
  const replies = await Promise.all(
    ['not_me', 'not_me', ''].map(
      async (decision) =>
        (
          await both.browser.submit('/auth/verify-email', {
            token: both.mail.token ?? '',
            ...(decision === '' ? {} : { decision })
          })
        ).statusCode
    )
  )
  t.equal(replies.filter((status) => status === 303).length, 1, `one has the link: ${replies.join(' ')}`)
  t.equal(
    (await both.browser.submit('/auth/verify-email', { token: both.mail.token ?? '', decision: 'not_me' })).statusCode,
    400
  )

  const { browser, mail, users, token } = await unconfirmed(t)
  t.equal(
    (
      await browser.submit(
        '/auth/verify-email',
        { token: mail.token ?? '', decision: 'not_me' },
        { 'sec-fetch-site': 'cross-site' }
      )
    ).statusCode,
    403
  )
  for (const bad of ['', 'x', 'A'.repeat(62), 'A'.repeat(15_000)])
    t.equal((await browser.submit('/auth/verify-email', { token: bad, decision: 'not_me' })).statusCode, 400)
  t.match((await token(PASSWORD)).json(), { error_reason: 'email_not_verified' }, 'the password works still')
  const { id } = (await users.findByUsername(ANN)) ?? { id: '' }
  await users.setEmailVerified(id)
  t.notMatch((await browser.get(mail.url ?? '')).body, 'That wasn’t me', 'a confirmed address has no such button')
  t.equal((await browser.submit('/auth/verify-email', { token: mail.token ?? '', decision: 'not_me' })).statusCode, 400)
  t.equal((await token(PASSWORD)).statusCode, 200)
})

// covers A16
t.test('answers 503 to the decision "this was not me" during a store failure, and accepts it afterwards', async (t) => {
  for (const method of ['put', 'consume', 'find'] as const) {
    const { browser, mail, state, token } = await unconfirmed(t)
    const { [method]: working } = state.oneTimeTokens
    state.oneTimeTokens[method] = async () => {
      throw new Error('down')
    }
    t.equal(
      (await browser.submit('/auth/verify-email', { token: mail.token ?? '', decision: 'not_me' })).statusCode,
      503,
      method
    )
    Object.assign(state.oneTimeTokens, { [method]: working })
    t.equal(
      (await browser.submit('/auth/verify-email', { token: mail.token ?? '', decision: 'not_me' })).statusCode,
      303,
      method
    )
    t.notMatch((await token(PASSWORD)).json(), { error_reason: 'email_not_verified' }, method)
  }
})

// covers A16
t.test('sends no confirmation link to a stranger after the owner of the address wants to sign up', async (t) => {
  const { browser, clock, mails, mail, messages, app, token } = await unconfirmed(t)
  clock.step(12 * 60 * 60_000)
  // The owner of the mailbox, who knows nothing of the first sign-up.
  await app.inject({
    method: 'POST',
    url: '/auth/register',
    payload: { username: ANN, password: `${PASSWORD} of her own` }
  })
  await messages.next('already_registered')
  await browser.submit('/auth/login', { username: ANN, password: PASSWORD })
  for (const minutes of [0, 5, 5]) {
    clock.step(minutes * 60_000)
    t.equal((await browser.submit('/auth/check-email', { decision: 'resend' })).statusCode, 303)
    await turns()
  }
  t.equal(mails().length, 1, 'the one of the sign-up')
  t.equal(
    (await app.inject({ method: 'POST', url: '/auth/email/verify', payload: { token: mail.token } })).statusCode,
    400,
    'which is worth nothing'
  )
  const resets = messages.messages.filter(({ kind }) => kind === 'password_reset')
  t.equal(resets.length, 2, 'what takes the account from whoever was first')
  t.equal(
    (
      await app.inject({
        method: 'POST',
        url: '/auth/password-reset/confirm',
        payload: { token: resets[1]?.token, password: `${PASSWORD} of her own` }
      })
    ).statusCode,
    204
  )
  t.same([(await token(PASSWORD)).statusCode, (await token(`${PASSWORD} of her own`)).statusCode], [400, 200])
})
