/**
 * The shape of HTTP requests as they come over the wire. `inject` tidies up URLs and headers, so none of this can be
 * seen through it.
 */
import type { AddressInfo } from 'node:net'
import type { FastifyInstance, FastifyServerOptions } from 'fastify'
import t, { type Test } from '../support/tap.ts'
import type { AuthorityOptions } from '../../lib/index.ts'
import { PASSWORD, signUp, testApp } from '../support/app.ts'
import { type RawAnswer, sendRaw } from '../support/raw-socket.ts'

const SIGN_IN = JSON.stringify({ grant_type: 'password', username: 'ann', password: PASSWORD })
const FORM = new URLSearchParams({ grant_type: 'password', username: 'ann', password: PASSWORD }).toString()

/** A listening app with one user. `faults` returns the error lines of its log. */
async function listening(
  t: Test,
  options: Partial<AuthorityOptions> = {},
  server: FastifyServerOptions = {}
): Promise<{ port: number; app: FastifyInstance; faults(): string[] }> {
  const lines: string[] = []
  const { app, close } = await testApp(options, {
    ...server,
    logger: {
      level: 'error',
      stream: {
        write: (line: string) => {
          lines.push(line)
        }
      }
    }
  })
  t.teardown(close)
  await signUp(app)
  await app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = app.server.address() as AddressInfo
  return { port, app, faults: () => lines }
}

/** Sends the bytes, and returns the answers with their heads in lower case. */
async function send(port: number, bytes: string | Buffer): Promise<RawAnswer[]> {
  return (await sendRaw(port, bytes)).map((answer) => ({ ...answer, head: answer.head.toLowerCase() }))
}

const request = (line: string, headers: string[], body = ''): string =>
  `${line} HTTP/1.1\r\n${headers.map((header) => `${header}\r\n`).join('')}\r\n${body}`
const length = (body: string): string => `Content-Length: ${Buffer.byteLength(body)}`
const signIn = (
  target: string,
  headers = ['Host: localhost', 'Content-Type: application/json'],
  body = SIGN_IN
): string => request(`POST ${target}`, [...headers, length(body), 'Connection: close'], body)

async function one(port: number, bytes: string | Buffer): Promise<RawAnswer> {
  const [answer = { status: 0, head: '', body: '' }] = await send(port, bytes)
  return answer
}

t.test('answers alternative spellings of a path with the endpoint, with 404 or with 400', async (t) => {
  const { port, faults } = await listening(t)
  const rows: Array<[string, number]> = [
    ['/auth/token', 200],
    ['/auth/%74oken', 200],
    ['/auth/toke%6E', 200],
    ['http://localhost/auth/token', 200],
    ['http://evil.example/auth/token', 200],
    ['/auth/token?x=%zz&a=b&a=c', 200],
    ['/auth/token#x', 200],
    ['/auth%2ftoken', 404],
    ['/auth%2Ftoken', 404],
    ['/auth/%2574oken', 404],
    ['/auth/token%00', 404],
    ['/auth/token/', 404],
    ['//auth/token', 404],
    ['/auth//token', 404],
    ['/auth/./token', 404],
    ['/x/../auth/token', 404],
    ['/auth/token;x', 404],
    ['/auth/token%20', 404],
    ['/auth/tok\\en', 404],
    ['/AUTH/TOKEN', 404],
    ['*', 404],
    ['/auth/token%', 400],
    ['/auth/token%zz', 400],
    ['auth/token', 400],
    ['/auth/token x', 400]
  ]
  for (const [target, status] of rows) {
    const answer = await one(port, signIn(target))
    t.equal(answer.status, status, target)
    t.equal(answer.body.includes('access_token'), status === 200, `${target}: a token only where it is the endpoint`)
    if (status === 200) t.match(answer.head, 'cache-control: no-store', target)
  }
  t.same(faults(), [])
})

t.test('follows ignoreTrailingSlash and ignoreDuplicateSlashes of the host', async (t) => {
  const { port } = await listening(
    t,
    {},
    { routerOptions: { ignoreTrailingSlash: true, ignoreDuplicateSlashes: true } }
  )
  t.equal((await one(port, signIn('/auth/token/'))).status, 200)
  t.equal((await one(port, signIn('//auth//token'))).status, 200)
})

t.test('keeps the Host header out of tokens and answers, and rejects a request without one', async (t) => {
  const { port, faults } = await listening(t)
  for (const headers of [
    ['Host: evil.example'],
    ['Host: a', 'Host: b'],
    ['Host:'],
    ['Host: localhost', 'X-Forwarded-Host: evil.example']
  ]) {
    const answer = await one(port, signIn('/auth/token', [...headers, 'Content-Type: application/json']))
    t.equal(answer.status, 200, headers.join(', '))
    const { access_token: token } = JSON.parse(answer.body) as { access_token: string }
    t.match(
      Buffer.from(token.split('.')[1] ?? '', 'base64url').toString(),
      '"iss":"http://localhost:3000"',
      'the issuer is the option'
    )
    t.notMatch(answer.head + answer.body, 'evil.example')
  }
  t.equal(
    (await one(port, signIn('/auth/token', ['Content-Type: application/json']))).status,
    400,
    'HTTP/1.1 without one'
  )
  t.same(faults(), [])
})

// covers R6750-2
t.test('reads only the first of two Authorization headers', async (t) => {
  const { port, faults } = await listening(t)
  const { access_token: token, refresh_token: refreshToken } = JSON.parse(
    (await one(port, signIn('/auth/token'))).body
  ) as { access_token: string; refresh_token: string }
  const ask = async (line: string, ...credentials: string[]): Promise<RawAnswer> =>
    await one(
      port,
      request(line, [
        'Host: x',
        'Connection: close',
        'Content-Length: 0',
        ...credentials.map((one) => `Authorization: ${one}`)
      ])
    )
  t.equal((await ask('GET /me', `Bearer ${token}`)).status, 200)
  t.equal((await ask('GET /me', `Bearer ${token}`, 'Bearer bad')).status, 200)
  for (const first of ['Bearer bad', 'Basic YTpi', 'Bearer', 'x'])
    t.equal((await ask('GET /me', first, `Bearer ${token}`)).status, 401, first)
  t.equal((await ask('GET /me', `Bearer ${token}, Bearer ${token}`)).status, 401, 'a list is none')
  t.equal((await ask('GET /me', `Bearer ${refreshToken}`)).status, 401, 'a refresh token is no access token')
  t.equal((await ask('POST /auth/refresh', `Bearer ${refreshToken}`, 'Bearer bad')).status, 200)
  t.equal((await ask('POST /auth/refresh', 'Bearer bad', `Bearer ${refreshToken}`)).status, 401)
  t.equal((await ask('POST /auth/refresh', `Bearer ${token}`)).status, 401, 'an access token is no refresh token')
  t.same(faults(), [])
})

t.test('ADV request smuggling: rejects an ambiguous length with 400 and closes the connection', async (t) => {
  const { port, faults } = await listening(t)
  const json = ['Host: x', 'Content-Type: application/json']
  const second = request('GET /me', ['Host: x', 'Connection: close'])
  const rows: Record<string, string> = {
    'both lengths': request(
      'POST /auth/token',
      [...json, length(SIGN_IN), 'Transfer-Encoding: chunked'],
      `0\r\n\r\n${second}`
    ),
    'both, the other way round': request(
      'POST /auth/token',
      [...json, 'Transfer-Encoding: chunked', length(SIGN_IN)],
      SIGN_IN
    ),
    'two lengths': request('POST /auth/token', [...json, 'Content-Length: 2', length(SIGN_IN)], SIGN_IN),
    'a list of lengths': request('POST /auth/token', [...json, 'Content-Length: 2, 2'], '{}'),
    'negative length': request('POST /auth/token', [...json, 'Content-Length: -1'], '{}'),
    'signed length': request('POST /auth/token', [...json, 'Content-Length: +2'], '{}'),
    'hexadecimal length': request('POST /auth/token', [...json, 'Content-Length: 0x2'], '{}'),
    'chunked is not last': request(
      'POST /auth/token',
      [...json, 'Transfer-Encoding: chunked, identity'],
      `0\r\n\r\n${second}`
    ),
    'bad chunk size': request(
      'POST /auth/token',
      [...json, 'Transfer-Encoding: chunked'],
      `zz\r\n{}\r\n0\r\n\r\n${second}`
    ),
    'space before the colon': request(
      'POST /auth/token',
      ['Host: x', 'Content-Type : application/json', 'Content-Length : 2'],
      `{}${second}`
    ),
    'folded header': request('POST /auth/token', [...json, 'X-A: a', ' Content-Length: 2', length(SIGN_IN)], SIGN_IN),
    'bare line feeds': `POST /auth/token HTTP/1.1\nHost: x\nContent-Length: 2\n\n{}${second}`
  }
  for (const [what, bytes] of Object.entries(rows)) {
    t.same(
      (await send(port, bytes)).map(({ status }) => status),
      [400],
      what
    )
  }
  const chunked = request(
    'POST /auth/token',
    [...json, 'Transfer-Encoding: chunked', 'Connection: close'],
    `${Buffer.byteLength(SIGN_IN).toString(16)}\r\n${SIGN_IN}\r\n0\r\n\r\n`
  )
  t.equal((await one(port, chunked)).status, 200, 'chunks alone are fine')
  t.same(faults(), [])
})

// covers R6749-3.2
t.test('accepts JSON and form content types in any valid spelling, and rejects others', async (t) => {
  const { port, faults } = await listening(t)
  const post = async (headers: string[], body = SIGN_IN): Promise<number> =>
    (await one(port, signIn('/auth/token', ['Host: x', ...headers], body))).status
  const json: Array<[string, number]> = [
    ['application/json', 200],
    ['APPLICATION/JSON', 200],
    ['Application/Json; Charset=UTF-8', 200],
    ['application/json;charset=utf-8', 200],
    ['application/json ; charset=utf-8', 200],
    ['application/json;', 200],
    ['application/json ;', 200],
    ['  application/json\t', 200],
    ['application/json\tx', 415],
    ['application/json x', 415],
    ['application/json, application/json', 415],
    ['application/json, text/plain', 415],
    ['application/jsonx', 415],
    ['application/json+x', 415],
    ['application/vnd.api+json', 415],
    ['text/json', 415],
    ['text/plain', 415],
    ['multipart/form-data; boundary=x', 415],
    ['application/', 415],
    ['json', 415],
    [';charset=utf-8', 415],
    ['', 415]
  ]
  for (const [type, status] of json) t.equal(await post([`Content-Type: ${type}`]), status, JSON.stringify(type))
  t.equal(await post([]), 415, 'no content type')
  const form: Array<[string, number]> = [
    ['application/x-www-form-urlencoded', 200],
    ['APPLICATION/X-WWW-FORM-URLENCODED', 200],
    ['application/x-www-form-urlencoded; charset=UTF-8', 200],
    ['application/x-www-form-urlencoded ;', 200],
    ['application/x-www-form-urlencodedx', 415],
    ['application/x-www-form', 415]
  ]
  for (const [type, status] of form) t.equal(await post([`Content-Type: ${type}`], FORM), status, type)
  t.equal(await post(['Content-Type: application/x-www-form-urlencoded']), 400, 'JSON said to be a form')
  t.equal(await post(['Content-Type: application/json'], FORM), 400, 'a form said to be JSON')
  t.equal(
    await post(['Content-Type: application/json', 'Content-Type: text/plain']),
    200,
    'of two headers the first counts'
  )
  t.equal(await post(['Content-Type: text/plain', 'Content-Type: application/json']), 415)
  t.equal(await post(['Content-Type: application/json'], ''), 400, 'an empty body')
  const utf16 = Buffer.from(SIGN_IN, 'utf16le')
  const head = request('POST /auth/token', [
    'Host: x',
    'Content-Type: application/json; charset=utf-16',
    `Content-Length: ${utf16.length}`,
    'Connection: close'
  ])
  t.equal(
    (await one(port, Buffer.concat([Buffer.from(head), utf16]))).status,
    400,
    'a body is UTF-8 whatever it says of itself'
  )
  const compressed = request(
    'POST /auth/token',
    ['Host: x', 'Content-Type: application/json', 'Content-Encoding: gzip', 'Content-Length: 4', 'Connection: close'],
    '\x1f\x8b\x08\x00'
  )
  t.equal((await one(port, Buffer.from(compressed, 'latin1'))).status, 400, 'nothing is decompressed')
  t.same(faults(), [])
})

t.test('rejects other methods at the token, refresh, sign-up and password reset endpoints', async (t) => {
  const { port, faults } = await listening(t)
  for (const path of ['token', 'refresh', 'register', 'password-reset']) {
    for (const method of ['GET', 'HEAD', 'OPTIONS', 'TRACE', 'PUT', 'PATCH', 'DELETE']) {
      const answer = await one(
        port,
        request(
          `${method} /auth/${path}`,
          [
            'Host: x',
            'Content-Type: application/json',
            length(SIGN_IN),
            'Connection: close',
            'Cookie: a=secret-cookie'
          ],
          SIGN_IN
        )
      )
      // If another origin may call, the response names only the methods.
      const asked = method === 'OPTIONS' && path === 'token'
      const isProtocol = path === 'token' || path === 'refresh'
      const refused = isProtocol && method !== 'OPTIONS' && method !== 'TRACE' ? 405 : 404
      t.equal(answer.status, asked ? 204 : refused, `${method} ${path}`)
      if (asked) t.match(answer.head, /\r\nallow: post\r\n/)
      if (asked) t.equal(answer.body, '')
      t.notMatch(answer.head, /set-cookie|access-control-allow/)
      t.notMatch(answer.body, /access_token|secret-cookie|correct horse/, 'nothing is echoed')
    }
  }
  for (const line of ['FOO /auth/token', 'post /auth/token', 'POST  /auth/token', 'POST'])
    t.equal((await one(port, request(line, ['Host: x', 'Connection: close']))).status, 400, line)
  t.equal((await one(port, request('GET /.well-known/jwks.json', ['Host: x', 'Connection: close']))).status, 200)
  const head = await one(port, request('HEAD /.well-known/jwks.json', ['Host: x', 'Connection: close']))
  t.equal(head.status, 200)
  t.equal(head.body, '')
  t.same(faults(), [])
})

// covers DOS-2
t.test('rejects a body over the limit with 413, and does not read the next request as its rest', async (t) => {
  const { port, faults } = await listening(t)
  const follow = request('GET /me', ['Host: x', 'Connection: close'])
  for (const path of ['token', 'register', 'password-reset', 'password-reset/confirm', 'email/verify']) {
    const body = JSON.stringify({ username: 'x'.repeat(1_048_576) })
    const answers = await send(
      port,
      request(`POST /auth/${path}`, ['Host: x', 'Content-Type: application/json', length(body)], body) + follow
    )
    t.equal(answers[0]?.status, 413, path)
    t.match(answers[0]?.body, '"invalid_request"', path)
    // Either the connection is closed, or the next request starts right after the body.
    t.ok(
      answers.length === 1 || (answers.length === 2 && answers[1]?.status === 401),
      `${path}: ${answers.map(({ status }) => status).join(' ')}`
    )
  }
  const chunk = ' '.repeat(20_000)
  const chunked = await send(
    port,
    request(
      'POST /auth/token',
      ['Host: x', 'Content-Type: application/json', 'Transfer-Encoding: chunked'],
      `${chunk.length.toString(16)}\r\n${chunk}\r\n0\r\n\r\n`
    )
  )
  t.same(
    chunked.map(({ status }) => status),
    [413],
    'without a length too'
  )
  const edge = (size: number): string => SIGN_IN.replace('{', `{${' '.repeat(size - SIGN_IN.length)}`)
  t.equal((await one(port, signIn('/auth/token', undefined, edge(16_384)))).status, 200, '16 KiB')
  t.equal((await one(port, signIn('/auth/token', undefined, edge(16_385)))).status, 413, 'and one byte')
  t.equal(
    (
      await one(
        port,
        signIn('/auth/token', ['Host: x', 'Content-Type: application/json', `X-A: ${'a'.repeat(20_000)}`])
      )
    ).status,
    431,
    'headers'
  )
  t.same(faults(), [])
})

t.test('answers three requests in one packet in order', async (t) => {
  const { port } = await listening(t)
  const first = request('POST /auth/token', ['Host: x', 'Content-Type: application/json', length(SIGN_IN)], SIGN_IN)
  const answers = await send(port, first + request('GET /me', ['Host: x']) + signIn('/auth/token'))
  t.same(
    answers.map(({ status }) => status),
    [200, 401, 200]
  )
})

// covers RL-15
t.test('applies one login limit to alternative spellings of the path', async (t) => {
  const spellings = [
    '/auth/token',
    '/auth/%74oken',
    '/auth/toke%6e',
    'http://localhost/auth/token',
    'http://other.example/auth/token',
    '/auth/token?a',
    '/auth/token#a',
    '/auth/token/',
    '//auth/token',
    '/auth//token'
  ]
  const { port } = await listening(
    t,
    { rateLimit: { login: { max: 2, windowMs: 900_000 } } },
    { routerOptions: { ignoreTrailingSlash: true, ignoreDuplicateSlashes: true } }
  )
  const wrong = JSON.stringify({ grant_type: 'password', username: 'ann', password: 'wrong password' })
  const attempt = async (target: string, index: number): Promise<number> =>
    (
      await one(
        port,
        signIn(
          target,
          [`Host: h${index}.example`, 'Content-Type: application/json', `X-Forwarded-For: 192.0.2.${index}`],
          wrong
        )
      )
    ).status
  const statuses: number[] = []
  for (const [index, target] of spellings.entries()) statuses.push(await attempt(target, index))
  t.same(statuses, [400, 400, ...spellings.slice(2).map(() => 429)])
  t.equal((await one(port, signIn('/auth/token'))).status, 429, 'nor does the right password')
})
