/** A sign-in in a new browser sends a message, without waiting for it or failing with it. */
import { cookieName } from '../support/cookies.ts'
import t, { type Test } from '../support/tap.ts'
import { type AuthorityOptions, memoryFactorStore, memoryUserStore, type Message } from '../../lib/index.ts'
import { PASSWORD, signUp, type TestApp, testApp } from '../support/app.ts'
import { type TestBrowser, testBrowser } from '../support/browser.ts'
import { formOf } from '../support/factors.ts'
import { giveSecondFactor } from '../support/second-factor.ts'

const HOUR_MS = 3_600_000
const FIREFOX = { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0' }

async function subjectOf(
  t: Test,
  options: Partial<AuthorityOptions> = {}
): Promise<TestApp & { sub: string; told(): Message[] }> {
  const subject = await testApp(options)
  t.teardown(subject.close)
  const { sub } = await signUp(subject.app, 'ann@example.com')
  await subject.idle()
  if (!('sendMessage' in options)) await subject.messages.next('verify_email')
  return { ...subject, sub, told: () => subject.messages.messages.filter(({ kind }) => kind === 'new_sign_in') }
}
const enter = async (browser: TestBrowser, headers: Record<string, string> = {}, password = PASSWORD) =>
  await browser.submit('/auth/login', { username: 'ann@example.com', password }, headers)
const signOut = (browser: TestBrowser): void => {
  browser.cookies.delete(cookieName('session'))
}
const news = ({ events }: Pick<TestApp, 'events'>): unknown[] =>
  events.filter(({ name }) => name === 'new_sign_in').map(({ payload }) => payload)

// covers ASVS-6.3.5
t.test('sends the user a message about a sign-in in a new browser, with details to recognize it', async (t) => {
  const subject = await subjectOf(t)
  const { app, clock, sub, told, messages } = subject
  clock.step(HOUR_MS)
  const browser = testBrowser(app)
  t.equal((await enter(browser, { ...FIREFOX, 'accept-language': 'de' })).statusCode, 303)
  const message = await messages.next('new_sign_in')
  t.match(message, {
    user: { id: sub, email: 'ann@example.com' },
    url: 'http://localhost:3000/auth/account',
    at: new Date(clock.now()),
    ip: '127.0.0.1',
    userAgent: FIREFOX['user-agent'],
    locale: 'de'
  })
  t.equal(message.token, undefined)
  t.match(news(subject), [{ userId: sub, sid: String, reasons: ['unknown_browser'], ip: '127.0.0.1' }])
  clock.step(HOUR_MS)
  signOut(browser)
  await enter(browser)
  t.equal(news(subject).length, 1, 'it is known from then on')

  const others = [testBrowser(app), testBrowser(app)] as const
  for (const other of others) await enter(other)
  clock.step(HOUR_MS - 1)
  await enter(testBrowser(app))
  await messages.next('new_sign_in')
  t.equal(news(subject).length, 4)
  clock.step(1)
  await enter(testBrowser(app))
  await messages.next('new_sign_in')
  t.equal(told().length, 3, 'one an hour')
})

t.test('sends no message for the first sign-in after a sign-up or for a signed-in user', async (t) => {
  const subject = await subjectOf(t)
  const { app, clock, told } = subject
  await enter(testBrowser(app))
  const browser = testBrowser(app)
  const { body } = await browser.get('/auth/signup')
  t.equal(
    (await browser.submit(formOf(body).action, { username: 'bob@example.com', password: PASSWORD })).statusCode,
    303
  )
  clock.step(2 * HOUR_MS)
  subject.events.length = 0
  signOut(browser)
  await browser.submit('/auth/login', { username: 'bob@example.com', password: PASSWORD })
  t.same(news(subject), [], 'the browser of the sign-up')
  await browser.submit('/auth/login?prompt=login', { username: 'bob@example.com', password: PASSWORD })
  browser.cookies.delete(cookieName('device'))
  await browser.submit('/auth/login?prompt=login', { username: 'bob@example.com', password: PASSWORD })
  t.same(news(subject), [], 'the session is there')
  t.same(told(), [])
})

t.test('recognizes a browser only for its account, and only until the password changes elsewhere', async (t) => {
  const subject = await subjectOf(t)
  const { app } = subject
  await signUp(app, 'bob@example.com')
  const browser = testBrowser(app)
  await enter(browser)
  const count = async (make: () => Promise<unknown>): Promise<number> => {
    subject.events.length = 0
    signOut(browser)
    await make()
    return news(subject).length
  }
  t.equal(await count(async () => await enter(browser)), 0)
  t.equal(
    await count(async () => await browser.submit('/auth/login', { username: 'bob@example.com', password: PASSWORD })),
    1,
    'another account'
  )
  t.equal(await count(async () => await enter(browser)), 0, 'and the first one still')
  const { authority } = app
  await authority.changePassword(subject.sub, 'a better horse battery')
  t.equal(
    await count(async () => await enter(browser, {}, 'a better horse battery')),
    1,
    'whoever knew a former password is a stranger'
  )
  const token = browser.cookies.get(cookieName('device')) ?? ''
  browser.cookies.set(cookieName('device'), `${token.slice(0, -2)}${token.endsWith('A') ? 'BB' : 'AA'}`)
  const { body } = await browser.get('/auth/account/password')
  t.equal(
    (await browser.submit(formOf(body).action, { current_password: 'a better horse battery', password: PASSWORD }))
      .statusCode,
    303
  )
  t.equal(await count(async () => await enter(browser)), 0, 'the browser in which the password was changed')
})

t.test('recognizes the browser in which the password was changed, with rate limits on', async (t) => {
  const subject = await subjectOf(t, { rateLimit: { login: { max: 100 } } })
  const browser = testBrowser(subject.app)
  await enter(browser)
  const { body } = await browser.get('/auth/account/password')
  const form = { current_password: PASSWORD, password: 'a better horse battery' }
  t.equal((await browser.submit(formOf(body).action, form)).statusCode, 303)
  signOut(browser)
  subject.events.length = 0
  t.equal((await enter(browser, {}, 'a better horse battery')).statusCode, 303)
  t.same(news(subject), [])
})

// covers ASVS-6.3.5
t.test('does not recognize a browser after the password alone when the user has a second factor', async (t) => {
  const users = memoryUserStore()
  const subject = await subjectOf(t, { users, factors: memoryFactorStore() })
  await users.setEmailVerified(subject.sub, 'ann@example.com')
  const { give } = await giveSecondFactor(subject, subject.sub)
  subject.clock.step(HOUR_MS)
  subject.events.length = 0
  const thief = testBrowser(subject.app)
  await enter(thief)
  await enter(thief)
  t.same(news(subject), [], 'nobody is signed in')
  await give(thief)
  t.equal(news(subject).length, 1)
  t.equal((await subject.messages.next('new_sign_in')).url, 'http://localhost:3000/auth/security')
})

t.test('signs in without delay when the message hangs or fails', async (t) => {
  const held: Array<() => void> = []
  let over = false
  const subject = await subjectOf(t, {
    sendMessage: async () => {
      if (!over)
        await new Promise<void>((resolve) => {
          held.push(resolve)
        })
    }
  })
  subject.clock.step(HOUR_MS)
  t.equal((await enter(testBrowser(subject.app))).statusCode, 303, 'a mailer that hangs')
  over = true
  for (const release of held) release()
  const failing = await subjectOf(t, {
    sendMessage: () => {
      throw new Error('no mail')
    }
  })
  failing.clock.step(HOUR_MS)
  t.equal((await enter(testBrowser(failing.app))).statusCode, 303)
  const none = await subjectOf(t, { sendMessage: undefined })
  none.clock.step(HOUR_MS)
  t.equal((await enter(testBrowser(none.app))).statusCode, 303)
  t.equal(news(none).length, 1, 'the event is there without a mailer')
  const bare = await subjectOf(t, { pages: { account: false } })
  bare.clock.step(HOUR_MS)
  await enter(testBrowser(bare.app), { 'user-agent': 'x'.repeat(5000) })
  const message = await bare.messages.next('new_sign_in')
  t.notOk('url' in message)
  t.equal(message.kind === 'new_sign_in' && message.userAgent?.length, 256)
})

t.test('finishes the background work of a sign-up when the server closes right after it', async (t) => {
  const lines: string[] = []
  const stream = { write: (line: string) => lines.push(line) }
  const { app, close, messages } = await testApp({}, { logger: { level: 'error', stream } })
  await signUp(app, 'ann@example.com')
  await close()
  t.strictSame(lines, [])
  t.strictSame(
    messages.messages.map(({ kind }) => kind),
    ['verify_email']
  )
})
