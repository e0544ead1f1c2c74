/** Passkeys on the hosted pages, from a client and back, with the browser's own virtual authenticator. */
import t from '../support/tap.ts'
import type { Page } from 'playwright-core'
import { memoryFactorStore } from '../../lib/index.ts'
import { PASSWORD } from '../support/app.ts'
import { withChromium } from './support/chromium.ts'
import {
  alerts,
  answerAt,
  fill,
  followLink,
  heading,
  keepCodes,
  press,
  signInOn,
  USERNAME,
  userAt
} from './support/journeys.ts'
import { startProvider } from './support/provider.ts'

const { newPage } = await withChromium(t)
const CREATE = 'Create passkey'
const said = (page: Page): ReturnType<Page['locator']> => page.locator('form[data-passkey] [aria-live]')

/** Presses a button whose script posts the form. Resolves to the status of the response, once its page is there. */
async function pressPasskey(page: Page, name: string): Promise<number> {
  const posted = page.waitForResponse(
    (response) => response.request().isNavigationRequest() && response.request().method() === 'POST'
  )
  const [response] = await Promise.all([
    posted,
    page.waitForEvent('load'),
    page.getByRole('button', { name, exact: true }).click()
  ])
  return response.status()
}

// covers PK-01 PK-02 PK-03 PK-04 PK-05 PK-08 PK-09 PK-28 PK-29 PK-30
t.test('uses a passkey from the proposal to the security page, also after a lost device', async (t) => {
  const provider = await startProvider(t, { factors: memoryFactorStore() })
  const page = await newPage(t, { locale: 'en' })
  const { credentials } = page.context()
  await credentials.install()

  await page.goto(provider.authorizeUrl())
  await signInOn(page)
  t.equal(await heading(page), 'Sign in faster next time')
  t.equal(await page.getByText('signed out').count(), 0)
  t.equal(await pressPasskey(page, CREATE), 303)
  t.equal(await userAt(page, provider), provider.ann.id)
  const [passkey] = await credentials.get()
  t.ok(passkey)

  await t.test('signs in by the passkey alone in two tabs', async (t) => {
    const other = await page.context().newPage()
    for (const tab of [page, other]) {
      // The page may navigate before all of it has loaded.
      await tab.goto(provider.authorizeUrl({ prompt: 'login' }), { waitUntil: 'commit' })
      t.equal(await userAt(tab, provider), provider.ann.id)
    }
    await other.close()
  })

  await t.test('accepts the password alone until two-step sign-in is turned on', async (t) => {
    const plain = await newPage(t, { locale: 'en', javaScriptEnabled: false })
    await plain.goto(provider.authorizeUrl())
    await signInOn(plain)
    t.equal(await userAt(plain, provider), provider.ann.id)
  })

  let codes: string[] = []
  await t.test('shows recovery codes when two-step sign-in is turned on', async (t) => {
    await page.goto(`${provider.origin}/auth/security`)
    t.equal((await press(page, 'Turn on two-step sign-in')).status(), 303)
    t.equal(await heading(page), 'Save your recovery codes')
    codes = await page.locator('.codes code').allInnerTexts()
    t.equal(codes.length, 10)
    await page.reload()
    t.same(await page.locator('.codes code').allInnerTexts(), codes, 'a reload posts nothing and shows them again')
    await keepCodes(page)
    t.ok(await page.getByText('On', { exact: true }).isVisible())
  })

  await t.test('signs in by password and recovery code after the device is lost', async (t) => {
    await credentials.delete(passkey?.id ?? '')
    await page.goto(provider.authorizeUrl({ prompt: 'login' }))
    await signInOn(page)
    t.equal(await heading(page), 'Confirm it’s you')
    t.ok(await page.getByText('Use your passkey to confirm it’s you.').isVisible())
    await page.getByRole('button', { name: 'Use a passkey' }).click()
    await said(page).filter({ hasText: 'That did not work.' }).waitFor()
    await followLink(page, 'Recovery code')
    await fill(page, { 'Recovery code': codes[0] ?? '' })
    await page.getByRole('button', { name: 'Continue' }).click()
    t.equal(await userAt(page, provider), provider.ann.id)
  })

  await t.test('shows no passkey button without scripts, and accepts a recovery code', async (t) => {
    const plain = await newPage(t, { locale: 'en', javaScriptEnabled: false })
    await plain.goto(provider.authorizeUrl())
    t.equal(await plain.getByText('passkey').filter({ visible: true }).count(), 0)
    await signInOn(plain)
    t.equal(await heading(plain), 'Confirm it’s you')
    t.ok(await plain.getByText('This browser can’t use passkeys here').isVisible())
    t.equal(await plain.getByRole('button', { name: 'Use a passkey' }).count(), 0)
    await followLink(plain, 'Recovery code')
    await fill(plain, { 'Recovery code': codes[1] ?? '' })
    await plain.getByRole('button', { name: 'Continue' }).click()
    t.match(await answerAt(plain, provider), { code: /./ })
  })

  await t.test('adds another passkey and removes the lost one on the security page', async (t) => {
    await page.goto(`${provider.origin}/auth/security`)
    const lost = page.getByRole('main').getByRole('listitem').first()
    t.match(await lost.innerText(), /On one device only[^]*last used/)
    t.ok(await page.getByText('Add another one').isVisible())
    await followLink(page, 'Add passkey')
    t.equal(await pressPasskey(page, CREATE), 303)
    t.ok(await page.getByText('The passkey is set up.').isVisible())
    t.equal(await page.getByRole('main').getByRole('listitem').filter({ hasText: 'On one device only' }).count(), 2)
    await lost.getByText('Change').click()
    await Promise.all([page.waitForEvent('load'), lost.getByRole('link', { name: /^Remove/ }).click()])
    t.equal(await heading(page), 'Remove Unnamed passkey?')
    await Promise.all([
      page.waitForURL(/done=passkey_removed/),
      page.waitForEvent('load'),
      page.getByRole('button', { name: 'Remove' }).click()
    ])
    t.equal(await page.getByRole('main').getByRole('listitem').filter({ hasText: 'On one device only' }).count(), 1)
    t.ok(await page.getByText('The passkey has been removed.').isVisible())
  })

  await t.test('accepts a passkey as the second step after the password', async (t) => {
    const [left] = await credentials.get()
    const stranger = await newPage(t, { locale: 'en' })
    await stranger.goto(provider.authorizeUrl())
    await signInOn(stranger)
    // Connects the device with the passkey.
    await stranger.context().credentials.install()
    await stranger.context().credentials.create(left?.rpId ?? '', left)
    await stranger.reload()
    t.equal(await pressPasskey(stranger, 'Use a passkey'), 303)
    t.equal(await userAt(stranger, provider), provider.ann.id)
  })
})

t.test('reports an unknown passkey once, and leaves the password form unchanged', async (t) => {
  const provider = await startProvider(t, { factors: memoryFactorStore() })
  const page = await newPage(t, { locale: 'en' })
  await page.context().credentials.install()
  await page.goto(`${provider.origin}/auth/login`)
  await page.context().credentials.create('localhost')
  await page.goto(`${provider.origin}/auth/login`, { waitUntil: 'commit' })
  await page.getByRole('alert').waitFor()
  t.strictSame(await alerts(page), ['The passkey was not accepted. Try again, or sign in another way.'])
  t.match(await page.locator('form[data-passkey]').getAttribute('data-signals'), 'signalUnknownCredential')
  t.equal(await page.getByLabel(USERNAME).getAttribute('aria-invalid'), null)
  await fill(page, { [USERNAME]: 'ann', Password: PASSWORD })
  t.equal(await page.getByRole('button', { name: 'Sign in', exact: true }).isEnabled(), true)
})

t.test('skips the passkey proposal on request, and does not repeat it at the next sign-in', async (t) => {
  const provider = await startProvider(t, { factors: memoryFactorStore() })
  const page = await newPage(t, { locale: 'en' })
  await page.goto(provider.authorizeUrl())
  await signInOn(page)
  t.equal(await heading(page), 'Sign in faster next time')
  await page.getByRole('link', { name: 'Not now' }).click()
  t.equal(await userAt(page, provider), provider.ann.id)
  await page.goto(provider.authorizeUrl({ prompt: 'login' }))
  await fill(page, { [USERNAME]: 'ann', Password: PASSWORD })
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  t.equal(await userAt(page, provider), provider.ann.id)
})

t.test('sets up a passkey by an enrolment link before the sign-in completes', async (t) => {
  const provider = await startProvider(t, { factors: memoryFactorStore() })
  const page = await newPage(t, { locale: 'en' })
  const { credentials } = page.context()
  await credentials.install()
  const { url } = await provider.app.authority.startEnrolment(provider.ann.id)
  await page.goto(url)
  t.equal(await heading(page), 'Set up a new second step')
  await page.getByRole('button', { name: 'Continue' }).click()
  await signInOn(page)
  t.equal(await heading(page), 'Add a second step')
  await page.getByText('Recommended').click()
  t.equal(await pressPasskey(page, CREATE), 303)
  t.equal(await heading(page), 'Save your recovery codes')
  t.equal((await credentials.get()).length, 1)
  t.match(await provider.app.authority.factors(provider.ann.id), { factors: [{ kind: 'passkey' }] })
})
