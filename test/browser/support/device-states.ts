/** The states of the page of the device grant. */
import type { Page } from 'playwright-core'
import type { Client } from '../../../lib/index.ts'
import { type PageState, post, signIn } from './state-steps.ts'
import type { Provider } from './provider.ts'

export const TV: Client = {
  clientId: 'tv',
  name: 'Acme TV',
  grantTypes: ['urn:ietf:params:oauth:grant-type:device_code'],
  clientUri: 'https://tv.example/about'
}

/** Asks for a code as a device does. */
export async function askForDevice({ app }: Provider): Promise<{ device_code: string; user_code: string }> {
  const payload = { client_id: 'tv', scope: 'openid profile orders:read' }
  const headers = { 'user-agent': 'acme-tv/1.0' }
  return (await app.inject({ method: 'POST', url: '/auth/device', payload, headers })).json()
}

async function asked(page: Page, provider: Provider): Promise<void> {
  await signIn(page, provider)
  const { user_code } = await askForDevice(provider)
  await page.goto(`${provider.origin}/device?user_code=${user_code}`)
  await post(page)
}

export const DEVICE_STATES: readonly PageState[] = [
  {
    name: 'device',
    async open(page, { origin }) {
      await page.goto(`${origin}/device`)
    }
  },
  {
    name: 'device-wrong',
    async open(page, provider) {
      await signIn(page, provider)
      await page.goto(`${provider.origin}/device`)
      await post(page, { user_code: 'bad' })
    }
  },
  { name: 'device-confirm', open: asked },
  {
    name: 'device-allowed',
    async open(page, provider) {
      await asked(page, provider)
      await post(page)
    }
  },
  {
    name: 'device-denied',
    async open(page, provider) {
      await asked(page, provider)
      await Promise.all([page.waitForEvent('load'), page.locator('button[value=deny]').click()])
    }
  }
]
