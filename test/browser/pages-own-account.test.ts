/** The account page as a person uses it, with scripts and without. */
import t from '../support/tap.ts'
import { steppedClock } from '../../lib/testing/index.ts'
import { PASSWORD } from '../support/app.ts'
import { withChromium } from './support/chromium.ts'
import { WITH_AND_AT_NIGHT_WITHOUT } from './support/journeys.ts'
import { startProvider } from './support/provider.ts'
import { ALL_PAGES } from './support/states.ts'

const { newPage } = await withChromium(t)
/** Runs in the page. Returns the text of the focused control (of a row, without its state), or its id. */
const FOCUSED =
  "(document.activeElement.querySelector('small')?.previousSibling ?? document.activeElement).textContent || " +
  'document.activeElement.id'
const NEXT = 'a better horse battery'

for (const { name, options } of WITH_AND_AT_NIGHT_WITHOUT) {
  t.test(`manages the account from profile to removal with the keyboard alone, ${name}`, async (t) => {
    const provider = await startProvider(t, ALL_PAGES)
    const page = await newPage(t, options)
    const heading = async (): Promise<string> => await page.locator('h1').innerText()
    const note = async (): Promise<string> => await page.locator('[role=status]').innerText()
    const enter = async (): Promise<void> => {
      await Promise.all([page.waitForEvent('load'), page.keyboard.press('Enter')])
    }
    // A page focuses a field when it is drawn, which is after the load event.
    const focused = async (id: string): Promise<void> => {
      await page.locator(`#${id}:focus`).waitFor()
    }
    const focusOn = async (text: string): Promise<void> => {
      for (let presses = 0; presses < 30; presses++) {
        await page.keyboard.press('Tab')
        if ((await page.evaluate<string>(FOCUSED)).trim() === text) return
      }
      throw new Error(`no way to "${text}"`)
    }
    const follow = async (text: string): Promise<void> => {
      await focusOn(text)
      await enter()
    }
    await page.goto(`${provider.origin}/auth/account`)
    t.equal(await heading(), 'Sign in to Example Accounts')
    await focused('username')
    await page.keyboard.type('ann')
    await page.keyboard.press('Tab')
    await page.keyboard.type(PASSWORD)
    await enter()
    t.equal(await heading(), 'Your account')

    await follow('Profile')
    await focusOn('given_name')
    await page.keyboard.type('Anna')
    await enter()
    t.equal(await note(), 'Your profile has been saved.')
    await page.reload()
    t.equal(await page.locator('#given_name').inputValue(), 'Anna')

    await follow('Your account')
    await follow('Password')
    await focused('current_password')
    await page.keyboard.type(PASSWORD)
    await focusOn('password')
    await page.keyboard.type(NEXT)
    await enter()
    t.equal(await note(), 'Your password has been changed.')
    const before = provider.events.filter(({ name }) => name === 'password_changed').length
    await page.reload()
    t.equal(
      provider.events.filter(({ name }) => name === 'password_changed').length,
      before,
      'a reload repeats nothing'
    )

    await follow('Your account')
    await follow('Your devices')
    t.match(await page.locator('.items').innerText(), /Chrome[\s\S]*This browser/)
    await follow('Sign out everywhere else')
    t.equal(await note(), 'You are signed out everywhere else.')

    await follow('Your account')
    await follow('Delete account')
    await focusOn('current_password')
    await page.keyboard.type(NEXT)
    // With scripts, the button can't be pressed in the first half second.
    await page.locator('button[value=remove]:enabled').waitFor()
    await enter()
    t.equal(await heading(), 'Your account has been deleted')
    await page.goto(`${provider.origin}/auth/account`)
    t.equal(await heading(), 'Sign in to Example Accounts')
  })
}

t.test('shows the account menu on a wide screen, a back link on a phone, and signs out by the menu', async (t) => {
  const provider = await startProvider(t, ALL_PAGES)
  for (const javaScriptEnabled of [true, false]) {
    const page = await newPage(t, { javaScriptEnabled })
    const column = page.locator('.column')
    const back = page.locator('.back')
    await page.goto(`${provider.origin}/auth/login?return_to=/auth/account/sessions`)
    await page.locator('#username').fill('ann')
    await page.locator('#password').fill(PASSWORD)
    await Promise.all([page.waitForEvent('load'), page.locator('#password').press('Enter')])
    for (const [width, isWide] of [
      [360, false],
      [767, false],
      [768, true],
      [1280, true]
    ] as const) {
      await page.setViewportSize({ width, height: 740 })
      t.same([await column.isVisible(), await back.isVisible()], [isWide, !isWide], `${width} px`)
      t.ok(await page.evaluate<boolean>('document.documentElement.scrollWidth <= innerWidth'), `${width} px`)
    }
    t.equal(await column.locator('[aria-current=page]').innerText(), 'Your devices')
    await Promise.all([page.waitForEvent('load'), column.getByText('Profile').click()])
    t.equal(await page.locator('h1').innerText(), 'Profile')
    await page.setViewportSize({ width: 360, height: 740 })
    await page.locator('.who summary').click()
    await Promise.all([page.waitForEvent('load'), page.locator('.who button').click()])
    t.equal(await page.locator('h1').innerText(), 'You are signed out')
  }
})

t.test('shows the last use of a session in words, and creation and expiry of an API key as dates', async (t) => {
  const provider = await startProvider(t, { ...ALL_PAGES, clock: steppedClock(Date.now()) })
  const { origin, app, ann } = provider
  await app.authority.apiKeys.create({ userId: ann.id, name: 'Backup', scopes: ['orders:read'], expiresIn: 432_000 })
  const page = await newPage(t, { locale: 'de' })
  await page.goto(`${origin}/auth/login`)
  await page.locator('#username').fill('ann')
  await page.locator('#password').fill(PASSWORD)
  await Promise.all([page.waitForEvent('load'), page.locator('#password').press('Enter')])
  await page.goto(`${origin}/auth/account/api-keys`)
  const told = page.locator('time[title]').first()
  await told.waitFor()
  t.match(await page.locator('main').innerText(), /Erstellt am \d[^]*Gültig bis \d/)
  await page.goto(`${origin}/auth/account/sessions`)
  await told.waitFor()
  t.match(await page.locator('main').innerText(), 'Zuletzt benutzt: in dieser Minute')
})
