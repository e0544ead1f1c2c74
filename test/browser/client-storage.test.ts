/**
 * Each storage of the browser client's session, in Chromium: memory, one tab, the host's own, and a browser that blocks
 * storage.
 */
import t from '../support/tap.ts'
import { clientSubject, signIn } from './support/client-app.ts'
import { withChromium } from './support/chromium.ts'

const chromium = await withChromium(t)
const stored = 'JSON.stringify([{ ...localStorage }, { ...sessionStorage }])'

t.test('memory: shares the session between open tabs until the sign-out, and writes nothing', async (t) => {
  const subject = await clientSubject(t, { client: "{ storage: 'memory' }" })
  const { app, provider } = subject
  const page = await chromium.newPage(t)
  await signIn(page, subject)
  t.equal(await page.evaluate(stored), '[{},{}]')
  const other = await page.context().newPage()
  await other.goto(`${app.origin}/`)
  // A busy tab may answer late. Then the event has the result.
  await other.waitForFunction('events.some(([name]) => name === "authenticated")')
  t.match(await app.value(other, 'auth.getUser()'), { sub: provider.ann.id })
  t.equal(await app.value(other, 'auth.getAccessToken()'), await app.value(page, 'auth.getAccessToken()'))
  await page.reload()
  await page.waitForFunction('events.some(([name]) => name === "authenticated")')
  t.match(await app.value(page, 'auth.getUser()'), { sub: provider.ann.id }, 'a reload asks the other tab')
  const tokens = await Promise.all(
    [page, other].map(async (tab) => await app.value(tab, 'auth.getAccessToken({ force: true })'))
  )
  t.equal(tokens[1], await app.value(other, 'auth.getAccessToken()'))
  t.equal(
    await app.value(page, 'auth.getAccessToken()'),
    await app.value(other, 'auth.getAccessToken()'),
    'a new token is in both'
  )
  await app.value(page, 'auth.logout({ returnTo: false })')
  await other.waitForFunction("events.at(-1)?.[0] === 'unauthenticated'")
  t.equal(await app.value(other, 'auth.getUser()'), null)
})

t.test('memory: loses the session when the only tab reloads', async (t) => {
  const subject = await clientSubject(t, { client: "{ storage: 'memory' }" })
  const page = await chromium.newPage(t)
  await signIn(page, subject)
  await page.reload()
  t.equal(await subject.app.value(page, 'auth.getUser()'), null)
})

t.test('session: keeps the session in one tab over a reload', async (t) => {
  const subject = await clientSubject(t, { client: "{ storage: 'session' }" })
  const { app, provider } = subject
  const page = await chromium.newPage(t)
  await signIn(page, subject)
  t.equal(await page.evaluate('localStorage.length'), 0)
  await page.reload()
  t.match(await app.value(page, 'auth.getUser()'), { sub: provider.ann.id })
  const other = await page.context().newPage()
  await other.goto(`${app.origin}/`)
  t.equal(await app.value(other, 'auth.getUser()'), null)
})

t.test('keeps the session in an asynchronous custom storage, and reports no user if it fails', async (t) => {
  const storage = `{ storage: {
    getItem: async (key) => { await 0; if (globalThis.broken) throw new Error('no disk'); return sessionStorage.getItem('mine ' + key) },
    setItem: async (key, value) => { await 0; if (globalThis.broken) throw new Error('no disk'); sessionStorage.setItem('mine ' + key, value) },
    removeItem: async (key) => { await 0; if (globalThis.broken) throw new Error('no disk'); sessionStorage.removeItem('mine ' + key) }
  } }`
  const subject = await clientSubject(t, { client: storage })
  const { app, provider } = subject
  const page = await chromium.newPage(t)
  await signIn(page, subject)
  t.match(await app.value(page, 'auth.getUser()'), { sub: provider.ann.id })
  t.equal(await page.evaluate('localStorage.length'), 0)
  t.type(await app.value(page, 'auth.getAccessToken({ force: true })'), 'string')
  await page.evaluate('globalThis.broken = true')
  t.equal(await app.value(page, 'auth.getUser()'), null)
  // The page is navigating to the provider meanwhile. Without the delay the response could be lost with the page.
  await page.route(
    (url) => url.pathname === '/auth/logout',
    () => {}
  )
  t.match(await app.call(page, 'auth.logout()'), { typed: true, error: 'request_error' })
})

t.test('keeps the session of a tab whose custom storage fails to remove it', async (t) => {
  const subject = await clientSubject(t, {
    client: `{ storage: {
      getItem: (key) => sessionStorage.getItem(key),
      setItem: (key, value) => sessionStorage.setItem(key, value),
      removeItem: async () => { globalThis.asked = true; if (globalThis.broken) throw new Error('no disk') }
    } }`
  })
  const { app, provider } = subject
  const page = await chromium.newPage(t)
  await signIn(page, subject)
  const items = await page.evaluate('JSON.stringify(sessionStorage)')
  const other = await page.context().newPage()
  await other.goto(`${app.origin}/`)
  await other.evaluate(`Object.assign(sessionStorage, ${String(items)}); globalThis.broken = true`)
  await app.value(page, 'auth.logout({ returnTo: false })')
  await other.waitForFunction('globalThis.asked')
  t.match(await app.value(other, 'auth.getUser()'), { sub: provider.ann.id })
  t.same(await app.events(other), [])
})

t.test('signs in while web storage is blocked', async (t) => {
  const subject = await clientSubject(t)
  const { app, provider } = subject
  const page = await chromium.newPage(t)
  await page
    .context()
    .addInitScript(
      "for (const name of ['localStorage', 'sessionStorage']) Object.defineProperty(globalThis, " +
        "name, { get () { throw new DOMException('denied', 'SecurityError') } })"
    )
  t.match(await signIn(page, subject, "{ appState: { from: '/cart?a=1; b' } }"), { appState: { from: '/cart?a=1; b' } })
  t.match(await app.value(page, 'auth.getUser()'), { sub: provider.ann.id })
  t.type(await app.value(page, 'auth.getAccessToken({ force: true })'), 'string')
  t.equal(await page.evaluate('document.cookie'), '', 'what the sign-in needed is gone')
})
