/** A change of the address by the code of the message. */
import t from '../support/tap.ts'
import { PASSWORD } from '../support/app.ts'
import { formAction, type TestBrowser } from '../support/browser.ts'
import { turns } from '../unit/accounts/world.ts'
import { appOf, BOB, known, NEXT, press, type Subject } from './support/journeys.ts'

const EMAIL = '/auth/account/email'
const NEW = 'new@example.com'
const EVE = 'eve@example.com'
const REFUSED = /This code is wrong or no longer works/

type Asked = Subject & { typed: string }

/** A person who is signed in and has asked for another address. */
async function asked(t: Parameters<typeof appOf>[0], email = NEW): Promise<Asked> {
  const subject = await appOf(t)
  await known(subject)
  const { app } = subject
  await app.inject({ method: 'POST', url: '/auth/register', payload: { username: EVE, password: NEXT } })
  await turns()
  await subject.users.setEmailVerified((await subject.user(EVE)).id, EVE)
  await signIn(subject.browser)
  await post(subject.browser, { email })
  return { ...subject, typed: await subject.code() }
}

const signIn = async (browser: TestBrowser, password = PASSWORD): Promise<unknown> =>
  await browser.submit('/auth/login', { username: BOB, password })

async function post(browser: TestBrowser, form: Record<string, string>): ReturnType<TestBrowser['submit']> {
  return await browser.submit(formAction((await browser.get(EMAIL)).body), form)
}

// covers POL-code-change
t.test('changes the address by the code, keeps the current session, and ends another one', async (t) => {
  const { browser, other, typed: code, ...subject } = await asked(t)
  await signIn(other)
  t.match((await browser.get(EMAIL)).body, /new@example\.com[\s\S]*name="code"/)
  const { headers } = await post(browser, { code })
  t.equal(headers.location, `${EMAIL}?done=email_changed`)
  const { body } = await browser.get(`${EMAIL}?done=email_changed`, { 'sec-fetch-site': 'same-origin' })
  t.match(body, /role="status"[^>]*>Your email is confirmed[\s\S]*new@example\.com<\/bdi><\/b> is confirmed/)
  t.notMatch(body, /name="code"/)
  t.match(await subject.user(NEW), { email: NEW, emailVerified: true })
  t.equal((await other.get(EMAIL)).statusCode, 303, 'others are signed out')
  await turns()
  t.ok(subject.messages.messages.some(({ kind }) => kind === 'email_changed'))
})

t.test('shows the address form again when the user asks for another address', async (t) => {
  const { browser } = await asked(t)
  t.match(await post(browser, { decision: 'other' }), { statusCode: 303, headers: { location: EMAIL } })
  t.match((await browser.get(EMAIL)).body, /name="email"/)
})

// covers POL-code-change
const CHANGE_REFUSALS: ReadonlyArray<{
  name: string
  email?: string
  before?(subject: Asked): Promise<unknown>
  /** Default: 400. */
  status?: 303
}> = [
  { name: 'an address that another account has', email: EVE },
  {
    name: 'a new password since',
    async before({ users, user }) {
      await users.setPasswordHash((await user()).id, 'another hash')
    }
  },
  // The waiting cookie expires with the code, so the page redirects.
  { name: 'a code older than ten minutes', before: async ({ clock }) => clock.step(600_000), status: 303 },
  {
    name: 'a sign-out and another sign-in',
    async before({ browser }) {
      const before = [...browser.cookies]
      await browser.submit('/auth/logout', { decision: 'sign_out' })
      await signIn(browser)
      // A copy of the waiting cookie is useless in the next session.
      for (const [name, value] of before) if (!browser.cookies.has(name)) browser.cookies.set(name, value)
    }
  },
  {
    name: 'a refusal by the owner of the address',
    before: async (subject) => await press(subject.other, await subject.link(), { decision: 'not_me' })
  }
]
for (const { name, email = NEW, before, status = 400 } of CHANGE_REFUSALS)
  t.test(`rejects the code and keeps the address: ${name}`, async (t) => {
    const subject = await asked(t, email)
    await before?.(subject)
    const { statusCode, body } = await post(subject.browser, { code: subject.typed || '12345678' })
    t.equal(statusCode, status)
    if (status === 400) t.match(body, REFUSED)
    t.equal((await subject.user()).email, BOB)
  })

// covers POL-code-change
t.test('rejects the code of one account in the session of another one', async (t) => {
  const subject = await asked(t)
  const { browser, typed: code, users } = subject
  const before = [...browser.cookies]
  await browser.submit('/auth/login', { username: EVE, password: NEXT })
  // A copy of the cookie of the other account opens nothing.
  for (const [name, value] of before) if (!browser.cookies.has(name)) browser.cookies.set(name, value)
  t.match((await browser.get(EMAIL)).body, /new@example\.com[\s\S]*name="code"/)
  t.match(await post(browser, { code }), { statusCode: 400, body: REFUSED })
  t.equal(await users.findByUsername(NEW), null)
  t.equal((await subject.user(EVE)).email, EVE)
})

t.test('asks for no code after the link has changed the address', async (t) => {
  const subject = await asked(t)
  await press(subject.browser, await subject.link())
  const { body } = await subject.browser.get(EMAIL)
  t.match(body, /new@example\.com<\/bdi><\/b> is confirmed/)
  t.notMatch(body, /name="code"/)
})
