import t from '../support/tap.ts'
import { ISSUER, PASSWORD } from '../support/app.ts'
import { authorizeAs, authorizePath, CALLBACK, type OpenidApp, openidApp } from '../support/openid.ts'
import type { LightMyRequestResponse } from '../support/app.ts'

const third = authorizePath({ client_id: 'third', redirect_uri: 'https://third.example/cb' })
const query = (path: string): string => path.slice(path.indexOf('?'))

interface Row {
  status: number
  what: string
  reply: LightMyRequestResponse
  address: string
}

/** Requests the hosted pages of sign-in, sign-up, reset, consent and sign-out, with and without errors. */
async function everyPage({ app, browser, messages }: OpenidApp): Promise<Row[]> {
  const rows: Row[] = []
  const add = async (
    status: number,
    address: string,
    form?: Record<string, string>,
    headers: Record<string, string> = {}
  ): Promise<void> => {
    const reply =
      form === undefined ? await browser.get(address, headers) : await browser.submit(address, form, headers)
    rows.push({
      status,
      what: `${form === undefined ? 'GET' : 'POST'} ${address.split('?')[0]} ${status}`,
      reply,
      address
    })
  }
  await app.inject({
    method: 'POST',
    url: '/auth/register',
    payload: { username: 'bob@mail.example', password: PASSWORD }
  })
  const verify = await messages.next('verify_email')
  await app.inject({ method: 'POST', url: '/auth/password-reset', payload: { username: 'bob@mail.example' } })
  const reset = await messages.next('password_reset')

  await add(200, `/auth/login${query(authorizePath())}`)
  await add(400, `/auth/login${query(authorizePath())}`, { username: 'ann', password: 'not the right one' })
  await add(
    403,
    '/auth/login',
    { username: 'ann', password: PASSWORD },
    { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }
  )
  await add(415, '/auth/login', { username: 'ann' }, { 'content-type': 'text/plain' })
  await add(413, '/auth/login', { username: 'x'.repeat(20_000) })
  await add(400, authorizePath({ redirect_uri: 'https://evil.example/' }))
  await add(400, authorizePath({ client_id: 'nobody' }))
  await add(200, '/auth/signup')
  await add(409, '/auth/signup', { username: 'ann', password: PASSWORD })
  await add(200, '/auth/forgot-password')
  await browser.submit('/auth/forgot-password', { username: 'ann' })
  await add(200, '/auth/check-email')
  await add(200, `/auth/reset-password?token=${reset.token}`)
  await add(400, '/auth/reset-password?token=none')
  await add(400, '/auth/reset-password', { token: reset.token ?? '', password: 'short' })
  await add(200, `/auth/verify-email?token=${verify.token}`)
  await browser.submit('/auth/verify-email', { token: verify.token ?? '' })
  await add(200, '/auth/verify-email')
  await authorizeAs(browser, authorizePath())
  await add(200, `/auth/consent${query(third)}`)
  await add(200, authorizePath({ response_mode: 'form_post', state: '"><script>1</script>' }))
  await add(200, '/auth/logout')
  await add(200, '/auth/logout', { decision: 'sign_out' })
  return rows
}

// covers ASVS-3.4.3 ASVS-3.4.4 ASVS-3.4.5 ASVS-3.4.6 ASVS-3.4.8 ASVS-3.5.8 ASVS-4.1.1 ASVS-14.3.2
t.test('sends the security headers with hosted pages, including error pages', async (t) => {
  const subject = await openidApp()
  t.teardown(subject.close)
  for (const { status, what, reply, address } of await everyPage(subject)) {
    t.equal(reply.statusCode, status, what)
    t.match(
      reply.headers,
      {
        'content-type': 'text/html; charset=utf-8',
        'cache-control': 'no-store',
        'x-content-type-options': 'nosniff',
        'x-frame-options': 'DENY',
        'cross-origin-opener-policy': 'same-origin',
        'cross-origin-resource-policy': 'same-origin'
      },
      what
    )
    const directives = new Map(
      String(reply.headers['content-security-policy'])
        .split('; ')
        .map((one) => [one.split(' ')[0], one.split(' ').slice(1).join(' ')])
    )
    const { 'form-action': forms, ...loads } = Object.fromEntries(directives) as Record<string, string>
    t.same(
      loads,
      {
        'default-src': "'none'",
        'style-src': `${ISSUER}/auth/pages.css`,
        'script-src': `${ISSUER}/auth/pages.js`,
        'img-src': "'self' data:",
        'frame-ancestors': "'none'",
        'base-uri': "'none'"
      },
      what
    )
    t.ok(
      ["'self'", `'self' ${new URL(CALLBACK).origin}`, "'self' https://third.example"].includes(forms ?? ''),
      `${what}: ${forms}`
    )
    // Checks the referrer policy of addresses with a token and of unknown addresses.
    if (/token=/.test(address)) t.equal(reply.headers['referrer-policy'], 'origin', what)
    t.ok(['same-origin', 'origin'].includes(String(reply.headers['referrer-policy'])), what)
    t.notOk(
      Object.keys(reply.headers).some((name) => name.startsWith('access-control-')),
      what
    )
  }
})

// covers ASVS-3.6.1 ASVS-3.7.1 ASVS-1.2.3 ASVS-3.2.3
t.test('loads only the stylesheet and script of the library on hosted pages', async (t) => {
  const subject = await openidApp()
  t.teardown(subject.close)
  const scripts = new Set<string>()
  for (const {
    what,
    reply: { body }
  } of await everyPage(subject)) {
    const loaded = [...body.matchAll(/<(?:link|script|img|iframe|object|embed|audio|video|source|applet)\b[^>]*/g)].map(
      ([tag]) => tag
    )
    t.equal(loaded.length, 2, `${what}: ${loaded.join()}`)
    for (const tag of loaded)
      t.match(
        tag,
        /^<(?:link rel="stylesheet" href="\/auth\/pages\.css|script src="\/auth\/pages\.js)\?v=[\w-]{12}"/,
        what
      )
    t.match(body, /<script[^>]*><\/script>/, what)
    t.notMatch(body, /<[^>]*\s(?:on\w+|style|srcdoc)\s*=|javascript:|@import|url\(/i, what)
    const [, address = ''] = /<script src="([^"]+)"/.exec(body) ?? []
    scripts.add(address)
  }
  t.equal(scripts.size, 1, 'one for all')
  const script = await subject.app.inject({ url: [...scripts][0] ?? '' })
  t.equal(script.statusCode, 200)
  t.notMatch(
    script.body,
    /innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval|Function\(|window\.\w+\s*=|location|cookie|localStorage|fetch|XMLHttp/
  )
  t.match(script.body, /addEventListener/)
})

// covers ASVS-6.2.6
t.test('masks password fields on hosted pages, and leaves them empty', async (t) => {
  const subject = await openidApp()
  t.teardown(subject.close)
  let fields = 0
  for (const {
    what,
    reply: { body }
  } of await everyPage(subject)) {
    for (const [tag] of body.matchAll(/<input[^>]*name="password"[^>]*>/g)) {
      fields++
      t.match(tag, /type="password"/, what)
      t.notMatch(tag, /\svalue=/, what)
    }
  }
  t.ok(fields >= 5)
})
