import t from '../support/tap.ts'
import { withChromium } from './support/chromium.ts'
import {
  alerts,
  answerAt,
  heading,
  press,
  signInOn,
  userAt,
  USERNAME,
  valuesOf,
  WITH_AND_WITHOUT
} from './support/journeys.ts'
import { startProvider } from './support/provider.ts'

const { newPage } = await withChromium(t)

for (const { name, options } of WITH_AND_WITHOUT) {
  t.test(`signs in ${name}`, async (t) => {
    t.test('reports a wrong password on the page, keeps the username, and signs in afterwards', async (t) => {
      const provider = await startProvider(t)
      const page = await newPage(t, options)
      await page.goto(provider.authorizeUrl())
      t.equal(await heading(page), 'Sign in to Example Accounts')
      t.equal(await page.title(), 'Sign in to Example Accounts')
      const refused = await signInOn(page, { password: 'not this one' })
      t.equal(refused.status(), 400)
      t.strictSame(await alerts(page), ['The username or password is wrong.'])
      t.equal(await page.title(), 'Error: Sign in to Example Accounts')
      t.strictSame(await valuesOf(page, USERNAME, 'Password'), ['ann', ''])
      t.strictSame(provider.client.visits, [])
      t.equal((await signInOn(page)).status(), 303)
      t.match(await answerAt(page, provider), { state: 'state-1', iss: provider.origin, code: /./ })
      t.equal(await userAt(page, provider), provider.ann.id)
    })

    t.test('leads to the start page after a direct sign-in, or to the path in return_to', async (t) => {
      const provider = await startProvider(t, {}, (host) => {
        host.get(
          '/cart',
          async (_request, reply) =>
            await reply.type('text/html').send('<!doctype html><title>Cart</title><h1>Cart</h1>')
        )
      })
      const page = await newPage(t, options)
      await page.goto(`${provider.origin}/auth/login`)
      t.equal((await signInOn(page)).status(), 303)
      t.equal(page.url(), `${provider.origin}/`)
      await page.goto(`${provider.origin}/auth/login?return_to=${encodeURIComponent('/cart?item=1')}`)
      t.equal(page.url(), `${provider.origin}/cart?item=1`, 'leads a signed-in person on')
      await page.context().clearCookies()
      await page.goto(`${provider.origin}/auth/login?return_to=${encodeURIComponent('/cart?item=2')}`)
      await signInOn(page)
      t.equal(page.url(), `${provider.origin}/cart?item=2`)
    })

    t.test('asks a signed-in user again with prompt=login, and replaces the session cookie', async (t) => {
      const provider = await startProvider(t)
      const page = await newPage(t, options)
      await page.goto(provider.authorizeUrl())
      await signInOn(page)
      await answerAt(page, provider)
      const [before] = await page.context().cookies(provider.origin)
      await page.goto(provider.authorizeUrl({ prompt: 'login', state: 'again' }))
      t.equal(await heading(page), 'Sign in to Example Accounts')
      await signInOn(page)
      t.equal((await answerAt(page, provider)).state, 'again')
      const [after] = await page.context().cookies(provider.origin)
      t.not(after?.value, before?.value)
    })

    t.test('posts the response to the client with response_mode=form_post', async (t) => {
      const provider = await startProvider(t)
      const page = await newPage(t, options)
      await page.goto(provider.authorizeUrl({ response_mode: 'form_post' }))
      await signInOn(page)
      if (options.javaScriptEnabled === false) {
        t.equal(await heading(page), 'One moment, please')
        await press(page, 'Continue')
      }
      t.match(await answerAt(page, provider), { state: 'state-1', iss: provider.origin })
      t.match(provider.client.visits.at(-1), { method: 'POST', path: '/cb', referer: `${provider.origin}/` })
      t.equal(page.url(), `${provider.client.origin}/cb`, 'nothing in the address')
      t.equal(await userAt(page, provider), provider.ann.id)
    })

    t.test('returns login_required without a page for prompt=none', async (t) => {
      const provider = await startProvider(t)
      const page = await newPage(t, options)
      await page.goto(provider.authorizeUrl({ prompt: 'none' }))
      t.match(await answerAt(page, provider), { error: 'login_required', state: 'state-1' })
    })
  })
}
