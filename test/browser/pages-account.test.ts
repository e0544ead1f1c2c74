import { Type } from '@sinclair/typebox'
import t from '../support/tap.ts'
import { PASSWORD } from '../support/app.ts'
import { withChromium } from './support/chromium.ts'
import {
  alerts,
  answerAt,
  fill,
  followLink,
  heading,
  press,
  signInOn,
  userAt,
  USERNAME,
  valuesOf,
  WITH_AND_AT_NIGHT_WITHOUT
} from './support/journeys.ts'
import { startProvider } from './support/provider.ts'

const NEXT_PASSWORD = 'another horse, another battery'
const FIELDS = Type.Object({
  nickname: Type.Optional(Type.String({ title: 'Nickname', maxLength: 10 })),
  news: Type.Boolean({ title: 'Send me news' })
})
const { newPage } = await withChromium(t)

for (const { name, options } of WITH_AND_AT_NIGHT_WITHOUT) {
  t.test(`shows the account pages ${name}`, async (t) => {
    t.test('signs up after a mistake, keeps the typed values, and returns to the client', async (t) => {
      const provider = await startProvider(t, { registration: { fields: FIELDS } })
      const page = await newPage(t, options)
      await page.goto(provider.authorizeUrl())
      await followLink(page, 'Create an account')
      t.equal(await heading(page), 'Create your Example Accounts account')
      await fill(page, { [USERNAME]: 'ann', Password: PASSWORD, 'Nickname (optional)': 'Annie' })
      await page.getByLabel('Send me news').check()
      t.equal((await press(page, 'Create account')).status(), 409)
      t.strictSame(await alerts(page), ['This username is already taken.'])
      t.strictSame(await valuesOf(page, USERNAME, 'Password', 'Nickname (optional)'), ['ann', '', 'Annie'])
      t.ok(await page.getByLabel('Send me news').isChecked())
      await fill(page, { [USERNAME]: 'berta', Password: PASSWORD })
      t.equal((await press(page, 'Create account')).status(), 303)
      const registered = provider.events.find((event) => event.name === 'registered')
      t.match(registered?.payload, { userId: /./ })
      t.equal(await userAt(page, provider), registered?.payload.userId)
    })

    t.test('lets a person correct a number that the server refused', async (t) => {
      const fields = Type.Object({
        seats: Type.Number({ title: 'Seats', multipleOf: 5 }),
        floor: Type.Integer({ title: 'Floor' })
      })
      const provider = await startProvider(t, { registration: { fields } })
      for (const [label, wrong, right] of [
        ['Seats', '7', '10'],
        ['Floor', '1.5', '2']
      ] as const) {
        const page = await newPage(t, options)
        await page.goto(`${provider.origin}/auth/signup`)
        await page.evaluate('for (const form of document.forms) form.noValidate = true')
        await fill(page, { [USERNAME]: 'berta', Password: PASSWORD, Seats: '5', Floor: '1', [label]: wrong })
        t.equal((await press(page, 'Create account')).status(), 400, label)
        await fill(page, { [label]: right })
        t.equal(
          await page.evaluate(`document.forms[0].elements['${label.toLowerCase()}'].validationMessage`),
          '',
          label
        )
      }
    })

    t.test(
      'leads to the start page after a direct sign-up, and keeps an authorization request across pages',
      async (t) => {
        const provider = await startProvider(t)
        const page = await newPage(t, options)
        await page.goto(`${provider.origin}/auth/signup`)
        await fill(page, { [USERNAME]: 'carl', Password: PASSWORD })
        await press(page, 'Create account')
        t.equal(page.url(), `${provider.origin}/`)
        await page.goto(provider.authorizeUrl({ prompt: 'login' }))
        await followLink(page, 'Create an account')
        await followLink(page, 'Sign in')
        await press(page, 'Forgot your password?')
        await followLink(page, 'Back to sign-in')
        await signInOn(page)
        t.equal(await userAt(page, provider), provider.ann.id)
      }
    )

    t.test('signs up with a confirmation link that stays valid until its button is pressed', async (t) => {
      const provider = await startProvider(t, { registration: { verifyEmail: true } })
      const page = await newPage(t, options)
      await page.goto(provider.authorizeUrl())
      await followLink(page, 'Create an account')
      await fill(page, { [USERNAME]: 'dora@example.com', Password: PASSWORD })
      await press(page, 'Create account')
      t.equal(await heading(page), 'Check your email')
      await page.reload()
      t.equal(await heading(page), 'Check your email', 'reloaded')
      await provider.messages.next('verify_email')
      await followLink(page, 'Back to sign-in')
      await signInOn(page, { username: 'dora@example.com' })
      t.equal(await heading(page), 'Confirm your email', 'not before')
      t.strictSame(await alerts(page), [], 'the password was right')
      await press(page, 'Send it again')
      t.equal(await heading(page), 'Confirm your email')
      const again = (await provider.messages.next('verify_email')).url ?? ''

      // Opens the link first, as mail scanners and people do.
      for (let times = 0; times < 3; times++) await page.goto(again)
      t.equal(await heading(page), 'Confirm your email')
      await press(page, 'Confirm email')
      t.match(await answerAt(page, provider), { code: /./ }, 'back in the app')

      await page.goto(again)
      t.equal(await heading(page), 'This link no longer works')
      t.match(await alerts(page), ['Links work once and for a short time. Ask for a new one.'])
    })

    t.test('resets a forgotten password by an emailed link', async (t) => {
      const provider = await startProvider(t)
      await provider.addUser('emil@example.com')
      const page = await newPage(t, options)
      await page.goto(provider.authorizeUrl({ login_hint: 'emil@example.com' }))
      await press(page, 'Forgot your password?')
      t.strictSame(await valuesOf(page, USERNAME), ['emil@example.com'], 'the hint is kept')
      await press(page, 'Send link')
      t.equal(await heading(page), 'Check your email')
      const { url } = await provider.messages.next('password_reset')
      await page.goto(url)
      t.equal(await heading(page), 'Choose a new password')
      await fill(page, { 'New password': 'short' })
      t.equal((await press(page, 'Save new password')).status(), 400)
      t.strictSame(await alerts(page), ['The password needs at least 8 characters.'])
      t.strictSame(await valuesOf(page, 'New password'), [''])
      await fill(page, { 'New password': NEXT_PASSWORD })
      await press(page, 'Save new password')
      t.match(await answerAt(page, provider), { code: /./ }, 'back in the app')

      await page.goto(url)
      t.equal(await heading(page), 'This link no longer works', 'the link works once')
    })

    t.test('carries the typed username to the forgotten-password and email-code pages', async (t) => {
      const provider = await startProvider(t, { emailSignIn: {} })
      const page = await newPage(t, options)
      await page.goto(provider.authorizeUrl())
      await fill(page, { [USERNAME]: 'ann', Password: PASSWORD })
      const posted = page.waitForRequest((request) => request.method() === 'POST')
      await press(page, 'Forgot your password?')
      t.match((await posted).url(), '/auth/forgot-password?')
      t.strictSame(await valuesOf(page, USERNAME), ['ann'])
      await followLink(page, 'Back to sign-in')
      t.strictSame(await valuesOf(page, USERNAME), ['ann'])
      await press(page, 'Email me a code')
      t.strictSame(await valuesOf(page, USERNAME), ['ann'])
      t.equal((await provider.app.inject('/auth/login')).body.includes('value="ann"'), false)
    })

    t.test('shows the same page after a reset request for a known and an unknown username', async (t) => {
      const provider = await startProvider(t)
      const page = await newPage(t, options)
      const seen: string[] = []
      for (const username of ['ann', 'nobody']) {
        await page.goto(`${provider.origin}/auth/forgot-password`)
        await fill(page, { [USERNAME]: username })
        await press(page, 'Send link')
        // Except for the name, which the person typed.
        seen.push((await page.content()).replaceAll(/<bdi>(?:ann|nobody)<\/bdi>|value="(?:ann|nobody)"/g, ''))
      }
      t.equal(seen[0], seen[1])
      t.match(seen[0], 'If this account exists, we’ve sent a link')
    })
  })
}
