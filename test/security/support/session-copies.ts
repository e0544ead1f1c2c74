/** Browsers of one user, and copies of their cookies. */
import { type TestBrowser, testBrowser } from '../../support/browser.ts'
import type { TestApp } from '../../support/app.ts'

/** A browser with a copy of the cookies, as a thief has. */
export function copyOf(app: TestApp['app'], browser: TestBrowser): TestBrowser {
  const copy = testBrowser(app)
  for (const [name, value] of browser.cookies) copy.cookies.set(name, value)
  return copy
}
/** The acr of the browser's session, or `undefined` without a session. */
export const acrOf = async (browser: TestBrowser): Promise<string | null | undefined> =>
  ((await browser.get('/who')).json() as { acr: string | null } | null)?.acr
export const whoRoute = {
  before(app: TestApp['app']) {
    app.get('/who', { onRequest: [(...args) => app.authority.readSession(...args)] }, async (request) =>
      JSON.stringify(request.authSession ?? null)
    )
    app.get('/vouch', async (request, reply) => {
      const { sub } = request.query as { sub: string }
      await app.authority.signIn(request, reply, sub, { amr: ['pwd'] })
      return 'ok'
    })
  }
}
