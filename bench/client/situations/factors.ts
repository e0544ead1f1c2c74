/** Second factors, passkeys, and an API that asks for more than there was. */
import { byPassword, expect, good, type Tab } from '../lab.ts'
import { CLOCK, later } from './later.ts'
import type { Situation } from './situation.ts'

const TEN_MINUTES_MS = 600_000

async function answered(tab: Tab, path: string): Promise<void> {
  const status = good(await tab.call('api', path))
  expect(status === 200, String(status))
}

export const factors: Situation[] = [
  {
    id: 'BB',
    title: 'a code of an authenticator app is asked for',
    async run(lab) {
      const person = await lab.provider.addPerson({ app: true })
      const tab = await lab.open({ stranger: true })
      await tab.signIn(byPassword(person))
      await answered(tab, '/api')
    }
  },
  {
    id: 'CC',
    title: 'a passkey instead of the password',
    async run(lab) {
      const person = await lab.provider.addPerson()
      const tab = await lab.open({ stranger: true })
      const { page } = tab
      await page.context().credentials.install()
      await page.goto(`${lab.provider.origin}/auth/login?return_to=/auth/security/passkeys`)
      await byPassword(person)(page)
      await page.getByRole('button', { name: 'Create passkey', exact: true }).click()
      await page.waitForURL(({ pathname }) => pathname === '/auth/security')
      // Another day.
      await page.context().clearCookies()
      await tab.goto('/')
      await tab.signIn(async () => {})
      await answered(tab, '/api')
    }
  },
  {
    id: 'DD',
    title: 'an API wants a newer sign-in by two factors (RFC 9470)',
    async run(lab) {
      const { provider } = lab
      const person = await provider.addPerson({ app: true })
      const tab = await lab.open({ stranger: true, script: CLOCK })
      await tab.signIn(byPassword(person))
      await answered(tab, '/api/strict')
      await later(tab, provider, TEN_MINUTES_MS)
      await answered(tab, '/api')
      // If the client does not change it, the page still has the address of the former answer.
      await tab.run("history.replaceState(null, '', '/account')")
      await tab.page.waitForURL(/\/account$/)
      await tab.signIn(byPassword(person), async () => await tab.call('api', '/api/strict'))
      await answered(tab, '/api/strict')
    }
  }
]
