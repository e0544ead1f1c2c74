/** A signed-in user who sees the sign-in page anyway gets the reason. */
import t from '../support/tap.ts'
import { PASSWORD } from '../support/app.ts'
import { testBrowser } from '../support/browser.ts'
import { authorizeAs, authorizePath, openidApp } from '../support/openid.ts'

const TOLD = 'It’s been a while. Please sign in again to continue.'
/** Addresses that ask for a sign-in in any case. */
const ASKING = [
  authorizePath({ prompt: 'login' }),
  authorizePath({ max_age: '60' }),
  '/auth/login?return_to=%2Fcart&prompt=login'
]

t.test('explains a required recent sign-in to a signed-in user only', async (t) => {
  const { app, ann, browser, clock, close } = await openidApp()
  t.teardown(close)
  const told = async (who: typeof browser, url: string): Promise<boolean> => {
    const { reply } = await who.follow(await who.get(url))
    t.equal(reply.statusCode, 200, url)
    t.match(reply.body, /<h1>Sign in to /, url)
    return reply.body.includes(TOLD)
  }
  for (const url of ASKING) t.equal(await told(testBrowser(app), url), false, `nobody: ${url}`)
  await authorizeAs(browser, authorizePath())
  clock.step(61_000)
  for (const url of ASKING) t.equal(await told(browser, url), true, url)
  t.equal(await told(browser, '/auth/login'), false, 'who has come on their own is on no way')
  t.equal(
    (await browser.get('/auth/login?return_to=%2Fcart')).headers.location,
    '/cart',
    'and a page that asks for no more than a sign-in is gone on to'
  )
  await app.authority.revokeUser(ann.sub)
  for (const url of ASKING) t.equal(await told(browser, url), false, `signed out elsewhere: ${url}`)
})

t.test('offers a sign-in with another account next to a known name, and signs nobody out', async (t) => {
  const { app, browser, close } = await openidApp()
  t.teardown(close)
  await app.inject({ method: 'POST', url: '/auth/register', payload: { username: 'bob', password: PASSWORD } })
  await authorizeAs(browser, authorizePath())
  const consent = await browser.follow(await browser.get(authorizePath({ prompt: 'consent' })))
  t.match(consent.reply.body, /<a href="\/auth\/login\?[^"]*prompt=consent\+select_account[^"]*">Not you\?/)
  for (const url of [
    authorizePath({ prompt: 'login', login_hint: 'ann' }),
    '/auth/login?return_to=%2Fcart&prompt=login'
  ]) {
    const { reply } = await browser.follow(await browser.get(url))
    const [, other = ''] = /<a href="([^"]+)">Not you\?</.exec(reply.body) ?? []
    const page = other.replaceAll('&amp;', '&')
    t.match(page, /prompt=login\+select_account/, 'a fresh sign-in is asked for as before')
    const elsewhere = await browser.get(page, { 'sec-fetch-site': 'cross-site' })
    t.match(elsewhere, { statusCode: 200 })
    t.equal(elsewhere.headers['set-cookie'], undefined)
    t.match(elsewhere.body, 'name="username" type="text" value="" required')
    t.notMatch(elsewhere.body, /Not you|value="ann"/, 'no name is known there')
    t.notMatch(elsewhere.body, TOLD)
    t.match((await browser.get('/auth/account')).body, 'title="ann"', 'and nobody is signed out')
    t.match(await browser.submit(page, { username: 'bob', password: PASSWORD }), {
      statusCode: 303,
      headers: { location: url.includes('cart') ? '/cart' : /^\/auth\/authorize\?/ }
    })
    t.match((await browser.get('/auth/account')).body, 'title="bob"')
    await browser.submit(page, { username: 'ann', password: PASSWORD })
  }
})

t.test('shows the error of a failed sign-in instead of the explanation', async (t) => {
  const { browser, close } = await openidApp()
  t.teardown(close)
  await authorizeAs(browser, authorizePath())
  const { url } = await browser.follow(await browser.get(authorizePath({ prompt: 'login' })))
  const { body } = await browser.submit(url, { username: 'ann', password: `not ${PASSWORD}` })
  t.match(body, 'role="alert"')
  t.notMatch(body, TOLD)
})
