/** An app in which a browser of `root` is signed in to the admin pages. */
import { type AuthorityOptions, memoryUserStore } from '../../../../lib/index.ts'
import { type TestApp, PASSWORD } from '../../../support/app.ts'
import { type TestBrowser, testBrowser } from '../../../support/browser.ts'
import type { Test } from '../../../support/tap.ts'
import { PAGES, routed, thingOf } from '../world.ts'

export async function signedIn(app: TestApp['app'], username: string): Promise<TestBrowser> {
  const browser = testBrowser(app)
  await browser.submit('/auth/login', { username, password: PASSWORD })
  return browser
}

export async function paged(t: Test, options: Partial<AuthorityOptions> = {}, before?: Parameters<typeof routed>[2]) {
  const users = memoryUserStore()
  const test = { ...(await routed(t, { users, rateLimit: false, ...options }, before)), users }
  const { app } = test
  const browser = await signedIn(app, 'root')
  /** The hidden fields of the form of a page. */
  const fieldsOf = async (url: string, by: TestBrowser = browser): Promise<Record<string, string>> => {
    const { body } = await by.get(url)
    return Object.fromEntries(
      [...body.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)">/g)].map(([, name = '', value = '']) => [
        name,
        value
      ])
    )
  }
  /** Opens a form, fills it in, and posts it. */
  const post = async (url: string, fields: Record<string, string> = {}, by: TestBrowser = browser) =>
    await by.submit(url, { ...(await fieldsOf(url, by)), ...fields })
  const entries = async (user: string, action?: string) => {
    const { entries: found } = await test.log.list({ limit: 50, user, action })
    return found.toReversed()
  }
  /** The audit entries of administrators about a user, without the first `former` ones. */
  const actsOn = async (user: string, action: string, former = 0) =>
    (await entries(user, action)).filter(({ actor }) => actor.type === 'user' && actor.id !== user).slice(former)
  /** Sets the usual password of a user who has none. */
  const givePassword = async (id: string): Promise<void> => {
    await test.users.setPasswordHash?.(id, await app.authority.hashPassword(PASSWORD))
  }
  return { ...test, PAGES, browser, fieldsOf, post, entries, actsOn, givePassword }
}

export type Paged = Awaited<ReturnType<typeof paged>>

export const REASON = 'Asked for by ticket 4711'

/** Each act: its address, its entry, and the note afterwards. */
export const ACTS: Array<[path: string, action: string, note: RegExp]> = [
  ['invite', 'user_invited', /The invitation was sent\./],
  ['reset', 'password_reset_required', /The password was removed/],
  ['disable', 'user_disabled', /The account was disabled\./],
  ['enable', 'user_enabled', /The account was enabled\./],
  ['sessions', 'sessions_ended', /All sessions were ended\./],
  ['sessions/:one', 'sessions_ended', /The session was ended\./],
  ['connections/:one', 'identity_unlinked', /The connected account was removed\./],
  ['factors/:one', 'factor_removed', /The second factor was removed\./],
  ['api-keys/:one', 'api_key_revoked', /The API key was revoked\./],
  ['delete', 'account_removed', /The account was deleted\./]
]

/** A person on whom the act can be done, and the address of its page. */
export async function victim(test: Paged, act: string): Promise<{ id: string; url: string; username: string }> {
  const { app } = test
  // A passkey needs a confirmed address, or none.
  const username = `v${Math.random().toString(36).slice(2)}${act.startsWith('factors') ? '' : '@example.com'}`
  const { id } = await app.authority.users.create({ username })
  if (act !== 'invite') await test.givePassword(id)
  if (act === 'enable') await app.authority.users.disable(id)
  const url = `/auth/admin/people/${id}/${act}`
  if (act.startsWith('sessions')) {
    await signedIn(app, username)
    const [session] = await app.authority.sessions(id)
    return { id, username, url: url.replace(':one', session?.id ?? '') }
  }
  return { id, username, url: act.includes(':one') ? url.replace(':one', await thingOf(app, url, id)) : url }
}
