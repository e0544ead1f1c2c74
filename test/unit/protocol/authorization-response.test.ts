import t from '../../support/tap.ts'
import { authorizationResponse } from '../../../lib/protocol/authorization-request.ts'

const CB = 'https://app.example/cb'
const location = (uri: string, mode: 'query' | 'fragment', params: Record<string, string | undefined>): string => {
  const response = authorizationResponse(uri, mode, params)
  return response.kind === 'redirect' ? response.location : 'a form'
}
const STATES = [
  's',
  ' ',
  '+',
  '%',
  '%20',
  '%2B',
  'a+b c%20d',
  '&state=x',
  'a&code=evil',
  '=',
  '#',
  '?',
  '/',
  '\\',
  '"\'<>`',
  ';',
  ',',
  '\r\nSet-Cookie: a=b',
  '\t\0\x7f',
  'é',
  '😀',
  '\u202e',
  'x'.repeat(2048),
  '!*()~-._',
  '<script>alert(1)</script>'
]

// covers R6749-3.1.2
t.test('puts the parameters into query, fragment or form', async (t) => {
  const rows: Array<[string, 'query' | 'fragment', string]> = [
    [CB, 'query', `${CB}?code=c&state=s`],
    [`${CB}?dummy1=lorem&dummy2=ipsum`, 'query', `${CB}?dummy1=lorem&dummy2=ipsum&code=c&state=s`],
    [`${CB}?a=%2f+b%20c&&x=';y`, 'query', `${CB}?a=%2f+b%20c&&x=';y&code=c&state=s`],
    [`${CB}?`, 'query', `${CB}?code=c&state=s`],
    [`${CB}?a&`, 'query', `${CB}?a&code=c&state=s`],
    [`${CB}?next=/help?`, 'query', `${CB}?next=/help?&code=c&state=s`],
    [`${CB}??`, 'query', `${CB}??&code=c&state=s`],
    [`${CB}?a=b?c`, 'query', `${CB}?a=b?c&code=c&state=s`],
    [`${CB}?a=b?&`, 'query', `${CB}?a=b?&code=c&state=s`],
    [`${CB}&`, 'query', `${CB}&?code=c&state=s`],
    ['com.example.app:/cb?next=/help?', 'query', 'com.example.app:/cb?next=/help?&code=c&state=s'],
    ['https://app.example', 'query', 'https://app.example?code=c&state=s'],
    ['http://127.0.0.1:49152/', 'query', 'http://127.0.0.1:49152/?code=c&state=s'],
    ['com.example.app:/cb', 'query', 'com.example.app:/cb?code=c&state=s'],
    [CB, 'fragment', `${CB}#code=c&state=s`],
    [`${CB}?dummy1=lorem`, 'fragment', `${CB}?dummy1=lorem#code=c&state=s`]
  ]
  for (const [uri, mode, whole] of rows)
    t.equal(location(uri, mode, { code: 'c', state: 's', error: undefined }), whole, `OIDF-oidcc-server ${uri} ${mode}`)
  t.equal(location(CB, 'query', {}), CB)
  for (const [uri] of rows) {
    const before = new URL(uri).searchParams
    const after = new URL(location(uri, 'query', { code: 'c', state: 's' })).searchParams
    t.equal(after.get('code'), 'c', `C2 the client sees the code at ${uri}`)
    for (const [name, value] of before) t.ok(after.getAll(name).includes(value), `C2 and its own ${name} as it was`)
  }
  t.equal(location(CB, 'query', { state: undefined }), CB)
})

// covers R6749-4.1.2
t.test('returns state byte for byte', async (t) => {
  for (const state of STATES) {
    for (const uri of [CB, `${CB}?dummy1=lorem`]) {
      const inQuery = location(uri, 'query', { code: 'c', state, iss: 'https://auth.example.com' })
      t.match(inQuery, /^[\x21\x23-\x5b\x5d-\x7e]+$/, 'ASCII, no line break, no quote')
      const url = new URL(inQuery)
      t.equal(url.searchParams.get('state'), state, JSON.stringify(state).slice(0, 40))
      t.same(url.searchParams.getAll('code'), ['c'], 'nothing got in beside')
      t.equal(url.hash, '')
      const raw = /[?&]state=([^&]*)/.exec(inQuery)?.[1] ?? ''
      t.equal(decodeURIComponent(raw), state, 'for those who take + as it is, too')
      const inFragment = location(uri, 'fragment', { state })
      t.equal(new URLSearchParams(new URL(inFragment).hash.slice(1)).get('state'), state)
    }
    t.same(authorizationResponse(CB, 'form_post', { state }), { kind: 'form', action: CB, params: { state } })
  }
})

// covers FP-2
t.test('returns the parameters as a form for form_post', async (t) => {
  t.same(
    authorizationResponse(`${CB}?dummy1=lorem`, 'form_post', {
      code: 'c',
      state: undefined,
      iss: 'https://auth.example.com'
    }),
    { kind: 'form', action: `${CB}?dummy1=lorem`, params: { code: 'c', iss: 'https://auth.example.com' } }
  )
  const form = authorizationResponse(CB, 'form_post', { code: 'c', state: undefined, iss: 'i' })
  t.strictSame(form.kind === 'form' ? Object.keys(form.params) : [], ['code', 'iss'], 'what was not sent is no field')
})

// covers ASVS-1.2.2
t.test('throws server_error for a response to a redirect URI that cannot be registered', async (t) => {
  for (const uri of [
    'javascript:alert(1)',
    'data:text/html,x',
    'vbscript:x',
    'file:///x',
    'intent://x',
    'http://app.example/cb',
    '//evil.example',
    '/cb',
    '',
    `${CB}#f`,
    'https://me@app.example',
    'https://app.example\\cb',
    `${CB}\r\nSet-Cookie:a=b`,
    'https://app.example/é'
  ]) {
    for (const mode of ['query', 'fragment', 'form_post'] as const)
      t.throws(
        () => authorizationResponse(uri, mode, { code: 'c' }),
        {
          code: 'FST_AUTHORITY_OAUTH',
          error: 'server_error',
          statusCode: 500,
          detail: /^the redirect URI should have been ./
        },
        `${uri} ${mode}`
      )
  }
})
