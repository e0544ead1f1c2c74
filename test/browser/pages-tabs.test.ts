import t from '../support/tap.ts'
import { withChromium } from './support/chromium.ts'
import { alerts, answerAt, heading, signInOn, userAt, valuesOf, WITH_AND_AT_NIGHT_WITHOUT } from './support/journeys.ts'
import { startProvider } from './support/provider.ts'

const HOUR = 3_600_000
const { newPage } = await withChromium(t)

for (const { name, options } of WITH_AND_AT_NIGHT_WITHOUT) {
  t.test(`completes sign-ins despite reloads, waits and several tabs, ${name}`, async (t) => {
    t.test('continues after a reload of a rejected form', async (t) => {
      const provider = await startProvider(t)
      const page = await newPage(t, options)
      await page.goto(provider.authorizeUrl())
      await signInOn(page, { password: 'not this one' })
      const reloaded = await page.reload()
      t.equal(reloaded?.status(), 400)
      t.strictSame(await alerts(page), ['The username or password is wrong.'])
      t.equal(provider.events.filter((event) => event.name === 'login_failed').length, 2)
      await signInOn(page)
      t.equal(await userAt(page, provider), provider.ann.id)
    })

    t.test('signs in on a page left open for six hours', async (t) => {
      const provider = await startProvider(t)
      const page = await newPage(t, options)
      await page.goto(provider.authorizeUrl())
      provider.clock.step(6 * HOUR)
      await signInOn(page)
      t.equal(await userAt(page, provider), provider.ann.id)
    })

    t.test('completes the sign-ins of two tabs, and signs in a third without a page', async (t) => {
      const provider = await startProvider(t)
      const one = await newPage(t, options)
      const two = await one.context().newPage()
      await one.goto(provider.authorizeUrl({ state: 'one' }))
      await two.goto(provider.authorizeUrl({ state: 'two' }))
      await signInOn(one)
      t.equal((await answerAt(one, provider)).state, 'one')
      t.equal(await heading(two), 'Sign in to Example Accounts')
      await signInOn(two)
      t.equal((await answerAt(two, provider)).state, 'two')
      t.equal(await userAt(two, provider), provider.ann.id)
      // Single sign-on: a third client shows no page.
      const three = await one.context().newPage()
      await three.goto(provider.authorizeUrl({ state: 'three', client_id: 'web' }))
      t.equal((await answerAt(three, provider)).state, 'three')
    })

    t.test('shows neither code nor password after the back button, and signs in again', async (t) => {
      const provider = await startProvider(t)
      const page = await newPage(t, options)
      await page.goto(provider.authorizeUrl())
      await signInOn(page)
      const { code = '' } = await answerAt(page, provider)
      const back = await page.goBack()
      t.equal(back?.headers()['cache-control'], 'no-store')
      t.equal(await heading(page), 'Sign in to Example Accounts')
      t.strictSame(await valuesOf(page, 'Password'), [''])
      t.notOk((await page.content()).includes(code), 'no code')
      await signInOn(page)
      t.equal(await userAt(page, provider), provider.ann.id)
    })
  })
}
