/**
 * A person with an account in the domain of a connection, or with none yet, gets in, or is told in one sentence why
 * not. Nobody is led in a circle.
 */
import t, { type Test } from '../../support/tap.ts'
import { memoryUserStore, type User } from '../../../lib/index.ts'
import { fastHasher } from '../../../lib/testing/fast-hasher.ts'
import { type LightMyRequestResponse, PASSWORD } from '../../support/app.ts'
import { testBrowser } from '../../support/browser.ts'
import { fakeConnection, fakeUpstream, PROVIDER } from '../../support/fake-upstream.ts'
import { connectApp, type ConnectApp, onward } from './support.ts'

/** The sign-in page, and three more. */
const MOST_PAGES = 4

/** What there is of the person before. `null`: nothing. */
const ACCOUNTS: Record<string, Partial<User> | null> = {
  nobody: null,
  confirmed: { emailVerified: true },
  unconfirmed: { emailVerified: false },
  'confirmed, without a password': { emailVerified: true, passwordHash: null },
  'unconfirmed, without a password': { emailVerified: false, passwordHash: null },
  disabled: { emailVerified: true, disabled: true }
}
const DOMAINS: Record<string, object> = {
  'any domain': {},
  'its domain': { domains: ['acme.example'] },
  'its domain, enforced': { domains: ['acme.example'], enforce: true }
}
/** What the provider says of the address. */
const SAYS: Record<string, (email: string) => object> = {
  'decides on the mailbox': (email) => ({ email, emailAuthoritative: true }),
  'calls it verified': (email) => ({ email }),
  'says nothing': () => ({}),
  'says another': (email) => ({ email: `other.${email}` })
}
const LINKING = ['confirm', 'verified-email', 'never'] as const
/** What the person does first on the sign-in page. */
const FIRST = ['password', 'button'] as const

interface Person {
  email: string
  knowsPassword: boolean
}

/** Where the person ends, and the pages on the way, each as its path and its alert. */
async function walk(test: ConnectApp, { email, knowsPassword }: Person, first: (typeof FIRST)[number]) {
  const browser = testBrowser(test.app)
  const pages: string[] = []
  /** Each is done once: whoever does the same again expects no other answer. */
  const left = new Set<string>(knowsPassword ? ['password', 'button', 'link'] : ['button'])
  if (first === 'password' && !knowsPassword) left.add('password')
  let reply: LightMyRequestResponse = await browser.get('/auth/login')
  for (;;) {
    reply = await arrive(test, browser, reply)
    if (onward(reply) !== '') break
    pages.push(pageOf(reply))
    if (pages.length > MOST_PAGES) break
    if (reply.body.includes('action="/auth/connect/confirm')) {
      reply = await browser.submit('/auth/connect/confirm', { decision: 'link' })
      continue
    }
    const canType = /<form[^>]* action="\/auth\/login/.test(reply.body) && left.has('password')
    const canPress = reply.body.includes('/auth/connect/acme') && left.has('button')
    if (canType && (first === 'password' || !canPress)) {
      const password = knowsPassword ? PASSWORD : 'what I use elsewhere'
      reply = await browser.submit('/auth/login', { username: email, password })
      // Where the domain leads on to its connection, nobody has looked at the password.
      if (!onward(reply).includes('connect')) left.delete('password')
    } else if (canPress) {
      left.delete('button')
      reply = await browser.get('/auth/connect/acme', { 'sec-fetch-site': 'same-origin' })
    } else if (left.has('link') && linkIn(reply.body) !== '') {
      left.delete('link')
      reply = await browser.get(linkIn(reply.body), { 'sec-fetch-site': 'same-origin' })
    } else break
  }
  return { user: await test.who(browser), pages }
}

/** Follows every redirect, through the provider too. */
async function arrive(
  test: ConnectApp,
  browser: ReturnType<typeof testBrowser>,
  reply: LightMyRequestResponse
): Promise<LightMyRequestResponse> {
  let current = reply
  for (let hops = 0; hops < 10; hops++) {
    const to = onward(current)
    if (to === '') return current
    if (to.startsWith(PROVIDER))
      current = await test.back(new URL(to).searchParams.get('state') ?? '', { code: 'good' }, browser)
    else if (to.startsWith('/auth/')) current = await browser.get(to, { 'sec-fetch-site': 'same-origin' })
    else return current
  }
  throw new Error('redirects without end')
}

/** Of the page that says to sign in the way one did before. */
const linkIn = (html: string): string =>
  (/href="(\/auth\/login\?return_to=[^"]*confirm[^"]*)"/.exec(html)?.[1] ?? '').replaceAll('&amp;', '&')

const textOf = (html: string): string =>
  html
    .replace(/<[^>]*>/g, ' ')
    .replace(/\s+/g, ' ')
    .trim()

function pageOf({ statusCode, body }: LightMyRequestResponse): string {
  const to = /<form[^>]* action="([^"]*)"/.exec(body)?.[1] ?? ''
  const heading = textOf(/<h1[^>]*>(.*?)<\/h1>/s.exec(body)?.[1] ?? '')
  const alert = textOf(/<[^>]* role="(?:alert|status)"[^>]*>(.*?)<\/(?:p|div|section)>/s.exec(body)?.[1] ?? '')
  const lead = textOf(/<h1.*?<\/h1>\s*<p>(.*?)<\/p>/s.exec(body)?.[1] ?? '')
  return [statusCode, to, heading, alert || lead].join(' | ')
}

for (const [domain, options] of Object.entries(DOMAINS)) {
  for (const linking of LINKING) {
    t.test(`${domain}, linking ${linking}: nobody is led in a circle`, async (t: Test) => {
      const users = memoryUserStore()
      const fake = fakeUpstream()
      const connection = { ...options, linking }
      const test = await connectApp(t, { users, connections: [fakeConnection(fake, connection)] })
      const hash = await fastHasher().hash(PASSWORD, { memoryCost: 64, timeCost: 1, parallelism: 1 })
      let count = 0
      for (const [kind, account] of Object.entries(ACCOUNTS))
        for (const [says, assertion] of Object.entries(SAYS))
          for (const first of FIRST) {
            const email = `ann${++count}@acme.example`
            const own = account && (await users.create({ username: email, email, passwordHash: hash, ...account }))
            fake.person = { subject: `ann-${count}`, ...assertion(email) }
            const knowsPassword = account !== null && account.passwordHash !== null
            const { user, pages } = await walk(test, { email, knowsPassword }, first)
            const end = user === null ? (pages.at(-1) ?? '') : 'signed in'
            const name = `${kind}, the provider ${says}, ${first} first`
            t.ok(pages.length <= MOST_PAGES, `${name}: ${pages.join(' → ')}`)
            t.equal(new Set(pages).size, pages.length, `${name}: no page twice: ${pages.join(' → ')}`)
            if (says === 'decides on the mailbox' && user !== null && own !== null) t.equal(user, own.id, name)
            if (user === null) t.match(end, / \| \S[^|]*$/, `${name}: a sentence: ${pages.join(' → ')}`)
          }
    })
  }
}
