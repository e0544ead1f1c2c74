/** An app with a user whom an administrator invited. */
import { type AuthorityOptions, memoryUserStore, type Message, type UserStore } from '../../../lib/index.ts'
import { testApp } from '../../support/app.ts'
import { testBrowser } from '../../support/browser.ts'

export const BOB = 'bob@example.com'
export const PASSWORD = 'a long good pass phrase'
export const PAGE = '/auth/accept-invitation'

export async function withInvited(
  t: { teardown(handler: () => unknown): unknown },
  { users: store = memoryUserStore(), ...options }: Partial<AuthorityOptions> = {}
) {
  const test = await testApp({ users: store, ...options })
  t.teardown(test.close)
  const { users } = test.app.authority
  const { id } = await users.create({ username: BOB, email: BOB, invite: true })
  const { token, url } = await test.messages.next('invitation')
  const visit = () => visitor(test.app)
  return { ...test, store: store as UserStore, users, id, token, url, visit, ...visit() }
}

/** A new browser on the page of the invitation. */
export function visitor(app: Parameters<typeof testBrowser>[0]) {
  const browser = testBrowser(app)
  return {
    browser,
    open: async (token: string) => await browser.get(`${PAGE}?token=${token}`),
    accept: async (token: string, password = PASSWORD) =>
      await browser.submit(`${PAGE}?token=${token}`, { token, password })
  }
}

/** The kinds of the messages so far. */
export const kindsOf = ({ messages: { messages } }: { messages: { messages: readonly Message[] } }): string[] =>
  messages.map(({ kind }) => kind)

export const namesOf = ({ events }: { events: Array<{ name: string }> }): string[] => events.map(({ name }) => name)
