/** A user with a second factor, set up through the pages. */
import { totpCode as codeOf, totpStep } from '../../lib/protocol/totp.ts'
import { memoryFactorStore, type AuthorityOptions } from '../../lib/index.ts'
import type { FactorStore } from '../../lib/ports/factor-store.ts'
import { delayed } from '../../lib/testing/index.ts'
import { ISSUER, PASSWORD, signUp, type LightMyRequestResponse, type TestApp, testApp } from './app.ts'
import { cookieName } from './cookies.ts'
import { type TestBrowser, testBrowser } from './browser.ts'

export interface FactorApp extends TestApp {
  sub: string
  store: FactorStore
  /** If set, this method of the store fails. */
  broken: Set<keyof FactorStore>
  /** The base32 of the app's key, and the recovery codes. */
  secret: string
  codes: string[]
  /** The code that the app shows now, or that many steps later. */
  code(offset?: number): string
  /** The browser in which it was set up. */
  browser: TestBrowser
}

/** A store that services with other secrets or issuers can share, because it keeps no seal. */
export function unsealed({ keepSeal: _seal, ...store }: FactorStore): FactorStore {
  return store
}

/** Ann, who has an authenticator app, in a browser where she signed in with it; the clock stands a step after that. */
export async function factorApp(
  t: { teardown(close: () => Promise<void>): void },
  options: Partial<AuthorityOptions> = {},
  { enrolled = true, before }: { enrolled?: boolean; before?: Parameters<typeof testApp>[2] } = {}
): Promise<FactorApp> {
  const broken = new Set<keyof FactorStore>()
  const store = delayed(memoryFactorStore())
  const factors = new Proxy(store, {
    get(target, name, receiver) {
      if (broken.has(name as keyof FactorStore))
        return async () => {
          throw Object.assign(new Error('the server is gone'), { code: 'ECONNREFUSED' })
        }
      return Reflect.get(target, name, receiver) as unknown
    }
  })
  const subject = await testApp({ factors, ...options }, {}, before)
  t.teardown(subject.close)
  const { sub } = await signUp(subject.app)
  const browser = testBrowser(subject.app)
  const found: FactorApp = {
    ...subject,
    sub,
    store,
    broken,
    secret: '',
    codes: [],
    code: (offset = 0) => codeFor(found.secret, subject.clock.now(), offset),
    browser
  }
  if (enrolled) {
    await logIn(browser)
    Object.assign(found, await enrol(found, browser))
    subject.clock.step(30_000)
  }
  return found
}

/** Stores an authenticator app of Ann, whose codes nobody knows. */
export async function putApp({ store, sub }: Pick<FactorApp, 'store' | 'sub'>): Promise<void> {
  const state = { lastStep: 0, failures: 0, knownFailures: 0, disabled: false, provisional: false }
  const factor = { id: 'app', sealedSecret: 'sealed', name: null, createdAt: 0, lastUsedAt: null, ...state }
  await store.addTotp({ userId: sub, limit: 10, factor })
}

/** The store makes the change and loses the answer. */
export function lose(store: FactorStore, method: 'setTwoStep' | 'addTotp' | 'addPasskey'): void {
  const act = store[method].bind(store) as (given: never) => Promise<unknown>
  Object.assign(store, {
    async [method](given: never) {
      Object.assign(store, { [method]: act })
      await act(given)
      throw Object.assign(new Error('the server is gone'), { code: 'ECONNREFUSED' })
    }
  })
}

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'
/** The code that an app computes from a scanned base32 secret. */
export function codeFor(base32: string, now: number, offset = 0): string {
  const bits = [...base32].map((character) => ALPHABET.indexOf(character).toString(2).padStart(5, '0')).join('')
  return codeOf(Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => parseInt(byte, 2))), totpStep(now) + offset)
}

export const logIn = async (
  browser: TestBrowser,
  username = 'ann',
  password = PASSWORD,
  query = ''
): Promise<LightMyRequestResponse> => await browser.submit(`/auth/login${query}`, { username, password })

/** The form of a page with its hidden fields. */
export function formOf(html: string, from = 0): { action: string; fields: Record<string, string> } {
  const start = html.indexOf('<form method="post"', from)
  const form = html.slice(start, html.indexOf('</form>', start))
  const unescape = (text = ''): string => text.replaceAll('&amp;', '&').replaceAll('&quot;', '"')
  return {
    action: unescape(/action="([^"]*)"/.exec(form)?.[1]),
    fields: Object.fromEntries(
      [...form.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)">/g)].map(([, name = '', value]) => [
        name,
        unescape(value)
      ])
    )
  }
}

/** Follows the link by which a person says that the recovery codes of this page are saved. */
export async function saveCodes(
  browser: TestBrowser,
  html: string,
  site = 'same-origin'
): Promise<LightMyRequestResponse> {
  const [, href = ''] = /<a [^>]*href="([^"]*done=codes_saved[^"]*)"/.exec(html) ?? []
  return await browser.get(href.replaceAll('&amp;', '&'), { 'sec-fetch-site': site })
}

/** True if the reply leads to the page with new recovery codes. */
export const makesCodes = ({ statusCode, cookies }: LightMyRequestResponse): boolean =>
  statusCode === 303 && cookies.some(({ name, value }) => name === cookieName('codes') && value !== '')

/** The page with the new recovery codes that the reply leads to. */
export const codesPage = async (browser: TestBrowser, reply: LightMyRequestResponse): Promise<string> =>
  (await browser.follow(reply)).reply.body

/** The recovery codes that a page shows. */
export const codesIn = (html: string): string[] =>
  [...html.matchAll(/<li><code>([^<]+)<\/code>/g)].map(([, code = '']) => code)

export async function enrol(
  { clock }: Pick<TestApp, 'clock'>,
  browser: TestBrowser,
  name = ''
): Promise<{ secret: string; codes: string[]; reply: LightMyRequestResponse }> {
  const { body } = await browser.get('/auth/security/totp')
  const secret = (/<code dir="ltr">([A-Z2-7 ]+)<\/code>/.exec(body)?.[1] ?? '').replaceAll(' ', '')
  const { action, fields } = formOf(body)
  const reply = await browser.submit(action, { ...fields, code: codeFor(secret, clock.now()), name })
  if (![200, 303].includes(reply.statusCode)) throw new Error(`enrol: ${reply.statusCode} ${reply.body}`)
  const shown = await codesPage(browser, reply)
  const codes = codesIn(shown)
  if (codes.length > 0) await saveCodes(browser, shown)
  return { secret, codes, reply }
}

/** The user who is signed in in the browser, by every route that reads its session. */
export async function signedInAnywhere(browser: TestBrowser): Promise<string[]> {
  const found: string[] = []
  for (const url of [
    '/auth/account',
    '/auth/security',
    '/auth/security/totp',
    '/auth/account/password',
    '/auth/account/sessions',
    '/auth/session',
    '/auth/sessions',
    '/auth/profile',
    '/auth/factors'
  ]) {
    const { statusCode, headers } = await browser.get(url)
    if (statusCode < 300 || (statusCode === 303 && !String(headers.location).startsWith('/auth/login')))
      found.push(`${url}: ${statusCode}`)
  }
  return found
}
export { ISSUER }
