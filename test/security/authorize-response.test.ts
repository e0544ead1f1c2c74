import t from '../support/tap.ts'
import { ISSUER, PASSWORD, testApp } from '../support/app.ts'
import { testBrowser } from '../support/browser.ts'
import { answerOf, authorizeAs, authorizePath, CALLBACK, CLIENTS, KEYS, openidApp, redeem } from '../support/openid.ts'
import { decodeJwt } from '../support/jwt.ts'
import { all, parse } from '../unit/pages/strict-html.ts'

/** Values that some encoding, template or parser on the way might change. */
const STATES = [
  'x'.repeat(2048),
  '%',
  '%20',
  '%2B',
  '+',
  'a b',
  ' lead and trail ',
  '&error=x',
  '=',
  '#',
  '?',
  ';',
  '"',
  "'",
  '<b>',
  '\\',
  'é',
  '😀',
  '\u202e',
  'ß'.repeat(100),
  '{"a":[1]}',
  'a\nb',
  'a\tb',
  '\u0000',
  '__proto__',
  '"><script>alert(1)</script>',
  "' autofocus onfocus=alert(1) x='",
  '</form><form action="https://evil.example">',
  '&quot;&lt;',
  '{{7*7}}',
  '${7*7}',
  'javascript:alert(1)'
]
const decode = (text: string): string =>
  text
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&')

// covers R6749-4.1.2 R6749-10.14 ADV-GHSA-9x4v-xfq5-m8x5
t.test('returns state unchanged in each response mode, and nonce unchanged in the ID token', async (t) => {
  const { app, browser, close } = await openidApp()
  t.teardown(close)
  await authorizeAs(browser, authorizePath())
  for (const state of STATES) {
    for (const mode of ['query', 'fragment']) {
      const reply = await browser.get(authorizePath({ state, response_mode: mode }))
      const location = String(reply.headers.location)
      t.match(location, /^https:\/\/app\.example\/cb[?#][\x21-\x7e]+$/, 'one line of ASCII')
      t.equal(answerOf(location)['state'], state, `${mode} ${JSON.stringify(state).slice(0, 40)}`)
      t.equal(location.includes('?'), mode === 'query')
    }
    const { body } = await browser.get(authorizePath({ state, response_mode: 'form_post' }))
    const [, value = ''] = /name="state" value="([^"]*)"/.exec(body) ?? []
    t.equal(decode(value), state, `form_post ${JSON.stringify(state).slice(0, 40)}`)
    t.notMatch(value, /[<>']/)
    t.equal(body.match(/<form/g)?.length, 1)
    t.equal(
      body.match(/<script/g)?.length ?? 0,
      body.match(/<script src="\/[^"]*"[^>]*><\/script>/g)?.length ?? 0,
      'no script but our own file'
    )
  }
  for (const nonce of STATES.map((state) => state.slice(0, 256))) {
    const { code = '' } = answerOf(String((await browser.get(authorizePath({ nonce }))).headers.location))
    const { id_token: idToken } = (await redeem(app, code)).json()
    t.equal(decodeJwt(idToken).claims['nonce'], nonce, `OIDC-2 nonce ${JSON.stringify(nonce).slice(0, 40)}`)
  }
})

// covers FP-2 R9207-2
t.test(
  'posts the response to the redirect URI with response_mode=form_post, and puts none of it in a URL',
  async (t) => {
    const { browser, close } = await openidApp()
    t.teardown(close)
    await authorizeAs(browser, authorizePath())
    for (const [params, sent] of [
      [{}, ['code', 'iss', 'state']],
      [{ response_type: 'foo' }, ['error', 'error_description', 'iss', 'state']],
      [{ prompt: 'none', max_age: '0', state: undefined }, ['code', 'iss']]
    ] as const) {
      const reply = await browser.get(authorizePath({ response_mode: 'form_post', ...params }))
      t.equal(reply.statusCode, 200)
      t.match(reply.headers, {
        'content-type': 'text/html; charset=utf-8',
        'cache-control': 'no-store',
        'referrer-policy': 'origin'
      })
      t.equal(reply.headers.location, undefined)
      t.match(String(reply.headers['content-security-policy']), /form-action 'self' https:\/\/app\.example(;|$)/)
      t.notMatch(String(reply.headers['content-security-policy']), /unsafe|\*/)
      t.match(reply.body, /<form[^>]* method="post"[^>]*>|<form method="post"/)
      t.match(reply.body, `action="${CALLBACK}"`)
      t.same([...reply.body.matchAll(/<input type="hidden" name="([^"]*)"/g)].map(([, name]) => name).sort(), sent)
      t.match(reply.body, /<button/, 'works without scripts')
    }
  }
)

// covers R9700-4.12 R9700-2.1 OIDC-16.22
t.test('redirects with status 303 during authorization, sign-in and consent', async (t) => {
  const { app, browser, close } = await openidApp()
  t.teardown(close)
  const statuses: number[] = []
  const seen = async <Reply extends { statusCode: number; headers: Record<string, unknown> }>(
    reply: Reply | Promise<Reply>
  ): Promise<Reply> => {
    const { statusCode, headers } = await reply
    if (headers['location'] !== undefined) statuses.push(statusCode)
    return await reply
  }
  const path = authorizePath({ client_id: 'third', redirect_uri: 'https://third.example/cb' })
  const toLogin = await seen(browser.get(path))
  const toAuthorize = await seen(
    browser.submit(String(toLogin.headers.location), { username: 'ann', password: PASSWORD })
  )
  const toConsent = await seen(browser.get(String(toAuthorize.headers.location)))
  const page = await browser.get(String(toConsent.headers.location))
  const action = decode(/<form[^>]* action="([^"]*)"/.exec(page.body)?.[1] ?? '')
  const denied = await seen(browser.submit(action, { decision: 'deny' }))
  t.match(answerOf(String(denied.headers.location)), { error: 'access_denied', iss: ISSUER, state: 'state-1' })
  const allowed = await seen(browser.submit(action, { decision: 'allow' }))
  await seen(browser.get(String(allowed.headers.location)))
  await seen(browser.submit('/auth/authorize', Object.fromEntries(new URLSearchParams(path.split('?')[1]))))
  await seen(browser.get(authorizePath({ response_type: 'token' })))
  await seen(testBrowser(app).submit('/auth/logout', {}))
  await seen(browser.submit('/auth/login', { username: 'ann', password: PASSWORD }))
  t.ok(statuses.length >= 8, String(statuses.length))
  t.same(
    statuses.filter((status) => status !== 303),
    []
  )
})

// covers R9700-2.6 ASVS-3.4.2
t.test('sends no CORS headers from pages, authorization and introspection, even if the host adds them', async (t) => {
  const { app, close } = await testApp({ keys: KEYS, clients: CLIENTS }, {}, (host) => {
    host.addHook('onRequest', async (_request, reply) => {
      reply.headers({ 'access-control-allow-origin': '*', 'access-control-allow-credentials': 'true' })
    })
  })
  t.teardown(close)
  for (const origin of ['https://app.example', 'https://evil.example', 'null', ISSUER]) {
    for (const [method, url] of [
      ['GET', authorizePath()],
      ['GET', authorizePath({ redirect_uri: 'x' })],
      ['POST', '/auth/authorize'],
      ['OPTIONS', '/auth/authorize'],
      ['GET', '/auth/login'],
      ['OPTIONS', '/auth/login'],
      ['GET', '/auth/consent'],
      ['OPTIONS', '/auth/consent'],
      ['GET', '/auth/logout'],
      ['OPTIONS', '/auth/introspect'],
      ['POST', '/auth/introspect']
    ] as const) {
      const reply = await app.inject({
        method,
        url,
        headers: { origin, 'access-control-request-method': 'POST', 'access-control-request-headers': 'authorization' }
      })
      t.same(
        Object.keys(reply.headers).filter((name) => name.startsWith('access-control-')),
        [],
        `${method} ${url.slice(0, 20)} of ${origin}`
      )
    }
  }
})

// covers ASVS-1.2.1 R6749-10.14 ADV-CVE-2019-8400 ADV-CVE-2018-1000088
t.test('escapes request parameters and client names on sign-in, consent, sign-out and error pages', async (t) => {
  const xss = [
    '<script>alert(1)</script>',
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    '</title><svg onload=alert(1)>',
    '&lt;script&gt;',
    'javascript:alert(1)'
  ]
  for (const evil of xss) {
    const { browser, close } = await openidApp({
      clients: [...CLIENTS, { clientId: 'evil', name: evil, firstParty: false, redirectUris: [CALLBACK] }],
      scopes: ['openid', evil.replaceAll(/["\\ ]/g, '_')]
    })
    const page = async (url: string) => (await browser.follow(await browser.get(url))).reply
    const query = (params: Record<string, string>): string => new URLSearchParams(params).toString()
    const pages = [
      await page(authorizePath({ login_hint: evil, state: evil })),
      await page(authorizePath({ client_id: 'evil', login_hint: evil, ui_locales: evil, nonce: evil })),
      await page(authorizePath({ redirect_uri: evil })),
      await page(authorizePath({ client_id: evil })),
      await page(
        `/auth/login?${query({ login_hint: evil, return_to: evil, error: evil, error_description: evil, message: evil })}`
      ),
      await page(`/auth/logout?${query({ state: evil, logout_hint: evil, client_id: evil })}`),
      await page(`/auth/logout?${query({ state: evil, id_token_hint: evil })}`),
      await browser.submit('/auth/login', { username: evil, password: PASSWORD }),
      await browser.submit(`/auth/login?${query({ return_to: `/${evil}`, login_hint: evil })}`, {
        username: evil,
        password: ''
      }),
      await page(authorizePath({ client_id: 'evil', prompt: 'login', scope: evil, state: evil }))
    ].filter(({ statusCode }) => statusCode !== 303)
    t.ok(pages.length >= 9, 'pages, not redirects')
    await authorizeAs(browser, authorizePath())
    const consent = await browser.follow(
      await browser.get(
        authorizePath({ client_id: 'evil', scope: `openid ${evil.replaceAll(/["\\ ]/g, '_')}`, state: evil })
      )
    )
    t.match(consent.url, '/auth/consent?', 'the consent page')
    for (const { body } of [...pages, consent.reply]) {
      // Throws if a value breaks out of its place.
      const elements = all(parse(body))
      t.strictSame(
        elements.filter(
          ({ tag, attributes }) =>
            ['svg', 'iframe', 'base', 'object'].includes(tag) ||
            (tag === 'script' && !attributes['src']?.startsWith('/auth/pages.js'))
        ),
        [],
        `no element of ${evil}`
      )
      t.strictSame(
        elements
          .flatMap(({ attributes }) => Object.entries(attributes))
          .filter(
            ([name, value]) =>
              name.startsWith('on') ||
              name === 'style' ||
              (['href', 'src', 'action'].includes(name) && !/^[/?]/.test(value))
          ),
        [],
        `no attribute of ${evil}`
      )
    }
    await close()
  }
})
