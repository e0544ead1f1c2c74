/** API keys from before the owner of an email address proved it. */
import t from '../../support/tap.ts'
import { memoryApiKeyStore, memoryUserStore, type User } from '../../../lib/index.ts'
import { bearer, PASSWORD, type TestApp, testApp } from '../../support/app.ts'
import { formAction, testBrowser } from '../../support/browser.ts'
import { turns } from '../../unit/accounts/world.ts'
import { press } from '../../http/support/journeys.ts'

const BOB = 'bob@example.com'
const NEXT = 'another horse battery'
const LINKS = ['verify_email', 'password_reset', 'email_change']

interface World extends TestApp {
  users: ReturnType<typeof memoryUserStore>
  user(): Promise<User>
  makeKey(): Promise<string>
  statusOf(key: string): Promise<number>
  /** The link of the newest message. */
  link(): Promise<string>
}

async function world(t: { teardown(task: () => Promise<void>): void }): Promise<World> {
  const users = memoryUserStore()
  const test = await testApp({ users, apiKeys: memoryApiKeyStore(), emailSignIn: {} })
  t.teardown(test.close)
  const { app, messages } = test
  await app.inject({ method: 'POST', url: '/auth/register', payload: { username: BOB, password: PASSWORD } })
  await turns()
  let name = BOB
  const user = async (): Promise<User> => {
    const found = (await users.findByUsername(name)) ?? (await users.findByUsername('next@example.com'))
    name = found?.username ?? name
    return found as User
  }
  return {
    ...test,
    users,
    user,
    makeKey: async () => (await app.authority.apiKeys.create({ userId: (await user()).id, name: 'x' })).key,
    statusOf: async (key) => (await app.inject({ url: '/me', headers: bearer(key) })).statusCode,
    async link() {
      await turns()
      return messages.messages.findLast(({ kind }) => LINKS.includes(kind))?.url ?? ''
    }
  }
}

async function reset({ app, link, clock }: World): Promise<void> {
  clock.step(6 * 60_000)
  const browser = testBrowser(app)
  await browser.submit('/auth/forgot-password', { username: BOB })
  await press(browser, await link(), { password: NEXT })
  await turns()
}

const PROOFS: Record<string, (on: World) => Promise<void>> = {
  'a password reset link': reset,
  'the answer "that was not me"': async ({ app, link }) => {
    await press(testBrowser(app), await link(), { decision: 'not_me' })
  },
  'an emailed code': async ({ app, messages }) => {
    const browser = testBrowser(app)
    await browser.submit('/auth/email-code', { username: BOB })
    await browser.submit('/auth/email-code', { code: (await messages.next('sign_in_code')).code })
  }
}

for (const [name, prove] of Object.entries(PROOFS))
  t.test(`ends API keys that are older than the proof of the address by ${name}`, async (t) => {
    const on = await world(t)
    const key = await on.makeKey()
    t.equal(await on.statusOf(key), 200)
    await prove(on)
    t.equal(await on.statusOf(key), 401)
    t.match(
      on.events.find((event) => event.name === 'api_key_revoked'),
      { payload: { by: 'mailbox' } }
    )
  })

t.test('keeps API keys at a password reset if the address was confirmed before, and says so by email', async (t) => {
  const on = await world(t)
  await reset(on)
  on.clock.step(1000)
  const key = await on.makeKey()
  await reset(on)
  t.equal(await on.statusOf(key), 200)
  t.match(
    on.messages.messages.findLast(({ kind }) => kind === 'password_changed'),
    { hasApiKeys: true }
  )
})

t.test('ends API keys older than a change of address when the new mailbox resets the password', async (t) => {
  const on = await world(t)
  await on.users.setEmailVerified((await on.user()).id, BOB, on.clock.now())
  on.clock.step(1000)
  const key = await on.makeKey()
  const { app } = on
  const browser = testBrowser(app)
  await browser.submit('/auth/login', { username: BOB, password: PASSWORD })
  await browser.submit(formAction((await browser.get('/auth/account/email')).body), {
    email: 'next@example.com',
    current_password: PASSWORD
  })
  on.clock.step(1000)
  await press(testBrowser(app), await on.link())
  t.equal((await on.user()).username, 'next@example.com')
  t.equal(await on.statusOf(key), 200, 'the change ends no key of a proved address')
  on.clock.step(6 * 60_000)
  const owner = testBrowser(app)
  await owner.submit('/auth/forgot-password', { username: 'next@example.com' })
  await press(owner, await on.link(), { password: NEXT })
  await turns()
  t.equal(await on.statusOf(key), 401)
})
