/** Accepts invitations on a phone, with a password and by an account at another provider. */
import t from '../support/tap.ts'
import type { Page } from 'playwright-core'
import { oidc } from '../../lib/connections/index.ts'
import { type Client, memoryUserStore } from '../../lib/index.ts'
import { SECRET } from '../support/openid.ts'
import { withChromium } from './support/chromium.ts'
import { fill, followLink, heading, press, signInOn, WITH_AND_WITHOUT } from './support/journeys.ts'
import { startProvider } from './support/provider.ts'
import { ALL_RULES, violationsOf } from './support/viewer.ts'

const { newPage } = await withChromium(t)
const PASSWORD = 'a long good pass phrase'
const registered = new Map<string, Client>()
const upstream = await startProvider(t, {
  host: '127.0.0.1',
  pages: { title: 'Upstream' },
  clients: { findById: async (id) => registered.get(id) ?? null }
})
const common = { issuer: upstream.origin, clientId: 'the-service', clientSecret: SECRET, trustEmail: true }
const provider = await startProvider(t, {
  users: memoryUserStore(),
  registration: { username: 'any' },
  secret: 'a secret of the tests with 32 bytes or more',
  connections: [
    oidc({ id: 'acme', name: 'Acme', ...common }),
    oidc({ id: 'work', name: 'Work', domains: ['work.example'], enforce: true, ...common })
  ]
})
registered.set(common.clientId, {
  clientId: common.clientId,
  name: 'The Service',
  clientSecret: SECRET,
  redirectUris: ['acme', 'work'].map((id) => `${provider.origin}/auth/connect/${id}/callback`)
})

async function invited(username: string): Promise<{ id: string; url: string }> {
  const { id } = await provider.app.authority.users.create({ username, email: username, invite: true })
  return { id, url: (await provider.messages.next('invitation')).url }
}

/** True if the account name is shown without being cut off. */
const showsName = async (page: Page): Promise<boolean> =>
  await page.evaluate(
    "[...document.querySelectorAll('.chip bdi span')].every((part) => part.scrollWidth <= part.clientWidth)"
  )

/** True if the page fits a narrow phone without sideways scrolling. */
async function fits(page: Page): Promise<boolean> {
  const box = await page.locator('main').boundingBox()
  return box !== null && box.x >= 0 && box.x + box.width <= 360
}

for (const { name, options } of WITH_AND_WITHOUT) {
  const phone = { ...options, viewport: { width: 360, height: 740 } }
  const tag = options.javaScriptEnabled === true ? 'js' : 'plain'

  t.test(`accepts an invitation with a password ${name}, and signs in afterwards`, async (t) => {
    const username = `${tag}@example.com`
    const { id, url } = await invited(username)
    const page = await newPage(t, phone)
    await page.goto(url)
    t.equal(await heading(page), 'Accept your invitation')
    t.ok((await fits(page)) && (await showsName(page)))
    if (tag === 'js') t.strictSame(await violationsOf(page, ALL_RULES), [])
    await fill(page, { Password: 'short' })
    t.equal((await press(page, 'Accept invitation')).status(), 400)
    t.ok(await fits(page))
    await fill(page, { Password: PASSWORD })
    t.equal((await press(page, 'Accept invitation')).status(), 303)
    t.equal(await heading(page), 'Your account is ready')
    await page.reload()
    t.equal(await heading(page), 'Your account is ready')
    t.notMatch(page.url(), /token/)
    await followLink(page, 'Sign in')
    await signInOn(page, { username, password: PASSWORD })
    t.strictSame((await provider.app.authority.sessions(id)).length, 1)
    await page.goto(url)
    t.equal(await heading(page), 'Your account is ready')
  })

  t.test(`accepts an invitation by a connection ${name}, after a sign-in with a wrong account`, async (t) => {
    const username = `eve-${tag}@example.com`
    const { id, url } = await invited(username)
    await upstream.addUser(username)
    const page = await newPage(t, phone)
    await page.goto(url)
    await followLink(page, 'Continue with Acme')
    await page.waitForURL((at) => at.origin === upstream.origin)
    // The wrong account first: its address is not the invited one.
    await signInOn(page, { username: 'ann' })
    await page.waitForURL((at) => at.origin === provider.origin)
    await followLink(page, 'Back to sign-in')
    t.equal(await heading(page), 'Accept your invitation')
    await page.context().clearCookies({ domain: '127.0.0.1' })
    await followLink(page, 'Continue with Acme')
    await page.waitForURL((at) => at.origin === upstream.origin)
    await signInOn(page, { username })
    await page.waitForURL((at) => at.searchParams.get('done') === 'accepted')
    t.equal(await heading(page), 'Your account is ready')
    await page.reload()
    t.equal(await heading(page), 'Your account is ready')
    t.strictSame(await provider.app.authority.sessions(id), [])
    t.match(await provider.app.authority.users.get(id), { emailVerified: true, hasPassword: false })
  })

  t.test(`offers an invited user of a managed domain only its connection ${name}`, async (t) => {
    const username = `zoe-${tag}@work.example`
    const { url } = await invited(username)
    await upstream.addUser(username)
    const page = await newPage(t, phone)
    await page.goto(url)
    t.equal(await page.locator('input[type=password]').count(), 0)
    t.ok(await fits(page))
    if (tag === 'js') t.strictSame(await violationsOf(page, ALL_RULES), [])
    await followLink(page, 'Continue with Work')
    await page.waitForURL((at) => at.origin === upstream.origin)
    await signInOn(page, { username })
    await page.waitForURL((at) => at.searchParams.get('done') === 'accepted')
    t.equal(await heading(page), 'Your account is ready')
  })
}
