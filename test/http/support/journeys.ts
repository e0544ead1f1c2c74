/** People who open the links of messages, in the browser that asked and in others. */
import { type AuthorityOptions, memoryFactorStore, memoryUserStore, type User } from '../../../lib/index.ts'
import { type LightMyRequestResponse, PASSWORD, type TestApp, testApp } from '../../support/app.ts'
import { formAction, type TestBrowser, testBrowser } from '../../support/browser.ts'
import { cookieName } from '../../support/cookies.ts'
import { authorizePath, CLIENTS, KEYS } from '../../support/openid.ts'
import { turns } from '../../unit/accounts/world.ts'

export const BOB = 'bob@example.com'
export const NEXT = 'another horse battery'

export interface Subject extends TestApp {
  browser: TestBrowser
  users: ReturnType<typeof memoryUserStore>
  /** The link of the newest message with one. */
  link(): Promise<string>
  /** The code of the newest message with one. */
  code(): Promise<string>
  user(name?: string): Promise<User>
  other: TestBrowser
}

export async function appOf(
  t: { teardown(task: () => Promise<void>): void },
  users = memoryUserStore(),
  options: Partial<AuthorityOptions> = {}
): Promise<Subject> {
  const subject = await testApp({
    keys: KEYS,
    clients: CLIENTS,
    users,
    factors: memoryFactorStore(),
    emailSignIn: {},
    rateLimit: false,
    registration: { username: 'email', verifyEmail: true },
    ...options
  })
  t.teardown(subject.close)
  return {
    ...subject,
    users,
    browser: testBrowser(subject.app),
    other: testBrowser(subject.app),
    async link() {
      await turns()
      return subject.messages.messages.findLast(({ url }) => url !== undefined)?.url ?? ''
    },
    async code() {
      await turns()
      const codes = subject.messages.messages.map((message) => ('code' in message ? message.code : undefined))
      return codes.findLast(Boolean) ?? ''
    },
    user: async (name = BOB) => (await users.findByUsername(name)) as User
  }
}

export const known = async ({ users, app }: Subject): Promise<void> => {
  await app.inject({ method: 'POST', url: '/auth/register', payload: { username: BOB, password: PASSWORD } })
  await users.setEmailVerified(((await users.findByUsername(BOB)) as User).id, BOB)
  await turns()
}
export const hasSession = (browser: TestBrowser): boolean => browser.cookies.has(cookieName('session'))
export const queryOf = (state: string): string => authorizePath({ state }).replace(/^[^?]*/, '')
export const PAGES = {
  signUp: { path: '/auth/signup', form: { username: BOB, password: PASSWORD } },
  forgot: { path: '/auth/forgot-password', form: { username: BOB } },
  signIn: { path: '/auth/login', form: { username: BOB, password: PASSWORD } },
  code: { path: '/auth/email-code', form: { username: BOB } }
} as const

/** Posts the form of a page, and returns the page to which the redirect leads. */
export async function send(
  t: { match(found: unknown, wanted: unknown, text: string): unknown },
  browser: TestBrowser,
  page: keyof typeof PAGES,
  state: string
): Promise<LightMyRequestResponse> {
  const { path, form } = PAGES[page]
  const reply = await browser.submit(`${path}${queryOf(state)}`, form)
  t.match(reply, { statusCode: 303 }, `${page} posts once`)
  return await browser.get(String(reply.headers.location))
}

/** Opens the link of a message and presses its button. */
export async function press(browser: TestBrowser, url: string, form: Record<string, string> = {}) {
  const { pathname, searchParams } = new URL(url)
  const page = await browser.get(url)
  const action = page.statusCode === 200 ? formAction(page.body) : pathname
  return await browser.follow(await browser.submit(action, { token: searchParams.get('token') ?? '', ...form }))
}
