import t from '../support/tap.ts'
import { withChromium } from './support/chromium.ts'
import { answerAt, heading, press, signInOn, tokensAt, userAt, WITH_AND_AT_NIGHT_WITHOUT } from './support/journeys.ts'
import { startProvider } from './support/provider.ts'

const HOUR = 3_600_000
const { newPage } = await withChromium(t)

for (const { name, options } of WITH_AND_AT_NIGHT_WITHOUT) {
  t.test(`asks for consent ${name}`, async (t) => {
    t.test('returns to the client after Allow, remembers it, and asks again for new scopes', async (t) => {
      const provider = await startProvider(t)
      const page = await newPage(t, options)
      await page.goto(provider.authorizeUrl({ client_id: 'third' }))
      await signInOn(page)
      t.equal(await heading(page), 'A Third Party wants access to your account')
      const text = await page.getByRole('main').innerText()
      t.equal(await page.locator('.chip').getAttribute('title'), 'ann')
      t.match(text, new URL(provider.client.origin).host)
      t.strictSame(await page.getByRole('listitem').allInnerTexts(), ['know who you are'])
      t.equal((await press(page, 'Allow')).status(), 303)
      t.equal(await userAt(page, provider, 'third'), provider.ann.id)

      await page.goto(provider.authorizeUrl({ client_id: 'third', state: 'remembered' }))
      t.equal((await answerAt(page, provider)).state, 'remembered')

      await page.goto(provider.authorizeUrl({ client_id: 'third', scope: 'openid profile email', state: 'more' }))
      t.equal(await heading(page), 'A Third Party wants access to your account')
      t.strictSame(await page.getByRole('listitem').allInnerTexts(), [
        'know who you are',
        'see your name and profile details',
        'see your email'
      ])
      await press(page, 'Allow')
      t.equal((await tokensAt(page, provider, 'third')).scope, 'openid profile email')
    })

    t.test('returns access_denied to the client after Cancel, and remembers nothing', async (t) => {
      const provider = await startProvider(t)
      const page = await newPage(t, options)
      await page.goto(provider.authorizeUrl({ client_id: 'third' }))
      await signInOn(page)
      t.equal((await press(page, 'Cancel')).status(), 303)
      t.match(await answerAt(page, provider), {
        error: 'access_denied',
        state: 'state-1',
        iss: provider.origin,
        code: undefined
      })
      t.strictSame(await provider.app.authority.consents(provider.ann.id), [])
      await page.goto(provider.authorizeUrl({ client_id: 'third' }))
      t.equal(await heading(page), 'A Third Party wants access to your account')
    })

    t.test('returns access_denied by form_post after Cancel', async (t) => {
      const provider = await startProvider(t)
      const page = await newPage(t, options)
      await page.goto(provider.authorizeUrl({ client_id: 'third', response_mode: 'form_post' }))
      await signInOn(page)
      await press(page, 'Cancel')
      if (options.javaScriptEnabled === false) await press(page, 'Continue')
      t.match(await answerAt(page, provider), { error: 'access_denied', state: 'state-1' })
      t.equal(provider.client.visits.at(-1)?.method, 'POST')
    })

    t.test('asks for sign-in and consent again if the session expired on the page', async (t) => {
      const provider = await startProvider(t)
      const page = await newPage(t, options)
      await page.goto(provider.authorizeUrl({ client_id: 'third' }))
      await signInOn(page)
      provider.clock.step(3 * HOUR)
      await press(page, 'Allow')
      t.equal(await heading(page), 'Sign in to Example Accounts')
      t.strictSame(
        await provider.app.authority.consents(provider.ann.id),
        [],
        'a button pressed by nobody known allows nothing'
      )
      await signInOn(page)
      t.equal(await heading(page), 'A Third Party wants access to your account')
      await press(page, 'Allow')
      t.equal(await userAt(page, provider, 'third'), provider.ann.id)
    })

    t.test('does not ask for consent again after the back button', async (t) => {
      const provider = await startProvider(t)
      const page = await newPage(t, options)
      await page.goto(provider.authorizeUrl({ client_id: 'third' }))
      await signInOn(page)
      await press(page, 'Allow')
      const { code } = await answerAt(page, provider)
      await page.goBack()
      // The consent exists already, so going back leads to the client again with a new code.
      const again = await answerAt(page, provider)
      t.match(again, { state: 'state-1', code: /./ })
      t.not(again.code, code)
    })
  })
}
