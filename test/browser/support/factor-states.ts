/** The pages of second factors, passkeys and codes by email, for the list of states. */
import type { Page } from 'playwright-core'
import { type AuthorityOptions, memoryFactorStore } from '../../../lib/index.ts'
import { softPasskey } from '../../../lib/testing/index.ts'
import { type TestBrowser, testBrowser } from '../../support/browser.ts'
import { codeFor, enrol, logIn } from '../../support/factors.ts'
import { answerOn } from '../../support/passkey-pages.ts'
import type { Provider } from './provider.ts'
import { carryOver, nextName, type PageState, post, signIn } from './state-steps.ts'

const factors = memoryFactorStore()
const MUST = 'must-'

/** The options of a provider for the pages of this list. */
export const FACTOR_PAGES = {
  factors,
  // A user with this name must have one.
  mfa: { rememberDevice: {}, required: ({ username }) => username.startsWith(MUST) },
  emailSignIn: { signUp: true }
} satisfies Partial<AuthorityOptions>

interface Person {
  id: string
  username: string
  browser: TestBrowser
}

/** A user with an authenticator app, in the browser in which it was set up. */
async function withApp(provider: Provider, username = nextName()): Promise<Person> {
  const { id } = await provider.addUser(username)
  const browser = testBrowser(provider.app, provider.origin)
  await logIn(browser, username)
  await enrol(provider, browser, 'My phone')
  return { id, username, browser }
}

/** A user with a passkey as the only factor and two-step sign-in turned on. */
async function withPasskey(provider: Provider, username = nextName()): Promise<Person> {
  const { id } = await provider.addUser(username)
  const browser = testBrowser(provider.app, provider.origin)
  await logIn(browser, username)
  await addPasskey(provider, browser)
  await factors.setTwoStep({ userId: id, on: true })
  return { id, username, browser }
}

async function addPasskey({ origin }: Provider, browser: TestBrowser, synced = false): Promise<void> {
  const { statusCode, body } = await answerOn(browser, '/auth/security/passkeys', softPasskey({ origin, synced }), {
    name: 'My laptop'
  })
  if (![200, 303].includes(statusCode)) throw new Error(`passkey: ${statusCode} ${body}`)
}

/** A user with an app and two passkeys, shared by all states that only read. */
const people = new WeakMap<Provider, Promise<Person>>()
async function everything(provider: Provider): Promise<Person> {
  const made =
    people.get(provider) ??
    withApp(provider).then(async (person) => {
      await addPasskey(provider, person.browser)
      await addPasskey(provider, person.browser, true)
      return person
    })
  people.set(provider, made)
  return await made
}

/** Opens the page of the second step after a sign-in with the password. */
async function secondStep(
  page: Page,
  provider: Provider,
  { username }: Pick<Person, 'username'>,
  way = ''
): Promise<void> {
  const browser = testBrowser(provider.app, provider.origin)
  await logIn(browser, username)
  await carryOver(browser, page, provider.origin)
  await page.goto(`${provider.origin}/auth/second-factor${way}`)
}

/** Opens the set-up page for a user with only a password for whom a second factor is required. */
async function setUp(page: Page, provider: Provider): Promise<void> {
  const username = `${MUST}${nextName()}`
  await provider.addUser(username)
  await signIn(page, provider, username)
  await page.goto(`${provider.origin}/auth/second-factor/set-up`)
}

async function askForCode(page: Page, { origin }: Provider, username = 'ann@example.com'): Promise<void> {
  await page.goto(`${origin}/auth/email-code`)
  await post(page, { username })
}

const own = (name: string, path: string, of: (provider: Provider) => Promise<Pick<Person, 'browser'>>): PageState => ({
  name,
  async open(page, provider) {
    await carryOver((await of(provider)).browser, page, provider.origin)
    await page.goto(`${provider.origin}/auth/${path}`)
  }
})

async function ann({ app, origin }: Provider): Promise<Pick<Person, 'browser'>> {
  const browser = testBrowser(app, origin)
  await logIn(browser)
  return { browser }
}

/** The page `from` after its form was sent with these values. */
const then = (name: string, from: PageState, fields: Record<string, string>): PageState => ({
  name,
  async open(page, provider) {
    await from.open(page, provider)
    await post(page, fields)
  }
})

const second = (name: string, way: string): PageState => ({
  name,
  open: async (page, provider) => {
    await secondStep(page, provider, await everything(provider), `?way=${way}`)
  }
})
const code = second('second-factor', 'code')
const recovery = second('second-factor-recovery', 'recovery_code')
const mustSetUp: PageState = { name: 'set-up', open: setUp }
const setUpApp: PageState = {
  name: 'set-up-app',
  async open(page, provider) {
    await setUp(page, provider)
    await page.locator('details.pick > summary').last().click()
  }
}
const totp = own('security-totp', 'security/totp', ann)
const reauthenticate = own('reauthenticate', 'reauthenticate', ann)
const entering: PageState = { name: 'email-code-enter', open: askForCode }

export const FACTOR_STATES: readonly PageState[] = [
  code,
  then('second-factor-wrong', code, { code: '000000' }),
  recovery,
  then('second-factor-recovery-wrong', recovery, { recovery_code: 'none of mine' }),
  {
    name: 'second-factor-passkey',
    async open(page, provider) {
      await secondStep(page, provider, await withPasskey(provider))
    }
  },
  {
    name: 'second-factor-disabled',
    async open(page, provider) {
      const person = await withApp(provider)
      await factors.countFailure({ userId: person.id, max: 1 })
      await secondStep(page, provider, person)
    }
  },
  mustSetUp,
  setUpApp,
  then('set-up-wrong', setUpApp, { code: '000000' }),
  {
    name: 'recovery-codes',
    async open(page, provider) {
      await totp.open(page, provider)
      const key = (await page.locator('.key code').textContent()) ?? ''
      await post(page, { code: codeFor(key.replaceAll(' ', ''), provider.clock.now()) })
      const [app] = (await provider.app.authority.factors(provider.ann.id)).factors
      await provider.app.authority.removeFactor(provider.ann.id, app?.id ?? '')
    }
  },
  own('security-none', 'security', ann),
  own('security', 'security', everything),
  totp,
  then('security-totp-wrong', totp, { code: '000000' }),
  own('security-passkeys', 'security/passkeys', ann),
  own('passkey-prompt', 'passkey-prompt', ann),
  reauthenticate,
  then('reauthenticate-wrong', reauthenticate, { current_password: 'not this one' }),
  {
    name: 'email-code',
    async open(page, { origin }) {
      await page.goto(`${origin}/auth/email-code`)
    }
  },
  entering,
  then('email-code-wrong', entering, { code: '00000000' }),
  {
    name: 'email-code-spent',
    async open(page, provider) {
      await entering.open(page, provider)
      for (const digit of '123456') await post(page, { code: digit.repeat(8) })
    }
  },
  {
    name: 'email-code-finish',
    async open(page, provider) {
      await askForCode(page, provider, nextName())
      await post(page, { code: (await provider.messages.next('sign_in_code')).code })
    }
  },
  {
    name: 'email-link',
    async open(page, provider) {
      const username = nextName()
      await askForCode(page, provider, username)
      await page.goto((await provider.messages.next('sign_in_code')).url ?? '')
    }
  },
  {
    name: 'email-link-elsewhere',
    async open(page, provider) {
      await askForCode(page, provider, nextName())
      await page.context().clearCookies()
      await page.goto((await provider.messages.next('sign_in_code')).url ?? '')
    }
  },
  {
    name: 'security-stale',
    async open(page, provider) {
      const person = await everything(provider)
      provider.clock.step(301_000)
      await carryOver(person.browser, page, provider.origin)
      await page.goto(`${provider.origin}/auth/security`)
    }
  }
]
