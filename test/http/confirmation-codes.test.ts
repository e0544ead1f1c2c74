/** The code next to the link in the messages that confirm an address. */
import t from '../support/tap.ts'
import { memoryState, memoryUserStore } from '../../lib/index.ts'
import { delayed } from '../../lib/testing/index.ts'
import { PASSWORD } from '../support/app.ts'
import { type TestBrowser, testBrowser } from '../support/browser.ts'
import { turns } from '../unit/accounts/world.ts'
import { appOf, hasSession, known, press, queryOf, send, type Subject } from './support/journeys.ts'

const CHECK = `/auth/check-email${queryOf('one')}`
const NEW = 'new@example.com'
const EVE = 'eve@example.com'
const REFUSED = /This code is wrong or no longer works/

const enter = async (browser: TestBrowser, code: string, page = CHECK): ReturnType<TestBrowser['submit']> =>
  await browser.submit(page, { code })

const otherThan = (code: string, by = 1): string =>
  String((Number(code.replace(' ', '')) + by) % 100_000_000).padStart(8, '0')

async function signedUp(t: Parameters<typeof send>[0] & Parameters<typeof appOf>[0]): Promise<Subject> {
  const subject = await appOf(t)
  await send(t, subject.browser, 'signUp', 'one')
  return subject
}

const SPELLINGS: ReadonlyArray<readonly [string, (code: string) => string]> = [
  ['as in the message', (code) => code],
  ['without its space', (code) => code.replace(' ', '')],
  ['with a hyphen', (code) => code.replace(' ', '-')],
  ['with an invisible mark of the mail', (code) => `\u200e${code}`],
  ['in Arabic digits', (code) => code.replaceAll(/\d/g, (digit) => String.fromCodePoint(0x660 + Number(digit)))],
  ['in full-width digits', (code) => code.replaceAll(/\d/g, (digit) => String.fromCodePoint(0xff10 + Number(digit)))]
]
for (const [name, spell] of SPELLINGS)
  t.test(`signs in and returns to the app by the code of the sign-up message, typed ${name}`, async (t) => {
    const subject = await signedUp(t)
    const { browser, events } = subject
    const { reply, url } = await browser.follow(await enter(browser, spell(await subject.code())))
    t.match(url, /\/cb\?.*state=one/, String(reply.statusCode))
    t.ok(hasSession(browser))
    t.equal((await subject.user()).emailVerified, true)
    t.equal(events.filter(({ name: event }) => event === 'email_verified').length, 1)
    t.equal((await browser.get(await subject.link())).statusCode, 400, 'the link is used up too')
  })

// covers POL-code-sign-up RL-31
/** Typed codes, with the text of their refusal. */
const REFUSALS: ReadonlyArray<{
  name: string
  before?(subject: Subject): Promise<unknown>
  typed?(code: string): string
  body?: RegExp
}> = [
  { name: 'a missing code', typed: () => '', body: /id="code-error">Please fill in/ },
  { name: 'seven digits', typed: (code) => code.slice(1), body: /The code has 8 digits/ },
  { name: 'another text', typed: () => 'null', body: /The code has 8 digits/ },
  { name: 'a wrong code', typed: (code) => otherThan(code) },
  { name: 'a code after ten minutes', before: async ({ clock }) => clock.step(600_000) },
  {
    name: 'the right code after five wrong ones',
    async before(subject) {
      const code = await subject.code()
      for (const by of [1, 2, 3, 4, 5]) await enter(subject.browser, otherThan(code, by))
    }
  },
  {
    name: 'the code after the link was used elsewhere',
    before: async (subject) => await press(subject.other, await subject.link())
  },
  {
    name: 'the code after "that was not me"',
    before: async (subject) => await press(subject.other, await subject.link(), { decision: 'not_me' })
  },
  {
    name: 'the code of an account that was disabled',
    before: async ({ users, user }) => await users.update((await user()).id, { disabled: true })
  },
  {
    name: 'the code after another address',
    before: async ({ users, user }) => await users.update((await user()).id, { email: NEW })
  }
]
for (const { name, before, typed = (code: string) => code, body = REFUSED } of REFUSALS)
  t.test(`rejects ${name}, shows the page again, and signs nobody in`, async (t) => {
    const subject = await signedUp(t)
    const code = await subject.code()
    await before?.(subject)
    const wasVerified = (await subject.user()).emailVerified
    const reply = await enter(subject.browser, typed(code))
    t.match(reply, { statusCode: 400, body })
    t.match(reply.body, /name="code"[\s\S]*value="resend"/)
    t.notOk(hasSession(subject.browser))
    t.equal((await subject.user()).emailVerified, wasVerified)
  })

t.test('rejects a code of 65 characters', async (t) => {
  const { browser } = await signedUp(t)
  t.equal((await enter(browser, '1'.repeat(65))).statusCode, 400)
})

// covers POL-code-sign-up
t.test('rejects the code in a browser that did not ask for it', async (t) => {
  const subject = await signedUp(t)
  const code = await subject.code()
  t.match(await enter(subject.other, code), { statusCode: 303, headers: { location: /^\/auth\/login/ } }, 'no cookie')
  await subject.other.submit(`/auth/signup${queryOf('one')}`, { username: EVE, password: PASSWORD })
  t.match(await enter(subject.other, code), { statusCode: 400, body: REFUSED })
  t.notOk(hasSession(subject.other))
  t.equal((await enter(subject.browser, code)).statusCode, 303, 'and works where the person asked')
})

// covers ENUM-code
t.test('answers seven wrong codes the same for a free and for a taken name', async (t) => {
  const [free, taken] = [await appOf(t), await appOf(t)]
  await known(taken)
  const answers = []
  for (const subject of [free, taken]) {
    await send(t, subject.browser, 'signUp', 'one')
    await turns()
    const pages = []
    for (let tries = 0; tries < 7; tries++) {
      const { statusCode, body } = await enter(subject.browser, `1234567${tries}`)
      pages.push([statusCode, body.replaceAll(/[\w-]{20,}/g, '')])
    }
    answers.push(pages)
  }
  t.strictSame(answers[0], answers[1])
})

t.test('confirms the address once when a code is sent twice in parallel, and redirects both requests', async (t) => {
  const subject = await appOf(t, undefined, { state: delayed(memoryState()) })
  await send(t, subject.browser, 'signUp', 'one')
  const code = await subject.code()
  const replies = await Promise.all([enter(subject.browser, code), enter(subject.browser, code)])
  t.strictSame(
    replies.map(({ statusCode }) => statusCode),
    [303, 303]
  )
  t.equal(subject.events.filter(({ name }) => name === 'email_verified').length, 1)
})

t.test('confirms the address by the code but signs nobody in after a change of the password', async (t) => {
  const subject = await signedUp(t)
  await subject.users.setPasswordHash((await subject.user()).id, 'another hash')
  const { url } = await subject.browser.follow(await enter(subject.browser, await subject.code()))
  t.match(url, /\/auth\/verify-email\?.*done=confirmed$/)
  t.notOk(hasSession(subject.browser))
})

t.test('keeps the link valid if the store fails after the right code', async (t) => {
  const users = memoryUserStore()
  const { setEmailVerified } = users
  let isDown = true
  users.setEmailVerified = async (...given) => {
    if (isDown) throw new Error('down')
    await setEmailVerified.apply(users, given)
  }
  const subject = await appOf(t, users)
  const { browser } = subject
  await send(t, browser, 'signUp', 'one')
  t.equal((await enter(browser, await subject.code())).statusCode, 503)
  isDown = false
  await press(browser, await subject.link())
  t.ok(hasSession(browser))
})

t.test('sends a new code when asked again, rejects the old one, and accepts the new one after a sign-in', async (t) => {
  const subject = await signedUp(t)
  const { browser, clock } = subject
  const first = await subject.code()
  clock.step(5 * 60_000)
  await browser.submit(CHECK, { decision: 'resend' })
  const second = await subject.code()
  t.not(second, first)
  t.equal((await enter(browser, first)).statusCode, 400)
  await send(t, browser, 'signIn', 'one')
  t.match((await browser.get(CHECK)).body, /isn’t confirmed yet[\s\S]*name="code"/)
  await browser.follow(await enter(browser, second))
  t.ok(hasSession(browser))
})

t.test('sends no code for a registration by JSON, nor for a forgotten password', async (t) => {
  const subject = await appOf(t)
  await known(subject)
  t.match((await send(t, subject.browser, 'forgot', 'one')).body, /<form/)
  t.notMatch((await subject.browser.get(CHECK)).body, /name="code"/)
  t.match(await enter(subject.browser, '12345678'), { statusCode: 303, headers: { location: CHECK } })
  t.equal(await subject.code(), '')
})

t.test('sends no code if the state has no redeemCode, and signs in by the link', async (t) => {
  const { oneTimeTokens, ...rest } = memoryState()
  const { redeemCode: _, ...tokens } = oneTimeTokens
  const subject = await appOf(t, memoryUserStore(), {
    emailSignIn: false,
    state: { ...rest, oneTimeTokens: tokens }
  })
  const { body } = await send(t, subject.browser, 'signUp', 'one')
  t.notMatch(body, /name="code"/)
  t.equal(await subject.code(), '')
  t.equal((await enter(subject.browser, '12345678')).statusCode, 303)
  await press(subject.browser, await subject.link())
  t.ok(hasSession(subject.browser))
})

// covers RL-31
t.test('limits guesses at codes under the rate limit rule login', async (t) => {
  const subject = await appOf(t, memoryUserStore(), { rateLimit: { login: { max: 2 } } })
  await send(t, subject.browser, 'signUp', 'one')
  const codes = []
  for (let tries = 0; tries < 3; tries++) codes.push((await enter(subject.browser, '12345678')).statusCode)
  t.strictSame(codes, [400, 400, 429])
  t.match((await testBrowser(subject.app).get(CHECK)).statusCode, 303)
})

// covers RL-31
t.test('counts wrong codes separately for each browser', async (t) => {
  const subject = await signedUp(t)
  const code = await subject.code()
  await send(t, subject.other, 'signIn', 'one')
  for (let tries = 0; tries < 5; tries++) await enter(subject.other, `1234567${tries}`)
  t.equal((await enter(subject.other, code)).statusCode, 400)
  t.equal((await enter(subject.browser, code)).statusCode, 303)
})
