import type { Page, Response } from 'playwright-core'
import type { PageOptions } from './chromium.ts'
import { isFirefox } from './firefox.ts'
import { PASSWORD } from '../../support/app.ts'
import { AT_NIGHT } from '../../support/at-night.ts'
import { decodeJwt } from '../../support/jwt.ts'
import { basic, type CodeTokens, redeem, SECRET } from '../../support/openid.ts'
import type { Provider } from './provider.ts'

/** Every journey runs with and without scripts; in Firefox only with scripts. */
export const WITH_AND_WITHOUT: ReadonlyArray<{ name: string; options: PageOptions }> = [
  { name: 'without JavaScript', options: { javaScriptEnabled: false, locale: 'en' } },
  { name: 'with JavaScript', options: { javaScriptEnabled: true, locale: 'en' } }
].filter(({ options }) => !isFirefox || options.javaScriptEnabled)

/** For journeys whose forms other tests send by `inject`, as a browser without scripts does. */
export const WITH_AND_AT_NIGHT_WITHOUT = WITH_AND_WITHOUT.filter(({ options }) => AT_NIGHT || options.javaScriptEnabled)

export const USERNAME = 'Username or email'

/** Presses a button that posts a form; resolves to the first answer, once the page that it led to is there. */
export async function press(page: Page, name: string): Promise<Response> {
  const posted = page.waitForResponse(
    (response) => response.request().isNavigationRequest() && response.request().method() === 'POST'
  )
  const [response] = await Promise.all([
    posted,
    page.waitForEvent('load'),
    page.getByRole('button', { name, exact: true }).click()
  ])
  return response
}

/** Follows a link to a page. */
export async function followLink(page: Page, name: string): Promise<void> {
  await Promise.all([page.waitForEvent('load'), page.getByRole('link', { name, exact: true }).click()])
}

/** Fills in the fields with these labels. A code is not typed, because a whole code would send itself. */
export async function fill(page: Page, fields: Record<string, string>): Promise<void> {
  for (const [label, value] of Object.entries(fields)) {
    const field = page.getByLabel(label, { exact: true })
    if (!label.endsWith('-digit code')) await field.fill(value)
    else
      await field.evaluate((input, typed) => {
        Object.assign(input, { value: typed })
      }, value)
  }
}

/** Leaves the page of new recovery codes. */
export async function keepCodes(page: Page): Promise<void> {
  await page.getByLabel('I have saved these codes').check()
  await followLink(page, 'Done')
}

export async function signInOn(page: Page, { username = 'ann', password = PASSWORD } = {}): Promise<Response> {
  await fill(page, { [USERNAME]: username, Password: password })
  return await press(page, 'Sign in')
}

export async function signUpOn(page: Page, username: string): Promise<Response> {
  await fill(page, { [USERNAME]: username, Password: PASSWORD })
  return await press(page, 'Create account')
}

/** The heading of the page, by which a person recognizes it. */
export async function heading(page: Page): Promise<string> {
  return await page.getByRole('heading', { level: 1 }).innerText()
}

/** The errors on the page. */
export async function alerts(page: Page): Promise<string[]> {
  return await page.getByRole('alert').allInnerTexts()
}

/** The values of the fields with these labels. */
export async function valuesOf(page: Page, ...labels: string[]): Promise<string[]> {
  return await Promise.all(labels.map(async (label) => await page.getByLabel(label, { exact: true }).inputValue()))
}

/** The parameters with which the browser came (back) to the client's redirect URI. */
export async function answerAt(page: Page, { client }: Provider): Promise<Record<string, string>> {
  await page.waitForURL((url) => url.href.startsWith(`${client.origin}/cb`))
  const visit = client.visits.at(-1)
  if (visit === undefined || visit.path !== '/cb')
    throw new Error(`the client was last asked for ${visit?.path ?? 'nothing'}`)
  return visit.params
}

/** The user whom the browser has brought to the client: the subject of the ID token for its code. */
export async function userAt(page: Page, provider: Provider, clientId = 'spa'): Promise<unknown> {
  return decodeJwt((await tokensAt(page, provider, clientId)).id_token ?? '').claims.sub
}

/** The client's tokens for its code. */
export async function tokensAt(page: Page, provider: Provider, clientId = 'spa'): Promise<CodeTokens> {
  const { code = '', ...rest } = await answerAt(page, provider)
  if (code === '') throw new Error(`the client got no code: ${JSON.stringify(rest)}`)
  const reply = await redeem(
    provider.app,
    code,
    { client_id: clientId === 'spa' ? clientId : undefined, redirect_uri: `${provider.client.origin}/cb` },
    clientId === 'spa' ? {} : basic(clientId, SECRET)
  )
  if (reply.statusCode !== 200) throw new Error(`token: ${reply.statusCode} ${reply.body}`)
  return reply.json<CodeTokens>()
}
