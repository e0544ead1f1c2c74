/**
 * The browser client in Chromium under the strictest policy: no violation, no script but its own, Trusted Types
 * enforced.
 */
import t from '../support/tap.ts'
import { clientSubject } from './support/client-app.ts'
import { withChromium } from './support/chromium.ts'
import { signInOn } from './support/journeys.ts'

const chromium = await withChromium(t)

t.test("signs in, refreshes and signs out under default-src 'none' and Trusted Types", async (t) => {
  // The page shows the result as text, because the policy allows no script from outside.
  const script = `
    const show = (text) => { document.querySelector('h1').textContent = text }
    document.addEventListener('securitypolicyviolation', (event) => { show('violation of ' + event.violatedDirective) })
    const steps = {
      '/': () => auth.loginWithRedirect(),
      '/callback': async () => {
        await auth.handleRedirectCallback()
        const user = await auth.getUser(), token = await auth.getAccessToken({ force: true })
        await auth.logout({ returnTo: false })
        show([user.preferred_username, typeof token, String(await auth.getUser())].join(' '))
      }
    }
    globalThis.started = steps[location.pathname]().catch((error) => { show(error.error) })
  `
  const { app, provider } = await clientSubject(t, { script, head: policyFor })
  const page = await chromium.newPage(t)
  await page.goto(`${app.origin}/`)
  await page.waitForURL((url) => url.pathname === '/auth/login')
  await signInOn(page)
  await page.waitForURL(`${app.origin}/callback`)
  await page.locator('h1', { hasNotText: 'App' }).waitFor()
  t.equal(await page.locator('h1').innerText(), 'ann string null')
  t.match(await page.content(), policyFor(provider.origin).slice(0, 40), 'the policy was there')
})

function policyFor(provider: string): string {
  return (
    `<meta http-equiv="content-security-policy" content="default-src 'none'; script-src ` +
    `'self'; connect-src ${provider}; img-src data:; require-trusted-types-for 'script'; ` +
    `trusted-types 'none'">`
  )
}
