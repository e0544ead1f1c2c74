import { setTimeout as wait } from 'node:timers/promises'
import type { Page } from 'playwright-core'
import t from '../support/tap.ts'
import { PASSWORD } from '../support/app.ts'
import { codeFor } from '../support/factors.ts'
import { withChromium } from './support/chromium.ts'
import { FACTOR_PAGES } from './support/factor-states.ts'
import { fill, heading, press, userAt, USERNAME, valuesOf, WITH_AND_AT_NIGHT_WITHOUT } from './support/journeys.ts'
import { addAuthenticator } from './support/passkeys.ts'
import { startProvider } from './support/provider.ts'
import { ALL_PAGES } from './support/states.ts'

const { newPage } = await withChromium(t)

/**
 * The accessible name of the focused element. A page focuses a field when it is drawn, which is after the load event.
 */
async function focused(page: Page): Promise<string> {
  for (let tries = 0; tries < 200; tries++) {
    const found = await page.evaluate<string>(
      "document.activeElement === document.body ? '' : document.activeElement.id || " +
        "document.activeElement.getAttribute('aria-label') || document.activeElement.textContent"
    )
    if (found !== '') return found
    await wait(25)
  }
  return 'nothing'
}

for (const { name, options } of WITH_AND_AT_NIGHT_WITHOUT) {
  t.test(`works with the keyboard alone, ${name}`, async (t) => {
    t.test('signs in with the keyboard', async (t) => {
      const provider = await startProvider(t)
      const page = await newPage(t, options)
      await page.goto(provider.authorizeUrl())
      t.equal(await focused(page), 'username', 'one can type at once')
      const order = []
      for (let presses = 0; presses < (options.javaScriptEnabled === false ? 4 : 5); presses++) {
        await page.keyboard.press('Tab')
        order.push(await focused(page))
      }
      t.strictSame(order, [
        'password',
        ...(options.javaScriptEnabled === false ? [] : ['Show password']),
        'Sign in',
        'Forgot your password?',
        'Create an account'
      ])
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

    t.test('focuses the field with the error, and links the error text to it', async (t) => {
      const provider = await startProvider(t, ALL_PAGES)
      const page = await newPage(t, options)
      for (const [fields, field] of [
        [{ [USERNAME]: 'not an address', Password: PASSWORD }, 'username'],
        [{ [USERNAME]: 'a@example.com', Password: 'short' }, 'password'],
        [{ [USERNAME]: 'a@example.com', Password: PASSWORD, 'Given name (optional)': 'x'.repeat(21) }, 'given_name']
      ] as const) {
        await page.goto(`${provider.origin}/auth/signup`)
        // Imitates a browser that accepts more characters than `maxlength`.
        await page.evaluate("document.querySelector('#given_name').removeAttribute('maxlength')")
        await fill(page, fields)
        t.equal((await press(page, 'Create account')).status(), 400)
        t.equal(await focused(page), field)
        const input = page.locator(`#${field}`)
        t.equal(await input.getAttribute('aria-invalid'), 'true')
        const described = (await input.getAttribute('aria-describedby')) ?? ''
        t.ok(described.split(' ').includes(`${field}-error`))
        t.match(await page.locator(`#${field}-error`).innerText(), /\w/)
        t.equal(await page.locator('[aria-invalid=true]').count(), 1)
      }
    })
  })
}

// covers ASVS-6.2.6
t.test('hides the password, shows it on request, and hides it again when it is sent', async (t) => {
  const provider = await startProvider(t)
  const page = await newPage(t, { locale: 'en' })
  for (const [path, label, button] of [
    ['login', 'Password', 'Sign in'],
    ['signup', 'Password', 'Create account']
  ] as const) {
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
    // Recorded by a listener that runs after the page's own and before the page unloads.
    const seen = page.waitForEvent('console', (message) => message.text().startsWith('sent as'))
    await page.evaluate(
      "document.forms[0].addEventListener('submit', () => { console.log('sent as ' + " +
        "document.querySelector('#password').type) })"
    )
    await press(page, button)
    t.equal((await seen).text(), 'sent as password')
    t.equal(await page.getByLabel(label, { exact: true }).getAttribute('type'), 'password')
    t.strictSame(await valuesOf(page, label), [''])
  }
})

// covers ASVS-6.2.7
t.test('accepts a pasted password, and labels the fields for password managers', async (t) => {
  const provider = await startProvider(t)
  const page = await newPage(t, { locale: 'en' })
  const secret = `${'a very long pasted password, '.repeat(4)}äöü 字`
  const { url } = await provider.app.authority
    .startPasswordReset(provider.ann.id)
    .then(async () => await provider.messages.next('password_reset'))
  for (const [address, label, expected] of [
    [`${provider.origin}/auth/login`, 'Password', { username: 'username', password: 'current-password' }],
    [`${provider.origin}/auth/signup`, 'Password', { username: 'username', password: 'new-password' }],
    [url, 'New password', { username: 'username', password: 'new-password' }]
  ] as const) {
    await page.goto(`${provider.origin}/auth/login`)
    await fill(page, { [USERNAME]: secret })
    await page.getByLabel(USERNAME).press('ControlOrMeta+A')
    await page.getByLabel(USERNAME).press('ControlOrMeta+C')
    await page.goto(address)
    await page.getByLabel(label, { exact: true }).press('ControlOrMeta+V')
    t.strictSame(await valuesOf(page, label), [secret])
    t.strictSame(
      await page.evaluate(
        "Object.fromEntries([...document.querySelectorAll('form " +
          "input:not([type=hidden])')].map((input) => [input.name, input.autocomplete]))"
      ),
      expected
    )
    t.equal(await page.locator('form button[type=submit]').count(), 1)
  }
})

/** Waits until buttons of irreversible actions are enabled, half a second after the page was shown. */
async function settled(page: Page): Promise<void> {
  await page.locator('[data-deliberate]:disabled').first().waitFor({ state: 'detached' })
}

/** The faults of the Tab order: a missing control, a wrong order, or an invisible focus. */
async function walk(page: Page): Promise<string[]> {
  await settled(page)
  const names = await page.evaluate<string[]>(`(() => {
    globalThis.controls = [...document.querySelectorAll('a[href], button, input:not([type=hidden]), select, textarea, summary')].filter((element) => element.checkVisibility({ visibilityProperty: true }))
    document.body.tabIndex = -1
    document.body.focus()
    document.body.removeAttribute('tabindex')
    return globalThis.controls.map((element) => element.id || element.getAttribute('aria-label') || element.textContent.trim())
  })()`)
  const wrong = names.length === 0 ? ['no control'] : []
  for (const [index, name] of names.entries()) {
    await page.keyboard.press('Tab')
    const [at, isSeen] = await page.evaluate<[number, boolean]>(`(() => {
      const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(document.activeElement)
      return [globalThis.controls.indexOf(document.activeElement), (outlineStyle !== 'none' && parseFloat(outlineWidth) > 0) || boxShadow !== 'none']
    })()`)
    if (at !== index) wrong.push(`${name}: the focus is at ${names[at] ?? 'nothing'}`)
    else if (!isSeen) wrong.push(`${name}: it is not seen to have the focus`)
  }
  return wrong
}

/** Presses Enter on the focused element, and waits for the page that it leads to. */
async function enter(page: Page): Promise<void> {
  await Promise.all([page.waitForEvent('load'), page.keyboard.press('Enter')])
}

async function signInByKeys(page: Page, username: string): Promise<void> {
  await focused(page)
  await page.keyboard.type(username)
  await page.keyboard.press('Tab')
  await page.keyboard.type(PASSWORD)
  await enter(page)
}

t.test('uses second factors and passkeys with the keyboard alone', async (t) => {
  const provider = await startProvider(t, FACTOR_PAGES)
  const { origin, clock } = provider
  const username = 'must-type@example.com'
  await provider.addUser(username)
  const page = await newPage(t, { locale: 'en' })
  // The browser may offer passkeys by itself. This test presses the button.
  await page.addInitScript('delete PublicKeyCredential.isConditionalMediationAvailable')
  const authenticator = await addAuthenticator(page)
  await page.goto(`${origin}/auth/login?return_to=/auth/security`)
  await page.getByRole('button', { name: 'Sign in with a passkey' }).waitFor()
  t.same(await walk(page), [], 'the sign-in page')
  await page.reload()
  await signInByKeys(page, username)

  t.equal(await heading(page), 'Add a second step')
  await page.locator('summary', { hasText: 'Authenticator app' }).focus()
  await page.keyboard.press('Enter')
  t.same(await walk(page), [], 'the set-up')
  const secret = ((await page.locator('.key code').textContent()) ?? '').replaceAll(' ', '')
  await page.locator('#code').focus()
  await page.keyboard.type('000000')
  await enter(page)
  t.equal(await focused(page), 'code', 'after a wrong code')
  t.equal(await page.locator('#code').getAttribute('aria-invalid'), 'true')
  await page.keyboard.type(codeFor(secret, clock.now()))
  await enter(page)
  t.equal(await heading(page), 'Save your recovery codes')
  t.same(await walk(page), [], 'the recovery codes')
  const [recoveryCode = ''] = await page.locator('.codes code').allInnerTexts()
  await page.getByLabel('I have saved these codes').focus()
  await page.keyboard.press('Space')
  await page.getByRole('link', { name: 'Done' }).focus()
  await enter(page)

  t.same(await walk(page), [], 'the security page')
  await page.getByRole('link', { name: 'Add passkey' }).focus()
  await enter(page)
  t.same(await walk(page), [], 'the page of a new passkey')
  await page.getByLabel('Name of the passkey').focus()
  await page.keyboard.type('My laptop')
  await enter(page)
  t.equal((await authenticator.credentials()).length, 1)

  await page.goto(`${origin}/auth/security`)
  const name = page.locator('form:has(button[value=rename]) input[name=name]').first()
  t.equal(await name.inputValue(), 'My laptop')
  await page.locator('.change summary').first().focus()
  await page.keyboard.press('Enter')
  await name.focus()
  await page.keyboard.press('ControlOrMeta+A')
  await page.keyboard.type('Work')
  await enter(page)
  t.equal(await name.inputValue(), 'Work', 'Enter renames and does not remove')

  await page.context().clearCookies({ name: /^authority_session_/ })
  await page.goto(`${origin}/auth/login?return_to=/auth/security`)
  await page.getByRole('button', { name: 'Sign in with a passkey' }).focus()
  await enter(page)
  t.equal(await heading(page), 'Passkeys and two-step sign-in')
  await settled(page)
  await page.locator('.change summary').first().focus()
  await page.keyboard.press('Enter')
  await page.locator('.change a').first().focus()
  await enter(page)
  await settled(page)
  await page.locator('button[value=remove]').focus()
  await enter(page)
  t.equal(await page.locator('.change').count(), 1)

  await page.context().clearCookies({ name: /^authority_session_/ })
  await page.goto(`${origin}/auth/login?return_to=/auth/security`)
  await signInByKeys(page, username)
  t.equal(await heading(page), 'Confirm it’s you')
  t.equal(await focused(page), 'code')
  t.same(await walk(page), [], 'the second step')
  await page.locator('#code').focus()
  await page.keyboard.type('000000')
  await enter(page)
  t.equal(await focused(page), 'code')
  t.equal(await page.locator('#code').getAttribute('aria-invalid'), 'true')
  await page.getByRole('link', { name: 'Recovery code' }).focus()
  await enter(page)
  for (const [typed, isRight] of [
    [recoveryCode.replace(/^..../, '0000'), false],
    [recoveryCode, true]
  ] as const) {
    t.equal(await focused(page), 'recovery_code')
    await page.keyboard.type(typed)
    await enter(page)
    t.equal(await heading(page), isRight ? 'Passkeys and two-step sign-in' : 'Confirm it’s you')
  }
})
