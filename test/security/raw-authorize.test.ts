/**
 * Sends raw HTTP requests to the endpoints of the browser, because `inject` normalizes URLs and
 * headers.
 */
import t from '../support/tap.ts'
import { bearer } from '../support/app.ts'
import { authorizePath, tokensOf } from '../support/openid.ts'
import { listening, locationOf, one, QUERY } from './support/raw-authorize.ts'

// covers R6749-3.1 ADV-CVE-2026-6414 ADV-GHSA-x732-6j76-qmhm
t.test('issues a code at the authorization path, and answers 400, 404 or 414 to similar paths', async (t) => {
  const subject = await listening(t)
  const rows: Array<[target: string, status: number]> = [
    ['/auth/authorize?Q', 303],
    ['/auth/%61uthorize?Q', 303],
    ['/auth/authoriz%65?Q', 303],
    ['http://localhost/auth/authorize?Q', 303],
    ['http://evil.example/auth/authorize?Q', 303],
    ['http://user:pw@evil.example/auth/authorize?Q', 303],
    ['/auth/authorize', 400],
    ['/auth/authorize?', 400],
    ['/auth/authorize#?Q', 400],
    ['/auth/authorize?x=%zz', 400],
    ['/auth/authorize?%', 400],
    ['/auth/authorize/?Q', 404],
    ['//auth/authorize?Q', 404],
    ['/auth//authorize?Q', 404],
    ['/auth/./authorize?Q', 404],
    ['/x/../auth/authorize?Q', 404],
    ['/auth%2fauthorize?Q', 404],
    ['/auth%2Fauthorize?Q', 404],
    ['/auth/%2561uthorize?Q', 404],
    ['/auth/authorize%00?Q', 404],
    // The router answers 414, because the protocol paths have a parameter for their other methods.
    ['/auth/authorize%3fQ', 414],
    ['/auth/authorize%20?Q', 404],
    ['/AUTH/authorize?Q', 404],
    ['/auth/Authorize?Q', 404],
    ['/auth\\authorize?Q', 404],
    ['*', 404],
    ['/auth/authorize%?Q', 400],
    ['/auth/authorize%zz?Q', 400],
    ['auth/authorize?Q', 400],
    ['/auth/authorize?Q x', 400]
  ]
  for (const [target, status] of rows) {
    const answer = await one(subject, `GET ${target.replace('Q', QUERY)}`, [
      'Host: localhost:3000',
      `Cookie: ${subject.cookie}`
    ])
    t.equal(answer.status, status, target)
    t.equal(
      locationOf(answer)?.startsWith('https://app.example/cb?code=') ?? false,
      status === 303,
      `${target}: a code only where it is the endpoint`
    )
    t.notMatch(answer.head + answer.body, 'evil.example', target)
  }
  t.same(subject.faults, [])
})

// covers ASVS-4.1.4 R6749-3.1
t.test('refuses methods other than GET, POST and OPTIONS on hosted pages', async (t) => {
  const subject = await listening(t)
  for (const path of ['/auth/authorize', '/auth/login', '/auth/consent', '/auth/logout']) {
    for (const method of [
      'HEAD',
      'PUT',
      'PATCH',
      'DELETE',
      'TRACE',
      'PROPFIND',
      'SEARCH',
      'QUERY',
      'get',
      'Get',
      'GETT',
      'constructor'
    ]) {
      const { status, head } = await one(subject, `${method} ${path}?${QUERY}`, [
        'Host: localhost:3000',
        `Cookie: ${subject.cookie}`,
        'Content-Length: 0'
      ])
      t.ok([400, 404, 405, 501].includes(status), `${method} ${path}: ${status}`)
      t.notMatch(head, /^(?:location|set-cookie):/im, `${method} ${path}`)
    }
    const options = await one(subject, `OPTIONS ${path}`, [
      'Host: localhost:3000',
      'Origin: https://app.example',
      'Access-Control-Request-Method: POST'
    ])
    t.notMatch(options.head, /access-control-/i, `R9700-2.6 OPTIONS ${path}`)
  }
  t.same(subject.writes, [])
  t.same(subject.faults, [])
})

// covers ADV-CVE-2026-3635 R8414-6
t.test('ignores Host and forwarding headers when it redirects', async (t) => {
  const subject = await listening(t)
  for (const headers of [
    ['Host: evil.example'],
    ['Host: a', 'Host: evil.example'],
    ['Host:'],
    [
      'Host: localhost',
      'X-Forwarded-Host: evil.example',
      'X-Forwarded-Proto: https',
      'Forwarded: host=evil.example;proto=https',
      'X-Original-URL: /auth/logout',
      'X-Rewrite-URL: /x',
      'X-HTTP-Method-Override: DELETE'
    ]
  ]) {
    for (const cookie of [[], [`Cookie: ${subject.cookie}`]]) {
      const answer = await one(subject, `GET /auth/authorize?${QUERY}`, [...headers, ...cookie])
      t.equal(answer.status, 303, headers.join())
      t.match(
        locationOf(answer),
        cookie.length === 0
          ? /^\/auth\/login\?client_id=spa&/
          : /^https:\/\/app\.example\/cb\?code=.*&iss=http%3A%2F%2Flocalhost%3A3000$/,
        headers.join()
      )
      t.notMatch(answer.head, 'evil.example')
    }
  }
  t.equal((await one(subject, `GET /auth/authorize?${QUERY}`, [])).status, 400, 'HTTP/1.1 without one')
  t.same(subject.faults, [])
})

// covers ASVS-7.2.1 ADV-CVE-2023-27495
t.test('rejects a repeated, altered or renamed session cookie', async (t) => {
  const subject = await listening(t)
  const [name = '', value = ''] = subject.cookie.split('=')
  const silent = authorizePath({ prompt: 'none' })
  const rows: Array<[what: string, cookies: string[], signedIn: boolean]> = [
    ['one', [subject.cookie], true],
    ['among others', [`a=b; ${subject.cookie}; c=d`], true],
    ['twice', [`${subject.cookie}; ${subject.cookie}`], false],
    ['planted beside it', [`${name}=x; ${subject.cookie}`], false],
    ['planted in another header', [subject.cookie, `${name}=x`], false],
    ['upper case', [`${name.toUpperCase()}=${value}`], false],
    ['with the prefix of https', [`__Host-${name}=${value}`], false],
    ['a part', [subject.cookie.slice(0, -1)], false],
    ['longer', [`${subject.cookie}A`], false],
    ['its first half', [subject.cookie.split('.')[0] ?? ''], false],
    ['long', [`${name}=${'A'.repeat(8000)}`], false],
    ['none', [], false]
  ]
  for (const [what, cookies, signedIn] of rows) {
    const answer = await one(subject, `GET ${silent}`, [
      'Host: localhost:3000',
      ...cookies.map((cookie) => `Cookie: ${cookie}`)
    ])
    t.equal(answer.status, 303, what)
    t.match(locationOf(answer), signedIn ? /[?&]code=/ : /[?&]error=login_required&/, what)
  }
  t.same(subject.faults, [])
})

// covers ADV-CVE-2025-32442 ADV-CVE-2022-39288
t.test('accepts only URL-encoded authorization forms, and answers 415 to other content types', async (t) => {
  const subject = await listening(t)
  const form = 'application/x-www-form-urlencoded'
  const rows: Array<[header: string[], status: number[]]> = [
    [[`Content-Type: ${form}`], [303]],
    [[`Content-Type: ${form}; charset=utf-8`], [303]],
    [[`Content-Type: ${form.toUpperCase()}`], [303]],
    [[`Content-Type: ${form} ;`], [303, 415]],
    [[`Content-Type:\t${form}`], [303]],
    [['Content-Type: application/json'], [415]],
    [['Content-Type: text/plain'], [415]],
    [['Content-Type: multipart/form-data; boundary=x'], [415]],
    [[`Content-Type: ${form}x`], [415]],
    [[`Content-Type: x${form}`], [415]],
    [[`Content-Type: text/plain, ${form}`], [415]],
    [[], [415]],
    [['Content-Type:'], [415]],
    [[`Content-Type: ${form}\u0009junk`], [415]],
    [['Content-Type: ;;;'], [415]]
  ]
  for (const [headers, statuses] of rows) {
    const answer = await one(subject, 'POST /auth/authorize', ['Host: localhost:3000', ...headers], QUERY)
    t.ok(statuses.includes(answer.status), `${headers.join()}: ${answer.status}`)
    t.equal(
      locationOf(answer)?.startsWith('/auth/authorize?client_id=spa') ?? false,
      answer.status === 303,
      headers.join()
    )
  }
  t.same(subject.writes, [])
  t.same(subject.faults, [])
})

// covers R6750-2.3 R9700-4.3.2
t.test('rejects an access token in the query or in the body of a GET at userinfo', async (t) => {
  const subject = await listening(t)
  const { access_token: token } = await tokensOf(subject)
  const query = `access_token=${token}`
  for (const line of [
    `GET /auth/userinfo?${query}`,
    `POST /auth/userinfo?${query}`,
    `GET http://localhost/auth/userinfo?${query}`,
    `GET /auth/userinfo#${query}`,
    `HEAD /auth/userinfo?${query}`
  ])
    t.equal((await one(subject, line, ['Host: x', 'Content-Length: 0'])).status, 401, line.slice(0, 40))
  t.equal(
    (
      await one(subject, 'GET /auth/userinfo?access_token=other', [
        'Host: x',
        `Authorization: ${bearer(token).authorization}`
      ])
    ).status,
    200,
    'nor looks at one there'
  )
  const head = await one(subject, 'HEAD /auth/userinfo', ['Host: x', `Authorization: ${bearer(token).authorization}`])
  t.same([head.status, head.body], [200, ''])
  t.match(head.head, /^cache-control: no-store$/im)
  for (const target of [
    '/auth/userinfo/',
    '//auth/userinfo',
    '/auth/./userinfo',
    '/auth%2fuserinfo',
    '/auth/userinfo%2fx.css',
    '/auth/userinfo/x.css',
    '/auth/userinfo;x.css'
  ])
    t.equal(
      (await one(subject, `GET ${target}`, ['Host: x', `Authorization: ${bearer(token).authorization}`])).status,
      404,
      target
    )
  for (const headers of [
    [`Authorization: ${bearer(token).authorization}`, 'Authorization: Bearer x'],
    ['Authorization: Bearer x', `Authorization: ${bearer(token).authorization}`]
  ]) {
    const { status, body } = await one(subject, 'GET /auth/userinfo', ['Host: x', ...headers])
    t.equal(
      status === 200,
      headers[0]?.includes(token),
      `R6750-2 of two headers the first counts: ${body.slice(0, 40)}`
    )
  }
  const withBody = await one(
    subject,
    'GET /auth/userinfo',
    ['Host: x', 'Content-Type: application/x-www-form-urlencoded'],
    query
  )
  t.equal(withBody.status, 401, 'R6750-2.2 the body of a GET is not read')
  t.same(subject.faults, [])
})
