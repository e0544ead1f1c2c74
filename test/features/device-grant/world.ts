import type { AuthorityOptions, Client } from '../../../lib/index.ts'
import { type LightMyRequestResponse, PASSWORD, signUp, testApp } from '../../support/app.ts'
import { formAction, testBrowser, type TestBrowser } from '../../support/browser.ts'

export const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code'
export const SECRET = 'a-secret-of-at-least-32-bytes-for-a-client'
export const TV: Client = {
  clientId: 'tv',
  name: 'Acme TV',
  grantTypes: [DEVICE_GRANT, 'refresh_token'],
  redirectUris: [],
  clientUri: 'https://tv.example/about'
}

export interface Asked {
  device_code: string
  user_code: string
  verification_uri: string
  verification_uri_complete: string
  expires_in: number
  interval: number
}

type Teardown = { teardown(task: () => Promise<void>): void }

/** An app with the device grant, the user ann, and functions that act as a device or a user. */
export async function deviceWorld(t: Teardown, options: Partial<AuthorityOptions> = {}) {
  const test = await testApp({ deviceGrant: true, clients: [TV], ...options })
  t.teardown(test.close)
  const { app } = test
  const { sub } = await signUp(app)
  const post = async (url: string, form: Record<string, string | string[]>, headers: Record<string, string> = {}) => {
    const body = new URLSearchParams()
    for (const [name, value] of Object.entries(form)) for (const one of [value].flat()) body.append(name, one)
    return await app.inject({
      method: 'POST',
      url,
      headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
      payload: body.toString()
    })
  }
  const ask = async (form: Record<string, string | string[]> = {}): Promise<Asked> => {
    const reply = await post('/auth/device', { client_id: 'tv', ...form })
    if (reply.statusCode !== 200) throw new Error(`device: ${reply.statusCode} ${reply.body}`)
    return reply.json()
  }
  const poll = async (device_code: string, form: Record<string, string> = {}): Promise<LightMyRequestResponse> =>
    await post('/auth/token', { grant_type: DEVICE_GRANT, client_id: 'tv', device_code, ...form })
  const signedIn = async (username = 'ann'): Promise<TestBrowser> => {
    const browser = testBrowser(app)
    await browser.submit('/auth/login', { username, password: PASSWORD })
    return browser
  }
  /** Enters the code, and resolves to the answer of the page. */
  const enter = async (browser: TestBrowser, user_code: string): Promise<LightMyRequestResponse> =>
    await browser.submit('/device', { user_code })
  const decide = async (browser: TestBrowser, user_code: string, decision: 'allow' | 'deny') =>
    await browser.submit(formAction((await enter(browser, user_code)).body), { user_code, decision })
  return { ...test, sub, post, ask, poll, signedIn, enter, decide }
}

export type DeviceWorld = Awaited<ReturnType<typeof deviceWorld>>
