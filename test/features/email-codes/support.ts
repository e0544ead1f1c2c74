/** People who sign in by an emailed code. */
import { cookieName } from '../../support/cookies.ts'
import { type AuthorityOptions, memoryUserStore, type Message, type UserStore } from '../../../lib/index.ts'
import { type LightMyRequestResponse, PASSWORD, type TestApp, testApp } from '../../support/app.ts'
import { type TestBrowser, testBrowser } from '../../support/browser.ts'

export const ANN = 'ann@mail.example'
export const STRANGER = 'nobody@mail.example'
export const PAGE = '/auth/email-code'

export interface EmailApp extends TestApp {
  sub: string
  users: UserStore
  browser: TestBrowser
  /** The code of the next message, as displayed, and its link. */
  mail(): Promise<{ code: string; url: string }>
  /** All messages with a code so far. */
  sent(): Message[]
}

/** Ann, whose address is confirmed and who has a password. */
export async function emailApp(
  t: { teardown(close: () => Promise<void>): void },
  options: Partial<AuthorityOptions> = {},
  { verified = true } = {}
): Promise<EmailApp> {
  const users = options.users ?? memoryUserStore()
  const given = {
    emailSignIn: {},
    ...options,
    users,
    registration: { username: 'email' as const, ...options.registration }
  }
  const subject = await testApp(given)
  t.teardown(subject.close)
  const reply = await subject.app.inject({
    method: 'POST',
    url: '/auth/register',
    payload: { username: ANN, password: PASSWORD }
  })
  if (reply.statusCode !== 201) throw new Error(`register: ${reply.statusCode} ${reply.body}`)
  const { sub } = reply.json<{ sub: string }>()
  if (verified) await users.setEmailVerified?.(sub)
  return {
    ...subject,
    sub,
    users,
    browser: testBrowser(subject.app),
    sent: () => subject.messages.messages.filter(({ kind }) => kind === 'sign_in_code'),
    async mail() {
      const message = await subject.messages.next('sign_in_code')
      return { code: message.code, url: message.url ?? '' }
    }
  }
}

/** Asks for a code as a person does. */
export async function ask(browser: TestBrowser, username = ANN, query = ''): Promise<LightMyRequestResponse> {
  return await browser.submit(`${PAGE}${query}`, { username })
}

export async function enter(browser: TestBrowser, code: string, query = ''): Promise<LightMyRequestResponse> {
  return await browser.submit(`${PAGE}${query}`, { code })
}

/** A wrong code. */
export function otherThan(code: string, index = 0): string {
  return String((Number(code.replace(' ', '')) + 1 + index) % 100_000_000).padStart(8, '0')
}

export const hasSession = (browser: TestBrowser): boolean => browser.cookies.has(cookieName('session'))
