import { deepEqual, doesNotMatch, equal, match, ok } from 'node:assert/strict'
import t from '../support/tap.ts'
import { type Element, parse } from '../unit/pages/strict-html.ts'
import { PASSWORD, signUp } from '../support/app.ts'
import { formAction } from '../support/browser.ts'
import { answerOf, authorizeAs, authorizePath, CLIENTS, openidApp, SECRET } from '../support/openid.ts'
import type { LightMyRequestResponse } from '../support/app.ts'

const XSS = [
  '<script>alert(1)</script>',
  '"><script>alert(1)</script>',
  "'><img src=x onerror=alert(1)>",
  '" onfocus=alert(1) autofocus="',
  '</title><svg/onload=alert(1)>',
  '</textarea><script>1</script>',
  '--><script>1</script>',
  '<!--',
  ']]><script>',
  '{{7*7}}${7*7}',
  '&lt;script&gt;',
  '&#x3c;script&#x3e;',
  'javascript:alert(1)',
  '<a href="javascript:alert(1)">x</a>',
  '<base href=//evil>',
  '<meta http-equiv=refresh content=0;//evil>',
  '\u2028alert(1)\u2029',
  '+ADw-script+AD4-',
  '<\u0000script>',
  '\u202e<b>',
  '＜script＞',
  '%3Cscript%3E',
  '`onmouseover=alert(1)',
  "$&$1$'",
  '</form><form action=//evil>'
]

function elementsOf(element: Element): Element[] {
  return [element, ...element.children.flatMap((child) => (typeof child === 'string' ? [] : elementsOf(child)))]
}

const skeleton = (element: Element): string =>
  `${element.tag}[${Object.keys(element.attributes).join()}](${element.children.map((child) => (typeof child === 'string' ? '' : skeleton(child))).join('')})`

/**
 * Parses the page with a strict reader, which throws if a value breaks out of its place. The assertions throw too,
 * because as many thousands of runner assertions would each be a line of the report.
 */
function checked(reply: LightMyRequestResponse, what: string): Element {
  match(String(reply.headers['content-type']), /^text\/html/, what)
  const page = parse(reply.body)
  const all = elementsOf(page)
  deepEqual(
    all
      .filter(({ tag }) => tag === 'script')
      .map(({ attributes, children }) => [attributes.src?.split('?')[0], children]),
    [['/auth/pages.js', []]],
    `${what}: one script, ours`
  )
  for (const { tag, attributes } of all) {
    ok(!Object.keys(attributes).some((name) => name.startsWith('on') || name === 'style' || name === 'srcdoc'), what)
    for (const name of ['href', 'src', 'action', 'formaction'])
      doesNotMatch(attributes[name] ?? '', /^\s*(?:javascript|data|vbscript):/i)
    ok(!['base', 'iframe', 'object', 'embed', 'svg'].includes(tag), what)
  }
  match(String(reply.headers['content-security-policy']), /default-src 'none'/)
  doesNotMatch(String(reply.headers['content-security-policy']), /unsafe|evil|alert/)
  return page
}

// covers ASVS-1.2.1
t.test('escapes hostile parameters on the sign-in, sign-up and forgotten password pages', async (t) => {
  const subject = await openidApp()
  t.teardown(subject.close)
  const { app } = subject
  for (const path of ['login', 'signup', 'forgot-password']) {
    const normal = skeleton(
      checked(
        await app.inject({ url: authorizePath({ login_hint: 'x', ui_locales: 'en' }).replace('authorize', path) }),
        path
      )
    )
    for (const value of XSS) {
      for (const name of [
        'state',
        'login_hint',
        'ui_locales',
        'nonce',
        'scope',
        'claims',
        'acr_values',
        'display',
        'unheard_of'
      ]) {
        const reply = await app.inject({
          url: authorizePath({ login_hint: 'x', ui_locales: 'en', [name]: value }).replace('authorize', path)
        })
        if (skeleton(checked(reply, `${path} ${name} ${value}`)) !== normal)
          throw new Error(`${path} ${name} ${value} changes the page`)
      }
      const returning = await app.inject({ url: `/auth/${path}?return_to=${encodeURIComponent(`/${value}`)}` })
      checked(returning, `${path} return_to ${value}`)
    }
  }
})

// covers ASVS-1.2.1
t.test('escapes hostile posted values, and does not repeat the password', async (t) => {
  const subject = await openidApp()
  t.teardown(subject.close)
  for (const value of XSS) {
    for (const path of ['login', 'signup', 'forgot-password']) {
      const { reply } = await subject.browser.follow(
        await subject.browser.submit(`/auth/${path}`, {
          username: value,
          password: `secret ${value}`,
          decision: value,
          token: value
        })
      )
      const page = checked(reply, `${path} ${value}`)
      doesNotMatch(reply.body, /secret /)
      if (path === 'login')
        equal(
          elementsOf(page)
            .find(({ attributes }) => attributes.name === 'username')
            ?.attributes.value?.replaceAll('\u0000', ''),
          value.trim().replaceAll('\u0000', '')
        )
    }
    for (const path of ['reset-password', 'verify-email']) {
      checked(await subject.app.inject({ url: `/auth/${path}?token=${encodeURIComponent(value)}` }), `${path} ${value}`)
      checked(await subject.browser.submit(`/auth/${path}`, { token: value, password: 'x' }), `${path} ${value}`)
    }
    for (const query of [
      `client_id=${encodeURIComponent(value)}`,
      `client_id=spa&redirect_uri=${encodeURIComponent(value)}`,
      `${encodeURIComponent(value)}=1&client_id=${encodeURIComponent(value)}`,
      `id_token_hint=${encodeURIComponent(value)}`
    ]) {
      for (const path of ['authorize', 'login', 'consent', 'logout']) {
        const reply = await subject.app.inject({ url: `/auth/${path}?${query}` })
        if (reply.statusCode === 303) match(String(reply.headers.location), /^\/auth\//)
        else checked(reply, `${path}?${query}`)
      }
    }
  }
})

// covers ASVS-1.2.1
t.test('escapes hostile client names, titles and state values on consent, sign-out and form-post pages', async (t) => {
  for (const value of XSS.filter((one) => !one.includes('\u0000'))) {
    const subject = await openidApp({
      clients: [
        ...CLIENTS,
        {
          clientId: 'evil',
          name: value,
          clientSecret: SECRET,
          firstParty: false,
          redirectUris: ['https://third.example/cb']
        }
      ],
      scopes: ['openid', 'profile', 'email', 'offline_access', 'x:<b>'],
      pages: { title: value }
    })
    await signUp(subject.app, 'eve.o-name')
    const path = authorizePath({
      client_id: 'evil',
      redirect_uri: 'https://third.example/cb',
      scope: 'openid x:<b>',
      state: value
    })
    await authorizeAs(subject.browser, authorizePath(), { username: 'eve.o-name' })
    const { reply } = await subject.browser.follow(await subject.browser.get(path))
    checked(reply, `consent ${value}`)
    equal(
      (await subject.browser.submit(formAction(reply.body), { decision: value })).statusCode,
      200,
      'no decision is none'
    )
    const denied = await subject.browser.submit(formAction(reply.body), { decision: 'deny' })
    t.match(answerOf(String(denied.headers.location)), { error: 'access_denied', state: value })
    const posted = await subject.browser.get(authorizePath({ response_mode: 'form_post', state: value }))
    const form = elementsOf(checked(posted, `form_post ${value}`)).filter(({ tag }) => tag === 'input')
    equal(form.find(({ attributes }) => attributes.name === 'state')?.attributes.value, value)
    checked(await subject.browser.get('/auth/logout'), `logout ${value}`)
    await subject.close()
  }
})

// covers R9700-4.2.4 R6749-4.1.2.1
t.test('adds no cookie and keeps the redirect target for parameters with control characters', async (t) => {
  const subject = await openidApp()
  t.teardown(subject.close)
  await authorizeAs(subject.browser, authorizePath())
  const hostile = [
    'a\r\nset-cookie: x=1',
    'a\nlocation: //evil',
    '\u010d\u010aset-cookie: x=1',
    '%0d%0aset-cookie:x=1',
    'a\u0000b',
    '\ud800',
    '\udfff\ud800',
    '__proto__',
    '\u{1f600}',
    '%',
    '%zz',
    '#&?/='
  ]
  for (const value of hostile) {
    for (const name of ['state', 'nonce', 'login_hint', 'ui_locales', 'acr_values']) {
      for (const mode of ['query', 'fragment', 'form_post']) {
        const reply = await subject.browser.get(authorizePath({ [name]: value, response_mode: mode }))
        const label = `${name} ${mode} ${JSON.stringify(value)}`
        equal(
          reply.cookies.some((cookie) => cookie.name === 'x'),
          false,
          label
        )
        if (mode === 'form_post') checked(reply, label)
        else {
          equal(reply.statusCode, 303, label)
          const target = new URL(String(reply.headers.location))
          equal(target.origin + target.pathname, 'https://app.example/cb', label)
          if (name === 'state') equal(answerOf(target.href).state, Buffer.from(value).toString(), label)
          match(String(reply.headers.location), /^[\x21-\x7e]+$/)
        }
      }
    }
  }
})

t.test(
  'DOS-authorize-parameters refuses or ignores parameters that are huge, oddly named or deeply nested',
  async (t) => {
    const subject = await openidApp()
    t.teardown(subject.close)
    await authorizeAs(subject.browser, authorizePath())
    const long = 'x'.repeat(100_000)
    const deep = '{"id_token":'.repeat(300) + 'null' + '}'.repeat(300)
    for (const name of [
      'state',
      'nonce',
      'login_hint',
      'ui_locales',
      'scope',
      'claims',
      'prompt',
      'max_age',
      'client_id',
      'redirect_uri',
      'code_challenge',
      'id_token_hint',
      'request',
      'response_mode',
      'response_type'
    ]) {
      for (const path of ['authorize', 'login', 'consent', 'signup']) {
        const {
          statusCode,
          headers: { location },
          body
        } = await subject.browser.get(authorizePath({ [name]: long }).replace('authorize', path))
        // C3: the client gets an error, or the page keeps the parameter until the sign-in.
        if (statusCode === 303) equal(answerOf(String(location)).error, 'invalid_request', `${path} ${name}`)
        else if (statusCode === 200) ok(path === 'login' || path === 'signup', `${path} ${name}`)
        else equal(statusCode, 400, `${path} ${name}`)
        ok(
          ['state', 'client_id', 'redirect_uri'].includes(name)
            ? statusCode === 400
            : statusCode !== 200 || body.includes(`${name}=x`),
          `${path} ${name} ${statusCode}`
        )
        ok(body.length + String(location).length < 30_000, `${path} ${name} ${body.length}`)
      }
    }
    for (const claims of [
      deep,
      '[]'.padStart(1500, '['),
      '{"__proto__":{"id_token":{}}}',
      '{"id_token":{"__proto__":{"essential":true}}}',
      '{"userinfo":{"constructor":null}}',
      '{"id_token":{"acr":{"values":"x"}}}',
      '1e999',
      'null',
      '"\\ud800"',
      '\u0000'
    ]) {
      const reply = await subject.browser.get(authorizePath({ claims }))
      equal(reply.statusCode, 303, claims.slice(0, 40))
      const { code, error } = answerOf(String(reply.headers.location))
      ok(code !== undefined || error === 'invalid_request', claims.slice(0, 40))
    }
    for (const name of [
      '__proto__',
      'constructor',
      'toString',
      'hasOwnProperty',
      '__proto__[client_id]',
      'client_id[]',
      'client_id.x',
      ''
    ]) {
      for (const path of ['authorize', 'login', 'logout']) {
        const reply = await subject.app.inject({ url: `/auth/${path}?${encodeURIComponent(name)}=spa` })
        ok([200, 303, 400].includes(reply.statusCode), `${path} ${name} ${reply.statusCode}`)
        const posted = await subject.browser.submit(`/auth/${path}`, { [name]: 'spa' })
        ok([200, 303, 400].includes(posted.statusCode), `${path} ${name} ${posted.statusCode}`)
      }
    }
    equal(({} as Record<string, unknown>).essential, undefined)
    for (const path of ['login', 'signup', 'forgot-password', 'reset-password', 'consent', 'logout', 'authorize']) {
      equal((await subject.browser.submit(`/auth/${path}`, { username: long, password: long })).statusCode, 413, path)
    }
    equal(
      (await subject.browser.submit('/auth/login', { username: 'x'.repeat(10_000), password: PASSWORD })).statusCode,
      400
    )
  }
)

// covers ASVS-3.7.2
t.test('redirects only to its own origin after a sign-in with a hostile return_to', async (t) => {
  const subject = await openidApp()
  t.teardown(subject.close)
  const evil = [
    'https://evil.example',
    '//evil.example',
    '/\\evil.example',
    '\\\\evil.example',
    '/\t/evil.example',
    '/\n/evil.example',
    '/%09/evil.example',
    '/%5cevil.example',
    '/%2f/evil.example',
    'http:evil.example',
    'https:/evil.example',
    'javascript:alert(1)',
    ' //evil.example',
    '\u0000//evil.example',
    '///evil.example',
    '/..//evil.example',
    '/.//evil.example',
    '/a/..//evil.example',
    'http://localhost:3000@evil.example',
    '//localhost:3000@evil.example',
    'http://localhost:3000.evil.example',
    '/%2e%2e//evil.example',
    '/./\\evil.example',
    '／／evil.example',
    '/\u2028/evil.example',
    'data:text/html,x',
    '.evil.example',
    '@evil.example',
    '?x',
    '',
    '/a\r\nlocation: //evil'
  ]
  for (const target of evil) {
    const reply = await subject.browser.submit(`/auth/login?return_to=${encodeURIComponent(target)}`, {
      username: 'ann',
      password: PASSWORD
    })
    equal(reply.statusCode, 303, target)
    const url = new URL(String(reply.headers.location), 'http://localhost:3000')
    equal(url.origin, 'http://localhost:3000', target)
    doesNotMatch(url.pathname, /^\/{2}|^\/%(?:2f|5c|09)/i)
  }
  const good = await subject.browser.submit('/auth/login?return_to=%2Fcart%3Fa%3D1%23b', {
    username: 'ann',
    password: PASSWORD
  })
  equal(good.headers.location, '/cart?a=1#b')
})

// covers OIDF-oidcc-rp-initiated-logout-bad-post-logout-redirect-uri ASVS-10.6.2
t.test('rejects a sign-out with an unregistered post_logout_redirect_uri, and keeps the session', async (t) => {
  const subject = await openidApp()
  t.teardown(subject.close)
  await authorizeAs(subject.browser, authorizePath())
  const registered = 'https://app.example/logged-out'
  const evil = [
    `${registered}/`,
    `${registered}?x=1`,
    `${registered}#x`,
    `${registered}/../evil`,
    registered.toUpperCase(),
    'https://app.example.evil/logged-out',
    'https://app.example@evil.example/logged-out',
    'https://app.example:444/logged-out',
    'http://app.example/logged-out',
    '//app.example/logged-out',
    'javascript:alert(1)',
    ` ${registered}`,
    `${registered} `,
    `${registered}\u0000`,
    `${registered}%00`,
    `${registered}\r\n`,
    'https://app.example/cb',
    '/'
  ]
  for (const uri of evil) {
    for (const send of [
      subject.browser.get,
      async (url: string) => await subject.browser.submit(url, { decision: 'sign_out' })
    ]) {
      const reply = await send(`/auth/logout?client_id=spa&state=x&post_logout_redirect_uri=${encodeURIComponent(uri)}`)
      equal(reply.statusCode, 400, uri)
      equal(reply.headers.location, undefined)
    }
  }
  ok(
    answerOf(String((await subject.browser.get(authorizePath({ prompt: 'none' }))).headers.location)).code,
    'still signed in'
  )
})
