/** The steps that lead to each page of the list of states. */
import type { Page } from 'playwright-core'
import { PASSWORD } from '../../support/app.ts'
import { type TestBrowser, testBrowser } from '../../support/browser.ts'
import type { Provider } from './provider.ts'

/** A hosted page as a person sees it. `open` leads a browser there in any language, with any signed-in user. */
export interface PageState {
  name: string
  open(page: Page, provider: Provider): Promise<void>
}

/** Creates data without the pages, because each state has its own. */
export async function signIn(page: Page, { app, origin }: Provider, username = 'ann'): Promise<TestBrowser> {
  const browser = testBrowser(app, origin)
  const { statusCode } = await browser.submit('/auth/login', { username, password: PASSWORD })
  if (statusCode !== 303) throw new Error(`sign-in: ${statusCode}`)
  await carryOver(browser, page, origin)
  return browser
}

/** Resolves to the link in the message. */
export async function signUp({ app, origin, messages }: Provider, username: string): Promise<string> {
  await testBrowser(app, origin).submit('/auth/signup', { username, password: PASSWORD })
  return (await messages.next('verify_email')).url
}

/** Copies the other browser's state to the page: a session, or a step of a sign-in. */
export async function carryOver({ cookies }: TestBrowser, page: Page, origin: string): Promise<void> {
  await page.context().addCookies([...cookies].map(([name, value]) => ({ name, value, url: origin })))
}

let names = 0

/** A value that does not exist. */
export function nextName(): string {
  names += 1
  return `somebody${names}@example.com`
}

/** Sends the page's form with its first button, whatever language that is in; not the form that asks for a passkey. */
export async function post(page: Page, fields: Record<string, string> = {}): Promise<void> {
  for (const [name, value] of Object.entries(fields))
    // Not as if typed: a whole code would send itself.
    await page.locator(`input[name=${name}]`).evaluate((input, typed) => {
      Object.assign(input, { value: typed })
    }, value)
  await Promise.all([
    page.waitForEvent('load'),
    page.locator('main form:not([data-passkey]) button[type=submit]').first().click()
  ])
}
