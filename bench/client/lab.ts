import type { Browser, BrowserContext, Cookie, Page } from 'playwright-core'
import type { ClientKind } from './clients.ts'
import { type Person, type Provider, USER } from './provider.ts'
import type { Site } from './site.ts'

/** The life of an access token, and a little. */
const EXPIRED_MS = 5200
/** No call may take longer. */
const HANGS_MS = 16_000
export const HANGS = 'over_16_s'

/** A client's fault, in a word. */
export class Failed extends Error {
  /** The client's own message. */
  readonly detail: string

  constructor(word: string, detail = '') {
    super(word)
    this.detail = detail
  }
}

export interface Outcome {
  value?: unknown
  error?: string
  message?: string
}

/** The person's acts on the pages of the provider, from the sign-in page on. */
export type Answer = (page: Page) => Promise<void>

/** One tab of a browser, with the client under test in its page. */
export interface Tab {
  page: Page
  goto(path: string): Promise<void>
  /** Another tab of the same browser. */
  another(path?: string): Promise<Tab>
  call(method: string, argument?: unknown): Promise<Outcome>
  /** The same of what `expression` resolves to; `HANGS` where that takes too long. */
  run<T = Outcome>(expression: string): Promise<T>
  /**
   * To the provider and back, up to the page with the code, which is not yet looked at. `lead`: the call that leads
   * there, `login` where none is given. @throws Failed
   */
  login(answer?: Answer, lead?: () => Promise<Outcome>): Promise<void>
  /** All of it. @throws Failed */
  signIn(answer?: Answer, lead?: () => Promise<Outcome>): Promise<void>
  /** @throws Failed where nobody is signed in, or there is no token that the server takes */
  works(): Promise<void>
}

export interface Lab {
  client: ClientKind
  provider: Provider
  site: Site
  /**
   * A new browser. `script` runs before those of every page; `base` is `/`, `/csp/` or `/tt/`; `stranger`: nobody has
   * signed in there before.
   */
  open(options?: { script?: string; base?: string; stranger?: boolean }): Promise<Tab>
  expire(): Promise<void>
  close(): Promise<void>
}

export const sleep = async (ms: number): Promise<void> => {
  await new Promise((resolve) => {
    setTimeout(resolve, ms)
  })
}

/** The value of an outcome. @throws Failed with its error */
export function good(outcome: Outcome): unknown {
  if (outcome.error !== undefined) throw new Failed(outcome.error, outcome.message)
  return outcome.value
}

/** True if there is a token in it. */
export function hasToken({ error, value }: Outcome): boolean {
  return error === undefined && typeof value === 'string'
}

export function expect(holds: boolean, word: string): void {
  if (!holds) throw new Failed(word)
}

/** The password, and where they have an authenticator app its code. */
export const byPassword =
  ({ username, password, code }: Person): Answer =>
  async (page) => {
    const name = page.locator('input[name=username]')
    // A signed-in person can't become another one.
    if (await name.isEditable()) await name.fill(username)
    await page.getByLabel('Password', { exact: true }).fill(password)
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    if (code === undefined) return
    // The page sends itself with the sixth digit.
    await page.getByLabel('6-digit code', { exact: true }).fill(code())
  }

/**
 * `contexts` are closed when a situation ends; the cookies of the provider stay, so that only the first sign-in shows a
 * page.
 */
export function createLab(browser: Browser, client: ClientKind, provider: Provider, site: Site): Lab {
  const contexts: BrowserContext[] = []
  let cookies: Cookie[] = []
  return {
    client,
    provider,
    site,
    async open({ script, base = '/', stranger = false } = {}) {
      const context = await browser.newContext({ locale: 'en' })
      contexts.push(context)
      if (!stranger) await context.addCookies(cookies)
      if (script !== undefined) await context.addInitScript({ content: script })
      const tab = await tabOf(context, {
        site,
        provider,
        signedIn: async () => {
          if (!stranger) cookies = await context.cookies()
        }
      })
      await tab.goto(base)
      return tab
    },
    expire: async () => {
      await sleep(EXPIRED_MS)
    },
    async close() {
      provider.fault = 'none'
      provider.ahead = 0
      await Promise.all(
        contexts.splice(0).map(async (context) => {
          await context.close()
        })
      )
    }
  }
}

async function tabOf(
  context: BrowserContext,
  where: { site: Site; provider: Provider; signedIn: () => Promise<void> }
): Promise<Tab> {
  const { site, provider, signedIn } = where
  const page = await context.newPage()
  const tab: Tab = {
    page,
    goto: async (path) => {
      await page.goto(`${site.origin}${path}`)
    },
    async another(path = '/') {
      const other = await tabOf(context, where)
      await other.goto(path)
      return other
    },
    call: async (method, argument) =>
      await tab.run(`bench.call(${JSON.stringify(method)}, ${JSON.stringify(argument)})`),
    async run<T>(expression: string) {
      return await Promise.race([page.evaluate<T>(expression), sleep(HANGS_MS).then(() => ({ error: HANGS }) as T)])
    },
    async login(answer = byPassword(USER), lead = async () => await tab.call('login')) {
      const back = page.waitForURL((url) => url.origin === site.origin && url.pathname.endsWith('/callback'))
      const asked = page.waitForURL((url) => ['/auth/login', '/auth/reauthenticate'].includes(url.pathname))
      for (const wait of [back, asked]) wait.catch(() => {})
      // That the page is left in the middle of it is what it is for.
      const left = await lead().catch((): Outcome => ({}))
      if (left.error !== HANGS) good(left)
      if (await Promise.race([back.then(() => false), asked.then(() => true)])) {
        await answer(page)
        await back
        await signedIn()
      }
    },
    async signIn(answer, lead) {
      await tab.login(answer, lead)
      good(await tab.call('callback'))
      expect(good(await tab.call('user')) !== null, 'nobody')
    },
    async works() {
      expect(good(await tab.call('user')) !== null, 'signed_out')
      expect(await provider.takes(good(await tab.call('token'))), 'refused_token')
    }
  }
  return tab
}
