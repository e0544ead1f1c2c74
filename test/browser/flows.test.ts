/**
 * Counts presses, typed fields, and pages with messages of user journeys, for each kind of input. A journey begins on
 * its first page. Dialogs of the system do not count.
 */
import type { Page } from 'playwright-core'
import t from '../support/tap.ts'
import { memoryFactorStore } from '../../lib/index.ts'
import { PASSWORD } from '../support/app.ts'
import { testBrowser } from '../support/browser.ts'
import { enrol, logIn } from '../support/factors.ts'
import { withChromium } from './support/chromium.ts'
import { type Hand, HANDS } from './support/hands.ts'
import { answerAt, signInOn, USERNAME } from './support/journeys.ts'
import { type Provider, startProvider } from './support/provider.ts'

const NEXT = 'a better horse battery'
const { newPage } = await withChromium(t)

interface Counts {
  presses: number
  fields: number
  pages: number
}

/** A person whose presses, typed fields and pages are counted. */
interface Walk {
  page: Page
  /** Opens the first page by its address. The count begins there. */
  begin(url: string): Promise<void>
  /** The count begins at the page that is open. */
  beginHere(): void
  /** Presses the button or link. */
  press(name: string): Promise<void>
  type(label: string, value: string): Promise<void>
  /** Types a whole code, which sends itself where scripts run. */
  typeCode(label: string, value: string): Promise<void>
  /** Reads a message and presses its link. */
  openLink(url: string): Promise<void>
  readMessage(): void
  counts(): Counts
}

function walkOf(page: Page, { origin }: Provider, hand: Hand): Walk {
  let counted: Counts = { presses: 0, fields: 0, pages: 0 }
  page.on('response', (response) => {
    const isRedirect = response.status() >= 300 && response.status() < 400
    if (response.request().isNavigationRequest() && !isRedirect && response.url().startsWith(origin)) counted.pages++
  })
  const moved = async (act: () => Promise<unknown>): Promise<void> => {
    await Promise.all([page.waitForEvent('load'), act()])
  }
  const type = async (label: string, value: string): Promise<void> => {
    counted.fields++
    await hand.type(page, label, value)
  }
  return {
    page,
    async begin(url) {
      counted = { presses: 0, fields: 0, pages: 0 }
      // The page may navigate before all of it has loaded.
      await page.goto(new URL(url, origin).href, { waitUntil: 'commit' })
    },
    beginHere() {
      counted = { presses: 0, fields: 0, pages: 1 }
    },
    async press(name) {
      counted.presses++
      await moved(async () => {
        await hand.press(page, name)
      })
    },
    type,
    async typeCode(label, value) {
      if (hand.options.javaScriptEnabled === true)
        await moved(async () => {
          await type(label, value)
        })
      else {
        await type(label, value)
        await this.press('Continue')
      }
    },
    async openLink(url) {
      counted.presses++
      counted.pages++
      await page.goto(url)
    },
    readMessage() {
      counted.pages++
    },
    counts: () => ({ ...counted })
  }
}

interface Flow {
  name: string
  most: Counts
  /** With scripts, a passkey is proposed before the app: a page more than `most`. */
  proposes?: true
  /** The browser makes passkeys only for scripts. */
  needsScripts?: boolean
  /** The last place: the app, or the path of a page. */
  ends: 'app' | RegExp
  go(walk: Walk, provider: Provider): Promise<void>
}

let people = 0
const nextName = (): string => `flow-${++people}@example.com`

const FLOWS: readonly Flow[] = [
  {
    name: 'sign-up with a confirmed email',
    most: { presses: 2, fields: 3, pages: 3 },
    ends: 'app',
    async go(walk, { authorizeUrl, messages }) {
      await walk.begin(authorizeUrl({ prompt: 'create' }))
      await walk.type(USERNAME, nextName())
      await walk.type('Password', PASSWORD)
      await walk.press('Create account')
      walk.readMessage()
      await walk.typeCode('8-digit code', (await messages.next('verify_email')).code ?? '')
    }
  },
  {
    name: 'sign-up by an emailed code',
    most: { presses: 3, fields: 2, pages: 3 },
    // The page that proposes a passkey is a flow of its own, and declining it is a press.
    proposes: true,
    ends: 'app',
    async go(walk, { authorizeUrl, messages }) {
      await walk.page.goto(authorizeUrl())
      await walk.begin(
        (await walk.page.getByRole('button', { name: 'Email me a code' }).getAttribute('formaction')) ?? ''
      )
      await walk.type(USERNAME, nextName())
      await walk.press('Send code')
      walk.readMessage()
      await walk.typeCode('8-digit code', (await messages.next('sign_in_code')).code ?? '')
      await notNow(walk)
    }
  },
  {
    name: 'addition of a passkey after the sign-in',
    most: { presses: 1, fields: 0, pages: 1 },
    needsScripts: true,
    ends: 'app',
    async go({ page, beginHere, press }, provider) {
      await page.context().credentials.install()
      await page.goto(provider.authorizeUrl())
      await signInOn(page, { username: (await provider.addUser(nextName())).username })
      beginHere()
      await press('Create passkey')
    }
  },
  {
    name: 'sign-in with a passkey',
    most: { presses: 1, fields: 0, pages: 1 },
    needsScripts: true,
    ends: 'app',
    async go({ page, begin, press }, provider) {
      await page.context().credentials.install()
      await page.goto(provider.authorizeUrl())
      await signInOn(page, { username: (await provider.addUser(nextName())).username })
      await press('Create passkey')
      await answerAt(page, provider)
      await begin(provider.authorizeUrl({ prompt: 'login' }))
    }
  },
  {
    name: 'sign-in with a recovery code after the phone is lost',
    most: { presses: 2, fields: 1, pages: 2 },
    ends: 'app',
    async go({ page, beginHere, press, type }, provider) {
      const { username } = await provider.addUser(nextName())
      const browser = testBrowser(provider.app, provider.origin)
      await logIn(browser, username)
      const { codes } = await enrol(provider, browser)
      await page.goto(provider.authorizeUrl())
      await signInOn(page, { username })
      beginHere()
      await press('Recovery code')
      await type('Recovery code', codes[0] ?? '')
      await press('Continue')
    }
  },
  {
    name: 'change of the email',
    most: { presses: 4, fields: 2, pages: 4 },
    ends: /\/auth\/account\/email/,
    async go(walk, provider) {
      await signedIn(walk.page, provider)
      await walk.begin(`${provider.origin}/auth/account/email`)
      await walk.type('New email', nextName())
      await walk.press('Send link')
      walk.readMessage()
      await walk.typeCode('8-digit code', (await provider.messages.next('email_change')).code ?? '')
    }
  },
  {
    name: 'removal of the account',
    most: { presses: 2, fields: 1, pages: 2 },
    ends: /\/auth\/account\/remove/,
    async go({ page, begin, press, type }, provider) {
      await signedIn(page, provider)
      await begin(`${provider.origin}/auth/account/remove`)
      if ((await page.getByLabel('Current password', { exact: true }).count()) > 0)
        await type('Current password', PASSWORD)
      await press('Delete my account')
    }
  },
  {
    name: 'reset of a forgotten password',
    most: { presses: 3, fields: 2, pages: 4 },
    ends: 'app',
    async go({ page, beginHere, press, type, openLink }, provider) {
      const { username } = await provider.addUser(nextName())
      await page.goto(provider.authorizeUrl())
      await press('Forgot your password?')
      beginHere()
      await type(USERNAME, username)
      await press('Send link')
      await openLink((await provider.messages.next('password_reset')).url ?? '')
      await type('New password', NEXT)
      await press('Save new password')
    }
  }
]

async function signedIn(page: Page, provider: Provider): Promise<void> {
  await page.goto(`${provider.origin}/auth/login`)
  await signInOn(page, { username: (await provider.addUser(nextName())).username })
}

/** Declines the proposal of a passkey, if there is one. */
async function notNow({ page, press }: Pick<Walk, 'page' | 'press'>): Promise<void> {
  if ((await page.getByText('Not now', { exact: true }).count()) > 0) await press('Not now')
}

for (const hand of HANDS)
  t.test(`needs no more presses, fields and pages than planned, ${hand.name}`, async (t) => {
    const scripts = hand.options.javaScriptEnabled === true
    const provider = await startProvider(t, {
      factors: memoryFactorStore(),
      emailSignIn: { signUp: true },
      registration: { verifyEmail: true },
      rateLimit: false
    })
    for (const { name: flow, most, proposes = false, needsScripts = false, ends, go } of FLOWS) {
      if (needsScripts && !scripts) continue
      await t.test(flow, async (t) => {
        const page = await newPage(t, hand.options)
        const walk = walkOf(page, provider, hand)
        await go(walk, provider)
        if (ends === 'app') t.match(await answerAt(page, provider), { code: /./ }, 'in the app')
        else t.match(new URL(page.url()).pathname, ends)
        const counts = walk.counts()
        const proposals = proposes && scripts ? 1 : 0
        for (const [each, max] of [
          ['presses', most.presses],
          ['fields', most.fields],
          ['pages', most.pages + proposals]
        ] as const)
          t.ok(counts[each] <= max, `${each}: ${counts[each]} of ${max}`)
      })
    }
  })
