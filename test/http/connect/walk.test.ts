/**
 * A person with or without an account in the domain of a connection signs in, or gets a sentence with the reason.
 * Nobody is led in a circle.
 */
import t, { type Test } from '../../support/tap.ts'
import { memoryUserStore } from '../../../lib/index.ts'
import { fastHasher } from '../../../lib/testing/doubles.ts'
import { type LightMyRequestResponse, PASSWORD } from '../../support/app.ts'
import { testBrowser } from '../../support/browser.ts'
import { fakeConnection, fakeUpstream, PROVIDER } from '../../support/fake-upstream.ts'
import { connectApp, type ConnectApp, onward, SAME } from './support.ts'
import { ACCOUNTS, DOMAINS, faultsOf, FIRST, type Hands, LINKING, SAYS, type Seen, walk } from './walk-model.ts'

function handsOf(test: ConnectApp, browser: ReturnType<typeof testBrowser>): Hands {
  /** Follows every redirect, through the provider too. */
  async function arrive(reply: LightMyRequestResponse): Promise<Seen | null> {
    let current = reply
    for (let hops = 0; hops < 10; hops++) {
      const to = onward(current)
      if (to === '') return current
      if (to.startsWith(PROVIDER))
        current = await test.back(new URL(to).searchParams.get('state') ?? '', { code: 'good' }, browser)
      else if (to.startsWith('/auth/')) current = await browser.get(to, SAME)
      else return null
    }
    throw new Error('redirects without end')
  }
  return {
    open: async () => await arrive(await browser.get('/auth/login')),
    async type(username, password) {
      const reply = await browser.submit('/auth/login', { username, password })
      return { isLedOn: onward(reply).includes('connect'), seen: await arrive(reply) }
    },
    press: async () => await arrive(await browser.get('/auth/connect/acme', SAME)),
    confirm: async () => await arrive(await browser.submit('/auth/connect/confirm', { decision: 'link' })),
    follow: async (link) => await arrive(await browser.get(link, SAME))
  }
}

for (const [domain, options] of Object.entries(DOMAINS)) {
  for (const linking of LINKING) {
    t.test(
      `signs a user in or ends with a message, and repeats no page: ${domain}, linking ${linking}`,
      async (t: Test) => {
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
              const browser = testBrowser(test.app)
              const pages = await walk(handsOf(test, browser), { email, knowsPassword, first })
              const user = await test.who(browser)
              const name = `${kind}, the provider ${says}, ${first} first`
              t.strictSame(faultsOf(pages, user !== null), [], name)
              if (says === 'decides on the mailbox' && user !== null && own !== null) t.equal(user, own.id, name)
            }
      }
    )
  }
}
