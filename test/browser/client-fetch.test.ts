/** `fetch` of the browser client in Chromium: origins that get the token, and retries after a 401. */
import { decodeJwt } from '../support/jwt.ts'
import type { Page, Request } from 'playwright-core'
import t, { type Test } from '../support/tap.ts'
import { clientSubject, CORS, intercept, respond, signIn, type Subject } from './support/client-app.ts'
import { withChromium } from './support/chromium.ts'

const API = 'https://api.example'
const ELSEWHERE = 'https://elsewhere.example'
/** Chromium's message on an answer with 401 to a script, or on a missing answer. */
const FAILED = /Failed to load resource/

const chromium = await withChromium(t)

interface Api extends Subject {
  page: Page
  /** The requests to the page's own API and to others, oldest first. */
  requests: Array<{ url: string; token: string | undefined; body: string | null; headers: Record<string, string> }>
  /** The status of the next responses. */
  statuses: number[]
}

async function subjectWithApi(t: Test): Promise<Api> {
  const subject = await clientSubject(t, { client: `{ allowedOrigins: ['${API}'] }` })
  const page = await chromium.newPage(t, { allow: [FAILED] })
  const requests: Api['requests'] = []
  const statuses: number[] = []
  for (const origin of [subject.app.origin, API, ELSEWHERE]) {
    await page.context().route(`${origin}/api*`, async (route) => {
      const request: Request = route.request()
      const headers = await request.allHeaders()
      requests.push({
        url: request.url(),
        token: headers.authorization?.replace('Bearer ', ''),
        body: request.postData(),
        headers
      })
      await route.fulfill({
        status: statuses.shift() ?? 200,
        headers: { ...CORS, 'access-control-allow-headers': '*, authorization', 'access-control-allow-methods': '*' },
        json: { ok: true }
      })
    })
  }
  return { ...subject, page, requests, statuses }
}

t.test('sends the token to its own origin and the allowed origins only', async (t) => {
  const subject = await subjectWithApi(t)
  const { app, page, requests } = subject
  await signIn(page, subject)
  const token = await app.value(page, 'auth.getAccessToken()')
  for (const url of ['/api', `${app.origin}/api`, `${API}/api`, `${ELSEWHERE}/api`])
    t.equal(await app.value(page, `auth.fetch('${url}').then(({ status }) => status)`), 200)
  t.same(
    requests.map((request) => request.token),
    [token, token, token, undefined]
  )
  t.equal(
    await app.value(
      page,
      "auth.fetch(new Request('/api', { headers: { 'x-mine': '1' } }), { method: 'POST', body: " +
        "'x' }).then((response) => response.json()).then(({ ok }) => ok)"
    ),
    true
  )
  t.match(requests.at(-1), { token, body: 'x', headers: { 'x-mine': '1' } })
  t.equal(await page.evaluate("fetch('/api').then(({ status }) => status)"), 200)
  t.equal(requests.at(-1)?.token, undefined, "the page's own fetch is left alone")
})

t.test('retries a request once after a 401, with a new token and the same body', async (t) => {
  const subject = await subjectWithApi(t)
  const { app, page, requests, statuses, provider } = subject
  const token = await intercept(page, `${provider.origin}/auth/token`)
  await signIn(page, subject)
  statuses.push(401)
  t.equal(
    await app.value(page, "auth.fetch('/api', { method: 'POST', body: 'all of it' }).then(({ status }) => status)"),
    200
  )
  t.same(
    requests.map(({ body }) => body),
    ['all of it', 'all of it']
  )
  t.not(requests[0]?.token, requests[1]?.token)
  t.equal(requests[1]?.token, await app.value(page, 'auth.getAccessToken()'))

  statuses.push(401, 401)
  t.equal(await app.value(page, "auth.fetch('/api').then(({ status }) => status)"), 401, 'twice is an answer')
  t.equal(requests.length, 4)
  statuses.push(403)
  t.equal(await app.value(page, "auth.fetch('/api').then(({ status }) => status)"), 403)
  t.equal(requests.length, 5)

  token.answer = respond(503, {})
  statuses.push(401)
  t.equal(
    await app.value(page, "auth.fetch('/api').then(({ status }) => status)"),
    401,
    'no new token: the answer that there was'
  )
  t.not(await app.value(page, 'auth.getUser()'), null)
  statuses.push(401, 401)
  for (let i = 0; i < 2; i++)
    t.equal(await app.value(page, `auth.fetch('${ELSEWHERE}/api').then(({ status }) => status)`), 401)
  t.equal(requests.length, 8, 'a foreign 401 is none of ours')
})

t.test('sends no token while signed out', async (t) => {
  const { app, page, requests, statuses } = await subjectWithApi(t)
  await page.goto(`${app.origin}/`)
  statuses.push(200, 401)
  t.equal(await app.value(page, "auth.fetch('/api').then(({ status }) => status)"), 200)
  t.equal(await app.value(page, "auth.fetch('/api').then(({ status }) => status)"), 401)
  t.same(
    requests.map(({ token }) => token),
    [undefined, undefined]
  )
  t.same(await app.events(page), [], 'which is no error')
})

t.test(
  'rejects with an AuthClientError if a request cannot be sent, and follows the signal of the caller',
  async (t) => {
    const { app, page } = await subjectWithApi(t)
    await page.goto(`${app.origin}/`)
    await page.context().route(`${app.origin}/down`, async (route) => {
      await route.abort()
    })
    await page.context().route(`${app.origin}/slow`, async () => {})
    t.match(await app.call(page, "auth.fetch('/down')"), { error: 'request_error', retryable: true, typed: true })
    t.match(await app.call(page, "auth.fetch('http://')"), { error: 'request_error', typed: true })
    t.match(await app.call(page, "auth.fetch('/slow', { signal: AbortSignal.timeout(50) })"), {
      error: 'timeout',
      typed: true
    })
    t.equal(
      await page.evaluate("auth.fetch('/slow', { signal: AbortSignal.abort() }).catch(({ cause }) => cause.name)"),
      'AbortError'
    )
  }
)

t.test('gets tokens for the API of the option audience, and the profile from the ID token', async (t) => {
  const api = 'https://api.example.com'
  const subject = await clientSubject(
    t,
    { client: `{ audience: '${api}', scope: 'openid profile orders:read' }` },
    { resources: [{ resource: api, scopes: { 'orders:read': 'see your orders' } }], idToken: { claims: 'scopes' } }
  )
  // Userinfo refuses a token for an API.
  const page = await chromium.newPage(t, { allow: [FAILED] })
  await signIn(page, subject)
  for (const force of [false, true]) {
    const token = await subject.app.value(page, `auth.getAccessToken({ force: ${force} })`)
    t.match(decodeJwt(String(token)).claims, { aud: api, scope: 'orders:read', client_id: 'app' })
  }
  t.match(await subject.app.value(page, 'auth.getUser()'), { preferred_username: 'ann' })
})
