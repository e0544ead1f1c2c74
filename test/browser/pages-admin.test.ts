/** The pages of administration on a phone and a desktop, in the dark, with forced colours, and without scripts. */
import t from '../support/tap.ts'
import { memoryApiKeyStore, memoryAudit } from '../../lib/index.ts'
import { withChromium } from './support/chromium.ts'
import { fill, followLink, heading, press, signInOn, WITH_AND_WITHOUT } from './support/journeys.ts'
import { startProvider } from './support/provider.ts'
import { ALL_RULES, violationsOf } from './support/viewer.ts'

const { newPage } = await withChromium(t)
const provider = await startProvider(t, {
  registration: { username: 'any' },
  secret: 'a secret of the tests with 32 bytes or more',
  audit: memoryAudit(),
  apiKeys: memoryApiKeyStore(),
  admin: { allow: ({ user, scopes }) => (user?.username === 'ann' ? scopes : []) }
})
const { users, apiKeys } = provider.app.authority
const REASON = 'Asked for by ticket 4711'
const LONG = `${'a'.repeat(50)}@example.com`

for (const { name, options } of WITH_AND_WITHOUT)
  t.test(`finds a person, disables the account and reads the log ${name}`, async (t) => {
    const tag = options.javaScriptEnabled === true ? 'js' : 'plain'
    const username = `${tag}${LONG}`
    const { id } = await users.create({ username, email: username })
    await apiKeys.create({ userId: id, name: 'Reports' })
    const page = await newPage(t, { ...options, viewport: { width: 360, height: 740 } })
    await page.goto(`${provider.origin}/auth/admin`)
    await signInOn(page)
    t.equal(await heading(page), 'People')
    await fill(page, { Search: username })
    await page.getByRole('button', { name: 'Search' }).click()
    await page.waitForURL((at) => at.searchParams.get('q') === username)
    await followLink(page, username)
    const urls = [`${provider.origin}/auth/admin`, page.url()]
    await followLink(page, 'Disable')
    t.equal(await heading(page), `Disable ${username}?`)
    urls.push(page.url())
    await fill(page, { Reason: REASON })
    t.equal((await press(page, 'Disable')).status(), 303)
    t.equal(await heading(page), username)
    t.equal(await page.locator('.note').textContent(), 'The account was disabled.')
    t.match(await users.get(id), { disabled: true })
    await followLink(page, 'All entries')
    t.ok((await page.locator('tbody').textContent())?.includes(REASON))
    urls.push(page.url(), `${provider.origin}/auth/admin/invite`, `${provider.origin}/auth/admin/people/${id}/edit`)
    if (tag === 'plain') return
    for (const width of [360, 1280])
      for (const colorScheme of ['light', 'dark'] as const)
        for (const forcedColors of ['none', 'active'] as const) {
          await page.setViewportSize({ width, height: 800 })
          await page.emulateMedia({ colorScheme, forcedColors })
          for (const url of urls) {
            await page.goto(url)
            const at = `${url.slice(provider.origin.length)} ${width} ${colorScheme} ${forcedColors}`
            const rules = forcedColors === 'active' ? { rules: { 'color-contrast': { enabled: false } } } : ALL_RULES
            t.strictSame(await violationsOf(page, rules), [], at)
            const over = await page.evaluate<number>(
              'document.documentElement.scrollWidth - document.documentElement.clientWidth'
            )
            t.equal(over, 0, at)
          }
        }
  })
