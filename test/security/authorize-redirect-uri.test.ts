import t, { type Test } from '../support/tap.ts'
import type { AuthorityOptions, Client } from '../../lib/index.ts'
import { testBrowser, type TestBrowser } from '../support/browser.ts'
import { authorizeAs, authorizePath, CALLBACK, CLIENTS, openidApp, type OpenidApp, redeem } from '../support/openid.ts'
import { type LightMyRequestResponse, PASSWORD } from '../support/app.ts'
import { recordedState } from './support/recorded-state.ts'

interface Subject extends OpenidApp {
  writes: string[]
  lines: string[]
}

const NATIVE: Client = {
  clientId: 'native',
  applicationType: 'native',
  redirectUris: ['http://127.0.0.1/cb', 'http://[::1]/cb', 'http://localhost/cb?a=b', 'com.example.app:/cb']
}
/** URIs that a careless client store might return; none of these can be registered as an option. */
const CARELESS = [
  'javascript:alert(1)',
  'data:text/html,x',
  'vbscript:x',
  'http://app.example/cb',
  'https://app.example/cb#f',
  'https://user@app.example/cb',
  '',
  '*',
  'https://*.example/cb',
  '/cb'
]

/** Redirect URIs that resemble the registered one, and dangerous ones. */
const NOT_REGISTERED = [
  `${CALLBACK}/`,
  'https://app.example/CB',
  'HTTPS://APP.example/cb',
  'https://app.example:443/cb',
  `${CALLBACK}/x`,
  `${CALLBACK}/../x`,
  'https://app.example/x/../cb',
  'https://app.example/./cb',
  `${CALLBACK}%2f..`,
  'https://app.example/%63b',
  'https://app.example/%2563b',
  `${CALLBACK};x`,
  `${CALLBACK}?x=1`,
  `${CALLBACK}?`,
  `${CALLBACK}#f`,
  `${CALLBACK}#`,
  '//app.example/cb',
  'https:app.example/cb',
  'https:/app.example/cb',
  'https:///app.example/cb',
  'https:\\\\app.example\\cb',
  'https://app.example\\cb',
  'https://app.example@evil.example/cb',
  'https://evil.example\\@app.example/cb',
  'https://app.example.evil.example/cb',
  'https://app.example./cb',
  'https://evil.example/https://app.example/cb',
  'https://evil.example/?https://app.example/cb',
  `${CALLBACK} `,
  ` ${CALLBACK}`,
  `${CALLBACK}\t`,
  'https://app.exa\tmple/cb',
  `${CALLBACK}\0`,
  `${CALLBACK}%00`,
  `${CALLBACK}\r\n`,
  `${CALLBACK}\r\nSet-Cookie: a=b`,
  'https://\u0430pp.example/cb',
  'https://xn--pp-6kc.example/cb',
  'https://app\u3002example/cb',
  'http://app.example/cb',
  'javascript:alert(1)',
  'javascript://app.example/%0aalert(1)',
  'data:text/html,<script>alert(1)</script>',
  'intent://app.example/cb#Intent;end',
  `${CALLBACK}/${'x'.repeat(2048 - CALLBACK.length - 1)}`,
  `${CALLBACK}${'x'.repeat(3000)}`,
  'http://localhost:1/cb',
  'http://127.0.0.1.nip.io/cb',
  'http://[::ffff:7f00:1]/cb',
  `${CALLBACK},${CALLBACK}`,
  `${CALLBACK} https://evil.example/`,
  `${CALLBACK}/..;/evil`,
  'https://*/cb',
  '*',
  '__proto__',
  'null',
  'https://app.example%252fcb',
  '%68ttps://app.example/cb',
  encodeURIComponent(CALLBACK)
]

async function subjectOf(
  clients: Client[] = [...CLIENTS, NATIVE],
  more: Partial<AuthorityOptions> = {}
): Promise<Subject> {
  const { state, writes } = recordedState()
  const lines: string[] = []
  const subject = await openidApp(
    { clients, state, ...more },
    {
      logger: {
        level: 'debug',
        stream: {
          write: (line: string) => {
            lines.push(line)
          }
        }
      }
    }
  )
  return { ...subject, writes, lines }
}

/** Every route that takes an authorization request. */
const DOORS: Record<string, (browser: TestBrowser, query: string) => Promise<LightMyRequestResponse>> = {
  'GET authorize': async (browser, query) => await browser.get(`/auth/authorize?${query}`),
  'POST authorize': async (browser, query) =>
    (
      await browser.follow(
        await browser.submit('/auth/authorize', Object.fromEntries(new URLSearchParams(query)), {
          'sec-fetch-site': 'cross-site',
          origin: 'https://app.example'
        })
      )
    ).reply,
  'GET login': async (browser, query) => await browser.get(`/auth/login?${query}`),
  'POST login': async (browser, query) =>
    await browser.submit(`/auth/login?${query}`, { username: 'ann', password: PASSWORD }),
  'GET consent': async (browser, query) => await browser.get(`/auth/consent?${query}`),
  'POST consent': async (browser, query) => await browser.submit(`/auth/consent?${query}`, { decision: 'allow' }),
  'POST consent, denied': async (browser, query) =>
    await browser.submit(`/auth/consent?${query}`, { decision: 'deny' }),
  'GET sign-up': async (browser, query) => await browser.get(`/auth/signup?${query}`)
}

/** Asserts that the response is only a page: no redirect, cookie, record or event, and a log line. */
async function refusesWithPage(
  t: Test,
  subject: Subject,
  path: string,
  { what, doors = ['GET authorize'], status = 400 }: { what: string; doors?: string[]; status?: number }
): Promise<void> {
  const { app, browser, events, writes, lines } = subject
  const [, query = ''] = path.split(/\?(.*)/s)
  for (const [who, jar] of [
    ['signed in', browser],
    ['signed out', testBrowser(app)]
  ] as const) {
    for (const door of doors) {
      events.length = writes.length = lines.length = 0
      const reply = (await DOORS[door]?.(jar, query)) as LightMyRequestResponse
      const name = `${door}, ${who}: ${what}`
      const { headers, body } = reply
      t.strictSame(
        {
          status: reply.statusCode,
          headers: ['content-type', 'cache-control', 'x-frame-options'].map((header) => headers[header]),
          leadsOn: ['location', 'set-cookie', 'refresh', 'link'].filter((header) => header in headers),
          // The sent value is shown as text, and is no part of a tag.
          shows: body.replace(/>[^<]*/g, '>').match(/<form|http-equiv|evil\.example|alert\(1\)/gi),
          writes,
          events,
          isLogged: lines.some((line) => line.includes('request refused'))
        },
        {
          status,
          headers: ['text/html; charset=utf-8', 'no-store', 'DENY'],
          leadsOn: [],
          shows: null,
          writes: [],
          events: [],
          isLogged: true
        },
        name
      )
    }
  }
}

const show = (value: string): string => JSON.stringify(value).slice(0, 60)

// covers R6749-3.1.2.4 R9700-2.1 R9700-4.1.3 ASVS-10.4.1 ASVS-3.7.2 ASVS-1.1.1 ADV-CVE-2023-6291 ADV-CVE-2024-1132
// ADV-CVE-2020-15233 OIDF-oidcc-ensure-registered-redirect-uri
t.test('shows an error page for a redirect URI that differs from the registered one', async (t) => {
  const subject = await subjectOf()
  t.teardown(subject.close)
  await authorizeAs(subject.browser, authorizePath())
  for (const redirectUri of NOT_REGISTERED)
    await refusesWithPage(t, subject, authorizePath({ redirect_uri: redirectUri }), { what: show(redirectUri) })
  for (const redirectUri of [
    'https://evil.example/cb',
    `${CALLBACK}/x`,
    'javascript:alert(1)',
    `${CALLBACK}${'x'.repeat(3000)}`
  ]) {
    await refusesWithPage(t, subject, authorizePath({ redirect_uri: redirectUri }), {
      what: show(redirectUri),
      doors: Object.keys(DOORS)
    })
  }
})

// covers R6749-3.1.2.3 R9700-4.11.2 ADV-CVE-2026-41479
t.test('checks client and redirect URI before all other parameters', async (t) => {
  const subject = await subjectOf()
  t.teardown(subject.close)
  await authorizeAs(subject.browser, authorizePath())
  const evil = { redirect_uri: 'https://evil.example/cb' }
  const rows: Array<[string, Record<string, string | undefined>]> = [
    ['no client', { client_id: undefined }],
    ['empty client', { client_id: '' }],
    ['unknown client', { client_id: 'other' }],
    ['__proto__', { client_id: '__proto__' }],
    ['constructor', { client_id: 'constructor' }],
    ['client of another case', { client_id: 'SPA' }],
    ['client with a space', { client_id: 'spa ' }],
    ['client with NUL', { client_id: 'spa\0' }],
    ['unknown client and evil URI', { client_id: 'other', ...evil }],
    ["another client's URI", { client_id: 'third' }],
    ['URI absent, though one is registered', { redirect_uri: undefined }],
    ['empty URI', { redirect_uri: '' }],
    ...['token', 'id_token', 'code token', 'foo', undefined].map(
      (type): [string, Record<string, string | undefined>] => [
        `response_type ${type}`,
        { response_type: type, ...evil }
      ]
    ),
    ...['query', 'fragment', 'form_post', 'web_message'].map((mode): [string, Record<string, string | undefined>] => [
      `response_mode ${mode}`,
      { response_mode: mode, ...evil }
    ]),
    ['prompt none', { prompt: 'none', ...evil }],
    ['prompt of nonsense', { prompt: 'register', ...evil }],
    ['bad scope', { scope: 'a"b', ...evil }],
    ['request object', { request: 'e30.e30.', ...evil }],
    ['request_uri', { request_uri: 'https://evil.example/r', ...evil }],
    ['bad claims', { claims: '{', ...evil }],
    ['no challenge', { code_challenge: undefined, code_challenge_method: undefined, ...evil }],
    ['plain', { code_challenge_method: 'plain', ...evil }]
  ]
  // The sign-in page without a client is the host's own sign-in, which leads to no client.
  for (const [what, params] of rows)
    await refusesWithPage(t, subject, authorizePath(params), {
      what,
      doors: ['GET authorize', 'POST authorize', 'GET consent', 'POST consent, denied']
    })
})

// covers R6749-3.1 ASVS-15.3.7 ASVS-2.2.1
t.test('shows an error page for a repeated client_id, redirect_uri or state, and for 65 parameters', async (t) => {
  const subject = await subjectOf()
  t.teardown(subject.close)
  await authorizeAs(subject.browser, authorizePath())
  const twice = [
    `redirect_uri=${encodeURIComponent(CALLBACK)}`,
    'redirect_uri=https://evil.example/',
    'redirect_uri=',
    'client_id=spa',
    'client_id=web',
    'state=x'
  ]
  for (const query of twice)
    await refusesWithPage(t, subject, `${authorizePath()}&${query}`, {
      what: query,
      doors: ['GET authorize', 'GET login', 'GET consent', 'POST consent']
    })
  for (const name of ['redirect_uri', 'client_id']) {
    for (const list of [`${name}[]`, `${name}[0]`])
      await refusesWithPage(t, subject, `${authorizePath({ [name]: undefined })}&${encodeURIComponent(list)}=spa`, {
        what: list
      })
  }
  await refusesWithPage(
    t,
    subject,
    `/auth/authorize?${Array.from({ length: 65 }, (_, index) => `x${index}=1`).join('&')}`,
    { what: '65 parameters' }
  )
})

// covers R6749-3.1
t.test(
  'redirects nowhere when an authorization form repeats a parameter, is too long or is not form-encoded',
  async (t) => {
    const subject = await subjectOf()
    t.teardown(subject.close)
    const { app, writes } = subject
    const form = authorizePath().split('?')[1] ?? ''
    const rows: Array<[string, string, string, number]> = [
      [
        'redirect_uri twice',
        'application/x-www-form-urlencoded',
        `${form}&redirect_uri=https%3A%2F%2Fevil.example%2F`,
        400
      ],
      ['JSON', 'application/json', JSON.stringify(Object.fromEntries(new URLSearchParams(form))), 415],
      ['text', 'text/plain', form, 415],
      ['multipart', 'multipart/form-data; boundary=x', '--x--', 415],
      ['16 kB and more', 'application/x-www-form-urlencoded', `${form}&x=${'y'.repeat(16_384)}`, 413],
      [
        'client_id too long',
        'application/x-www-form-urlencoded',
        form.replace('client_id=spa', `client_id=${'x'.repeat(1537)}`),
        400
      ]
    ]
    writes.length = 0
    for (const [what, type, payload, status] of rows) {
      const reply = await app.inject({
        method: 'POST',
        url: '/auth/authorize',
        headers: { 'content-type': type },
        payload
      })
      t.equal(reply.statusCode, status, what)
      // A program that sends JSON gets the endpoint to call.
      const kind = what === 'JSON' ? 'application/json' : 'text/html'
      t.equal(reply.headers['content-type'], `${kind}; charset=utf-8`, what)
      t.equal(reply.headers.location, undefined, what)
    }
    const split = await app.inject({
      method: 'POST',
      url: `/auth/authorize?${form}`,
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      payload: 'client_id=spa'
    })
    t.equal(split.headers.location, '/auth/authorize?client_id=spa', 'the query of a POST counts for nothing')
    t.same(writes, [])
  }
)

// covers R9700-2.1 R8252-7.3
t.test('lets a loopback redirect URI differ in its port only', async (t) => {
  const subject = await subjectOf()
  t.teardown(subject.close)
  for (const redirectUri of [
    'http://127.0.0.1/cb',
    'http://127.0.0.1:49152/cb',
    'http://[::1]:8080/cb',
    'http://localhost:3001/cb?a=b',
    'com.example.app:/cb'
  ]) {
    // A native app gets no code without a page.
    subject.browser.cookies.clear()
    const { code, iss } = await authorizeAs(
      subject.browser,
      authorizePath({ client_id: 'native', redirect_uri: redirectUri })
    )
    t.ok(code !== undefined && iss !== undefined, redirectUri)
    t.equal((await redeem(subject.app, code ?? '', { client_id: 'native', redirect_uri: redirectUri })).statusCode, 200)
  }
  for (const redirectUri of [
    'http://127.0.0.1:0/cb',
    'http://127.0.0.1:65536/cb',
    'http://127.0.0.1:8080/cb/',
    'http://127.0.0.1:8080/cb?a=b',
    'http://127.0.0.2:8080/cb',
    'http://127.1:8080/cb',
    'http://127.0.0.1:8080@evil.example/cb',
    'http://localhost:3001/cb',
    'http://localhost:3001/cb?a=c',
    'http://localhost.:3001/cb?a=b',
    'http://LOCALHOST:3001/cb?a=b',
    'http://[0:0:0:0:0:0:0:1]:1/cb',
    'https://127.0.0.1:8080/cb',
    'com.example.app:1/cb',
    'com.example.app:/cb/x',
    'com.example.app://cb',
    'com.example.App:/cb'
  ])
    await refusesWithPage(t, subject, authorizePath({ client_id: 'native', redirect_uri: redirectUri }), {
      what: redirectUri
    })
})

// covers ASVS-1.2.2 ADV-GHSA-86j7-9j95-vpqj ADV-CVE-2023-6134
t.test('shows an error page for an unsafe redirect URI that a custom client store returns', async (t) => {
  const careless = {
    findById: async (clientId: string) =>
      clientId === 'careless'
        ? { clientId, redirectUris: CARELESS }
        : (CLIENTS.find((client) => client.clientId === clientId) ?? null)
  }
  const subject = await subjectOf([], { clients: careless })
  t.teardown(subject.close)
  await authorizeAs(subject.browser, authorizePath())
  for (const redirectUri of CARELESS)
    await refusesWithPage(t, subject, authorizePath({ client_id: 'careless', redirect_uri: redirectUri }), {
      what: show(redirectUri),
      doors: ['GET authorize', 'GET login']
    })
})

// covers R6749-3.1.2
t.test('keeps the query of a registered redirect URI unchanged', async (t) => {
  const subject = await subjectOf()
  t.teardown(subject.close)
  const redirectUri = `${CALLBACK}?dummy1=lorem&dummy2=ipsum`
  await authorizeAs(subject.browser, authorizePath())
  for (const [mode, start] of [
    ['query', `${redirectUri}&code=`],
    ['fragment', `${redirectUri}#code=`]
  ] as const) {
    const { headers } = await subject.browser.get(
      authorizePath({ client_id: 'web', redirect_uri: redirectUri, response_mode: mode })
    )
    t.equal(String(headers.location).slice(0, start.length), start, mode)
  }
})
