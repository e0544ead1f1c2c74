/** Forms and reads of the hosted pages where the browser sends no `Sec-Fetch-Site`: plain http off loopback. */
import type { Page } from 'playwright-core'
import t from '../support/tap.ts'
import { memoryFactorStore } from '../../lib/index.ts'
import { PASSWORD } from '../support/app.ts'
import { withChromium } from './support/chromium.ts'
import { startProvider } from './support/provider.ts'

const { newPage } = await withChromium(t, ['--host-resolver-rules=MAP box.test 127.0.0.1'])
const NEXT = 'a better horse battery'
const ANN = 'ann@mail.example'

for (const host of ['localhost', 'box.test']) {
  // covers ASVS-3.5.1
  t.test(`accepts forms and account requests at http://${host}`, async (t) => {
    const provider = await startProvider(t, {
      host,
      allowInsecureIssuer: true,
      registration: { verifyEmail: true },
      emailSignIn: {},
      factors: memoryFactorStore(),
      passkeys: false,
      secret: 'a secret of at least thirty-two bytes'
    })
    const { app, messages, origin } = provider
    const ann = await provider.addUser(ANN)
    const posts: Array<{ path: string; site: unknown; origin: unknown; status: number }> = []
    const page = await newPage(t, { locale: 'en', allow: [/Cross-Origin-Opener-Policy header has been ignored/] })
    page.on('response', (response) => {
      const request = response.request()
      if (request.method() === 'POST') posts.push(seen(request.headers(), response.url(), response.status()))
    })
    const submit = async (url: string, fields: Record<string, string> = {}): Promise<void> => {
      await page.goto(new URL(url, origin).href)
      for (const [name, value] of Object.entries(fields)) await page.locator(`input[name=${name}]`).fill(value)
      await Promise.all([
        page.waitForEvent('load'),
        page.locator('form[method=post] button:not([type=button])').first().click()
      ])
    }

    await submit('/auth/signup', { username: 'bob@mail.example', password: PASSWORD })
    await submit((await messages.next('verify_email')).url)
    await submit('/auth/forgot-password', { username: ANN })
    await submit((await messages.next('password_reset')).url, { password: NEXT })
    await page.context().clearCookies()
    await submit('/auth/email-code', { username: ANN })
    await submit((await messages.next('sign_in_code')).url ?? '')
    await submit((await app.authority.startEnrolment(ann.id)).url)

    t.same(
      posts.map(({ path, status }) => [path, status < 400]),
      [
        '/auth/signup',
        '/auth/verify-email',
        '/auth/forgot-password',
        '/auth/reset-password',
        '/auth/email-code',
        '/auth/email-link',
        '/auth/second-factor/link'
      ].map((path) => [path, true])
    )
    if (host === 'box.test')
      t.same(
        new Set(posts.map(({ site, origin: from }) => `${String(site)} ${String(from)}`)),
        new Set([`undefined ${origin}`])
      )

    await page.context().clearCookies()
    await submit('/auth/login', { username: ANN, password: NEXT })
    await page.goto(origin)
    for (const path of ['session', 'profile', 'sessions', 'factors'])
      t.equal(await statusOf(page, `/auth/${path}`), 200, path)
  })
}

function seen(headers: Record<string, string>, url: string, status: number) {
  return { path: new URL(url).pathname, site: headers['sec-fetch-site'], origin: headers.origin, status }
}

async function statusOf(page: Page, path: string): Promise<number> {
  return await page.evaluate(async (url) => (await fetch(url)).status, path)
}
