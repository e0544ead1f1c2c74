import { setTimeout as wait } from 'node:timers/promises'
import type { Page } from 'playwright-core'
import t from 'tap'
import { PASSWORD } from '../support/app.ts'
import { withChromium } from './support/chromium.ts'
import { fill, press, userAt, USERNAME, valuesOf, WITH_AND_WITHOUT } from './support/journeys.ts'
import { startProvider } from './support/provider.ts'
import { ALL_PAGES } from './support/states.ts'

const { newPage } = await withChromium(t)

/** The element with the focus, as a person would call it. Where a page gives it to a field, it does so when it is drawn, which is after it was loaded. */
async function focused (page: Page): Promise<string> {
  for (let tries = 0; tries < 200; tries++) {
    const found = await page.evaluate<string>("document.activeElement === document.body ? '' : document.activeElement.id || document.activeElement.getAttribute('aria-label') || document.activeElement.textContent")
    if (found !== '') return found
    await wait(25)
  }
  return 'nothing'
}

for (const { name, options } of WITH_AND_WITHOUT) {
  t.test(`with the keyboard alone, ${name}`, async (t) => {
    t.test('signing in', async (t) => {
      const provider = await startProvider(t)
      const page = await newPage(t, options)
      await page.goto(provider.authorizeUrl())
      t.equal(await focused(page), 'username', 'one can type at once')
      const order = []
      for (let presses = 0; presses < (options.javaScriptEnabled === false ? 4 : 5); presses++) {
        await page.keyboard.press('Tab')
        order.push(await focused(page))
      }
      t.strictSame(order, ['password', ...(options.javaScriptEnabled === false ? [] : ['Show password']), 'Forgot your password?', 'Sign in', 'Create an account'])
      await page.reload()
      t.equal(await focused(page), 'username')
      await page.keyboard.type('ann')
      await page.keyboard.press('Tab')
      await page.keyboard.type('not this one')
      await Promise.all([page.waitForEvent('load'), page.keyboard.press('Enter')])
      t.equal(await focused(page), 'password', 'the name is there already')
      await page.keyboard.type(PASSWORD)
      await Promise.all([page.waitForEvent('load'), page.keyboard.press('Enter')])
      t.equal(await userAt(page, provider), provider.ann.id)
    })

    t.test('the focus goes to the field with the error, which names it', async (t) => {
      const provider = await startProvider(t, ALL_PAGES)
      const page = await newPage(t, options)
      for (const [fields, field] of [[{ [USERNAME]: 'not an address', Password: PASSWORD }, 'username'], [{ [USERNAME]: 'a@example.com', Password: 'short' }, 'password'], [{ [USERNAME]: 'a@example.com', Password: PASSWORD, 'Given name': 'x'.repeat(21) }, 'given_name']] as const) {
        await page.goto(`${provider.origin}/auth/signup`)
        await fill(page, fields)
        t.equal((await press(page, 'Create account')).status(), 400)
        t.equal(await focused(page), field)
        const input = page.locator(`#${field}`)
        t.equal(await input.getAttribute('aria-invalid'), 'true')
        const described = await input.getAttribute('aria-describedby') ?? ''
        t.ok(described.split(' ').includes(`${field}-error`))
        t.match(await page.locator(`#${field}-error`).innerText(), /\w/)
        t.equal(await page.locator('[aria-invalid=true]').count(), 1)
      }
    })
  })
}

// covers ASVS-6.2.6
t.test('the password is hidden; it can be shown, and is hidden again when it is sent', async (t) => {
  const provider = await startProvider(t)
  const page = await newPage(t, { locale: 'en' })
  for (const [path, label, button] of [['login', 'Password', 'Sign in'], ['signup', 'Password', 'Create account']] as const) {
    await page.goto(`${provider.origin}/auth/${path}`)
    const input = page.getByLabel(label, { exact: true })
    const reveal = page.getByRole('button', { name: 'Show password' })
    await fill(page, { [USERNAME]: 'a', [label]: 'secret words' })
    t.equal(await input.getAttribute('type'), 'password')
    t.equal(await reveal.getAttribute('aria-pressed'), 'false')
    await reveal.click()
    t.equal(await input.getAttribute('type'), 'text')
    t.equal(await reveal.getAttribute('aria-pressed'), 'true')
    t.strictSame(await valuesOf(page, label), ['secret words'])
    // Seen by a listener that runs after the page's own, before the page goes away.
    const seen = page.waitForEvent('console', (message) => message.text().startsWith('sent as'))
    await page.evaluate("document.forms[0].addEventListener('submit', () => { console.log('sent as ' + document.querySelector('#password').type) })")
    await press(page, button)
    t.equal((await seen).text(), 'sent as password')
    t.equal(await page.getByLabel(label, { exact: true }).getAttribute('type'), 'password')
    t.strictSame(await valuesOf(page, label), [''])
  }
})

// covers ASVS-6.2.7
t.test('a password can be pasted, and managers know the fields', async (t) => {
  const provider = await startProvider(t)
  const page = await newPage(t, { locale: 'en' })
  const secret = `${'a very long pasted password, '.repeat(4)}äöü 字`
  const { url } = await provider.app.authority.startPasswordReset(provider.ann.id).then(async () => await provider.messages.next('password_reset'))
  for (const [address, label, expected] of [
    [`${provider.origin}/auth/login`, 'Password', { username: 'username', password: 'current-password' }],
    [`${provider.origin}/auth/signup`, 'Password', { username: 'username', password: 'new-password' }],
    [url, 'New password', { password: 'new-password' }]
  ] as const) {
    await page.goto(`${provider.origin}/auth/login`)
    await fill(page, { [USERNAME]: secret })
    await page.getByLabel(USERNAME).press('ControlOrMeta+A')
    await page.getByLabel(USERNAME).press('ControlOrMeta+C')
    await page.goto(address)
    await page.getByLabel(label, { exact: true }).press('ControlOrMeta+V')
    t.strictSame(await valuesOf(page, label), [secret])
    t.strictSame(await page.evaluate("Object.fromEntries([...document.querySelectorAll('form input:not([type=hidden])')].map((input) => [input.name, input.autocomplete]))"), expected)
    t.equal(await page.locator('button[type=submit]').count(), 1)
  }
})
