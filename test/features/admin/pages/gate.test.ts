/** ADM-P1, P2, P8: the pages are there for administrators alone. */
import t from '../../../support/tap.ts'
import { type AuthorityOptions, memoryFactorStore } from '../../../../lib/index.ts'
import { ADMIN_SCOPES } from '../../../../lib/protocol/scope.ts'
import { ISSUER, PASSWORD } from '../../../support/app.ts'
import type { TestBrowser } from '../../../support/browser.ts'
import { giveSecondFactor } from '../../../support/second-factor.ts'
import { PAGES } from '../world.ts'
import { paged, type Paged, signedIn } from './pages-world.ts'

const FORM = { 'content-type': 'application/x-www-form-urlencoded' }

/** An answer without the parts that differ for each request and path. */
async function seen(
  { app }: Paged,
  browser: TestBrowser,
  method: 'GET' | 'HEAD' | 'POST',
  url: string,
  headers: Record<string, string> = {}
) {
  const cookie = [...browser.cookies].map((pair) => pair.join('=')).join('; ')
  const type = headers['content-type'] !== undefined
  const reply = await app.inject({ method, url, headers: { cookie, ...headers }, ...(type ? { payload: '{}' } : {}) })
  const { date: _date, 'content-length': _length, ...rest } = reply.headers
  return { status: reply.statusCode, body: reply.body.replaceAll(url, '<path>'), headers: rest }
}

t.test('answers GET, HEAD and POST of a user without admin rights at admin pages like an unknown path', async (t) => {
  const test = await paged(t)
  const { app, ann, bob, admins } = test
  admins.set('bob@example.com', ['authority:impersonate'])
  const asked: string[] = []
  for (const username of ['ann', 'bob@example.com']) {
    const browser = await signedIn(app, username)
    const before = [...browser.cookies]
    for (const { path } of PAGES)
      for (const method of ['GET', 'HEAD', 'POST'] as const)
        for (const headers of [
          {},
          { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' },
          { 'sec-fetch-site': 'same-origin', origin: ISSUER },
          ...(method === 'POST' ? [{ 'content-type': 'application/json' }] : [])
        ]) {
          const url = `/auth/admin${path.replace(':id', bob.sub).replace(':one', 'x')}`
          const unknown = await seen(test, browser, method, `${url}-unknown`, headers)
          t.equal(unknown.status, 404)
          t.strictSame(await seen(test, browser, method, url, headers), unknown, `${username} ${method} ${url}`)
          asked.push(url)
        }
    t.strictSame([...browser.cookies], before)
  }
  t.ok(asked.length > 0)
  t.same((await test.entries(bob.sub, 'user_disabled')).length, 0)
  t.same((await test.entries(ann.sub, 'user_disabled')).length, 0)
})

t.test("gives a user without admin rights the host's own 404 answer and headers at admin pages", async (t) => {
  const test = await paged(t, {}, (app) => {
    app.addHook('onRequest', async (_request, reply) => {
      reply.header('access-control-allow-origin', 'https://other.example')
      reply.header('x-host', 'here')
    })
    app.setNotFoundHandler(async (_request, reply) => await reply.code(404).type('text/html').send('<h1>Lost</h1>'))
  })
  const browser = await signedIn(test.app, 'ann')
  for (const method of ['GET', 'POST'] as const) {
    const known = await seen(test, browser, method, '/auth/admin')
    t.equal(known.body, '<h1>Lost</h1>')
    t.strictSame(known, await seen(test, browser, method, '/auth/unknown'))
  }
  const root = await seen(test, test.browser, 'GET', '/auth/admin')
  t.equal(root.status, 200)
  t.equal(root.headers['access-control-allow-origin'], undefined, 'no other origin reads a page')
  t.equal(root.headers['x-host'], 'here')
})

t.test('redirects a browser without a session from admin pages to the sign-in page with a return path', async (t) => {
  const { app } = await paged(t)
  for (const { path: pattern, method } of PAGES) {
    const path = pattern.replaceAll(/:\w+/g, 'x')
    const reply = await app.inject({ method, url: `/auth/admin${path}?q=x`, headers: FORM })
    t.equal(reply.statusCode, 303, path)
    t.equal(reply.headers.location, `/auth/login?return_to=${encodeURIComponent(`/auth/admin${path}?q=x`)}`)
    t.equal(reply.headers['cache-control'], 'no-store')
    t.strictSame(reply.cookies, [])
  }
})

t.test('asks for a fresh sign-in at admin pages when the last one is more than an hour old', async (t) => {
  const { browser, clock } = await paged(t)
  clock.step(3_600_000)
  t.equal((await browser.get('/auth/admin')).statusCode, 200)
  clock.step(1)
  for (const { path: pattern } of PAGES) {
    const path = pattern.replaceAll(/:\w+/g, 'x')
    const reply = await browser.get(`/auth/admin${path}`)
    t.equal(reply.statusCode, 303, path)
    t.equal(reply.headers.location, `/auth/reauthenticate?return_to=${encodeURIComponent(`/auth/admin${path}`)}`)
  }
})

t.test('asks at admin pages for the second factor of the account, also in a remembered browser', async (t) => {
  const test = await paged(t, { factors: memoryFactorStore(), mfa: { rememberDevice: {} } })
  const { app, root } = test
  const { give } = await giveSecondFactor(test, root.sub)
  const browser = await signedIn(app, 'root')
  t.match((await browser.get('/auth/admin')).headers.location, /^\/auth\/login/)
  await give(browser, '', { remember: 'on' })
  t.equal((await browser.get('/auth/admin')).statusCode, 200)
  await browser.submit('/auth/logout', { decision: 'sign_out' })
  await browser.submit('/auth/login', { username: 'root', password: PASSWORD })
  t.equal((await browser.get('/auth/account')).statusCode, 200, 'a password is enough there')
  const led = await browser.get('/auth/admin')
  t.equal(led.statusCode, 303)
  t.match(led.headers.location, /^\/auth\/reauthenticate\?return_to=/)
})

t.test('asks admin.allow at each request for an admin page, and answers 404 after a refusal', async (t) => {
  const asked: object[] = []
  let given: readonly string[] = ADMIN_SCOPES
  const admin: AuthorityOptions['admin'] = {
    allow(question) {
      asked.push({ ...question, user: question.user?.username })
      return given
    }
  }
  const { browser } = await paged(t, { admin })
  asked.length = 0
  t.equal((await browser.get('/auth/admin')).statusCode, 200)
  t.strictSame(asked, [{ user: 'root', client: null, scopes: [...ADMIN_SCOPES] }])
  given = []
  t.equal((await browser.get('/auth/admin')).statusCode, 404)
  given = ['authority:audit:read']
  t.equal((await browser.get('/auth/admin')).statusCode, 404)
})

t.test('sends the security headers of hosted pages with an admin page', async (t) => {
  const { browser } = await paged(t)
  const { headers } = await browser.get('/auth/admin')
  t.match(headers, {
    'cache-control': 'no-store',
    'referrer-policy': 'same-origin',
    'content-security-policy': /frame-ancestors 'none'/,
    'content-type': 'text/html; charset=utf-8'
  })
})

t.test('answers 429 to the 121st request for administration pages in a minute', async (t) => {
  const { browser } = await paged(t, { rateLimit: { login: false, account: false, register: false } })
  for (let count = 0; count < 120; count++) t.equal((await browser.get('/auth/admin')).statusCode, 200)
  t.equal((await browser.get('/auth/admin')).statusCode, 429)
})

t.test('has no admin pages with admin.pages: false, and rejects admin.pages: true with pages: false', async (t) => {
  const allow = () => ADMIN_SCOPES
  const { browser } = await paged(t, { admin: { allow, pages: false } })
  t.equal((await browser.get('/auth/admin')).statusCode, 404)
  await t.rejects(paged(t, { admin: { allow, pages: true }, pages: false }), { message: 'admin.pages' })
})

t.test('posts an admin form to the plain path of its page if the request encodes it or adds a query', async (t) => {
  const { browser, ann } = await paged(t)
  const url = `/auth/admin/people/${ann.sub}/disable`
  for (const spelt of [url, url.replace('admin', '%61dmin'), `${url}?a=//evil.example`])
    t.ok((await browser.get(spelt)).body.includes(`action="${url}"`), spelt)
})

t.test('rejects image requests of a sibling domain without counting them toward the limit', async (t) => {
  const { browser, bob, entries, root } = await paged(t, {
    rateLimit: { login: false, account: false, register: false }
  })
  const image = { 'sec-fetch-site': 'same-site', 'sec-fetch-dest': 'image', 'sec-fetch-mode': 'no-cors' }
  for (let count = 0; count < 130; count++) t.equal((await browser.get('/auth/admin/log', image)).statusCode, 403)
  t.same(await entries(root.sub, 'audit_read'), [])
  t.equal((await browser.get(`/auth/admin/people/${bob.sub}`)).statusCode, 200)
})
