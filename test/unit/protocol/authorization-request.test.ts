import t from '../../support/tap.ts'
import { parseAuthorizationRequest } from '../../../lib/protocol/authorization-request.ts'
import { serializeParams } from '../../../lib/protocol/request-params.ts'
import {
  type AuthorizationParams,
  carried,
  inAddress,
  fitsAddress,
  readAuthorizationParams,
  responseModeOf,
  satisfied,
  checkParams
} from '../../../lib/protocol/authorization-params.ts'

const CHALLENGE = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM'
const LIMITS: Record<string, number> = {
  client_id: 1536,
  redirect_uri: 2048,
  response_type: 128,
  response_mode: 64,
  scope: 1024,
  state: 2048,
  nonce: 512,
  prompt: 128,
  max_age: 32,
  display: 64,
  login_hint: 512,
  ui_locales: 512,
  claims_locales: 512,
  acr_values: 1024,
  claims: 4096,
  code_challenge: 128,
  code_challenge_method: 64,
  request_uri: 2048,
  registration: 4096
}
const invalid = (message: string | RegExp) => ({
  code: 'FST_AUTHORITY_OAUTH',
  error: 'invalid_request',
  statusCode: 400,
  message
})
const query = (entries: Record<string, unknown>): unknown => Object.assign(Object.create(null) as object, entries)
const BASE: AuthorizationParams = { client_id: 'app', redirect_uri: 'https://app.example/cb', response_type: 'code' }

// covers R6749-3.1
t.test('keeps known parameters as sent, and ignores empty and unknown ones', async (t) => {
  t.same(
    readAuthorizationParams(query({ ...BASE, scope: 'openid', state: ' a+b%20 ' })),
    { ...BASE, scope: 'openid', state: ' a+b%20 ' },
    'values are left as they came'
  )
  t.same(
    readAuthorizationParams(query({ ...BASE, state: '', nonce: '', prompt: '' })),
    BASE,
    'an empty one counts as not sent'
  )
  t.same(
    readAuthorizationParams(query({ ...BASE, extra: 'foobar', others: ['a', 'b'], __proto__: 'x', toString: 'x' })),
    BASE,
    'OIDF-oidcc-ensure-request-with-unknown-parameter-succeeds unknown ones are ignored'
  )
  t.same(readAuthorizationParams(Object.create({ client_id: 'app' })), {}, 'what is inherited was not sent')
  for (const nothing of [undefined, null, {}]) t.same(readAuthorizationParams(nothing), {})
  for (const raw of ['client_id=app', 1, true, [], [BASE]])
    t.throws(() => readAuthorizationParams(raw), invalid(/must hold its parameters/), JSON.stringify(raw))
})

// covers ASVS-2.2.1 R6749-3.1
t.test('requires each parameter to be a string sent once', async (t) => {
  for (const name of [...Object.keys(LIMITS), 'request', 'id_token_hint']) {
    const isAnswered = !['client_id', 'redirect_uri', 'state'].includes(name)
    if (isAnswered)
      t.throws(
        () => {
          checkParams(readAuthorizationParams({ ...BASE, [name]: ['a', 'b'] }))
        },
        invalid(`${name} must be sent once.`),
        `${name}, twice: once the client is known`
      )
    for (const value of [...(isAnswered ? [] : [['a', 'b']]), ['a'], [], { a: 'b' }, 1, true, null])
      t.throws(
        () => readAuthorizationParams({ ...BASE, [name]: value }),
        invalid(`${name} must be a string, sent once.`),
        `${name}: ${JSON.stringify(value)}`
      )
  }
})

/** The parameters after a round trip through a URL, as between the pages. */
const carriedOn = (params: AuthorizationParams): AuthorizationParams =>
  readAuthorizationParams(Object.fromEntries(new URLSearchParams(inAddress(params))))

t.test('DOS-authorize-parameters ADV-CVE-2026-4634 C3 refuses an overlong parameter by its name', async (t) => {
  for (const [name, limit] of Object.entries({ ...LIMITS, id_token_hint: 8192, request: 8192 })) {
    const key = name as 'state'
    t.equal(readAuthorizationParams({ [name]: 'x'.repeat(limit) })[key], 'x'.repeat(limit), `${name} of ${limit}`)
    for (const value of ['x'.repeat(limit + 1), 'x'.repeat(16_000), 'é'.repeat(limit / 2 + 1), '😀'.repeat(limit)]) {
      if (name === 'client_id' || name === 'redirect_uri' || (name === 'state' && value.length > 8192)) {
        t.throws(
          () => readAuthorizationParams({ ...BASE, [name]: value }),
          invalid(`${name} is too long.`),
          `${name} of ${value.length}`
        )
        continue
      }
      const read = readAuthorizationParams({ ...BASE, [name]: value })
      t.ok(
        read[key] === value || (name !== 'state' && (read[key]?.length ?? 0) <= limit + 1),
        `${name} is not kept whole, but the state is`
      )
      for (const params of [read, carriedOn(read), carriedOn(carriedOn(read))])
        t.throws(
          () => parseAuthorizationRequest(params),
          invalid(`${name} is too long.`),
          `${name} of ${value.length}, wherever it is carried`
        )
    }
  }
  t.equal(readAuthorizationParams({ state: 'é'.repeat(1024) }).state, 'é'.repeat(1024))
})

t.test('DOS-authorize-parameters ASVS-4.2.5 refuses a request that does not fit into a URL', async (t) => {
  const whole = (length: number): AuthorizationParams => ({
    client_id: 'a',
    id_token_hint: 'x'.repeat(length - 'client_id=a&id_token_hint='.length)
  })
  t.equal(carried(readAuthorizationParams(whole(8192))).length, 8192)
  for (const params of [whole(8193), { claims: '"'.repeat(4096) }]) {
    const read = readAuthorizationParams(params)
    t.notOk(fitsAddress(read))
    t.throws(() => carried(read), invalid('The authorization request is too long.'))
    t.throws(
      () => parseAuthorizationRequest({ ...read, response_type: 'code' }),
      invalid('The authorization request is too long.'),
      'as it is encoded'
    )
  }
})

const part = (value: unknown): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')
const unsigned = (payload: unknown, header: unknown = { alg: 'none' }): string => `${part(header)}.${part(payload)}.`

// covers C8b
t.test('takes only state and response_mode from an unsigned request object, if the query lacks them', async (t) => {
  const read = (request: string, params: AuthorizationParams = {}): AuthorizationParams => {
    const { request: kept, ...rest } = readAuthorizationParams({ ...params, request })
    t.equal(kept, request)
    return rest
  }
  const both = { state: 's', response_mode: 'form_post' }
  t.same(read(unsigned(both)), both)
  t.same(read(unsigned(both), { state: 'q' }), { state: 'q', response_mode: 'form_post' })
  t.same(read(unsigned(both), { response_mode: 'query' }), { state: 's', response_mode: 'query' })
  t.same(read(unsigned(both), { state: 'q', response_mode: 'fragment' }), { state: 'q', response_mode: 'fragment' })
  t.same(read(unsigned(both), { state: '', response_mode: '' }), both, 'an empty one of the query was not sent')
  t.same(
    read(
      unsigned({
        ...both,
        client_id: 'evil',
        redirect_uri: 'https://evil.example',
        response_type: 'token',
        scope: 'x',
        nonce: 'n',
        prompt: 'none',
        claims: {},
        iss: 'x'
      })
    ),
    both
  )
  t.same(read(unsigned({ state: 'x'.repeat(2048) })), { state: 'x'.repeat(2048) })
  t.same(read(unsigned({ state: 'é\r\n😀' })), { state: 'é\r\n😀' })
  for (const [what, request] of [
    ['no state and no mode', unsigned({})],
    ['an empty state', unsigned({ state: '' })],
    ['null', unsigned({ state: null, response_mode: null })],
    ['no strings', unsigned({ state: 1, response_mode: ['form_post'] })],
    ['a mode that is none', unsigned({ response_mode: 'web_message' })],
    ['a state that is too long', unsigned({ state: 'x'.repeat(2049) })],
    ['inherited', unsigned('{"__proto__":{"state":"s"}}')],
    ['signed', `${unsigned(both, { alg: 'RS256' })}c2ln`],
    ['a signature where there should be none', `${unsigned(both)}c2ln`],
    ['signed, without its signature', unsigned(both, { alg: 'RS256' })],
    ['no alg', unsigned(both, {})],
    ['alg in another case', unsigned(both, { alg: 'None' })],
    ['two parts', unsigned(both).slice(0, -1)],
    ['four parts', `${unsigned(both)}.`],
    ['no header', `.${part(both)}.`],
    ['no payload', `${part({ alg: 'none' })}..`],
    ['padding', `${part({ alg: 'none' })}.${part(both)}=.`],
    ['base64', `${part({ alg: 'none' })}.${part(both)}+/.`],
    ['no JSON', unsigned('state=s')],
    ['no UTF-8', `${part({ alg: 'none' })}.${Buffer.from('{"state":"\xff"}', 'latin1').toString('base64url')}.`],
    ['an array', unsigned([both])],
    ['null for all', unsigned('null')],
    ['a string', unsigned('"s"')],
    ['deep', unsigned('['.repeat(5000))],
    ['too long for a parameter', unsigned({ ...both, nonce: 'x'.repeat(7000) })],
    ['junk', 'x']
  ] as const)
    t.same(
      readAuthorizationParams({ request }).state ?? readAuthorizationParams({ request }).response_mode,
      undefined,
      what
    )
  t.throws(() => parseAuthorizationRequest(readAuthorizationParams({ ...BASE, request: unsigned(both) })), {
    ...invalid(/./),
    error: 'request_not_supported'
  })
})

t.test('serializes a request into a URL and reads it back unchanged', async (t) => {
  const params: AuthorizationParams = {
    ...BASE,
    state: 'a b+c%20&d=e#f?g/h\\"\'<é😀\r\n\0',
    claims: '{"userinfo":{"name":null}}',
    scope: 'openid profile'
  }
  t.same(readAuthorizationParams(Object.fromEntries(new URLSearchParams(inAddress(params)))), params)
  t.equal(serializeParams({}), '')
  t.equal(serializeParams({ state: undefined, nonce: 'n' }), 'nonce=n')
  t.match(inAddress(params), /^[\x21-\x7e]+$/)
})

// covers OIDF-oidcc-server
t.test('parses a well-formed request', async (t) => {
  t.strictSame(parseAuthorizationRequest(BASE), {
    params: BASE,
    responseMode: 'query',
    state: undefined,
    scopes: undefined,
    nonce: undefined,
    prompt: [],
    maxAge: undefined,
    loginHint: undefined,
    idTokenHint: undefined,
    uiLocales: [],
    acrValues: [],
    claims: {},
    codeChallenge: undefined,
    dpopJkt: undefined
  })
  const params: AuthorizationParams = {
    ...BASE,
    response_mode: 'form_post',
    scope: 'profile openid',
    state: 's',
    nonce: 'n',
    prompt: 'login consent',
    max_age: '10000',
    display: 'popup',
    login_hint: 'ann@example.com',
    id_token_hint: 'e.y.J',
    ui_locales: 'de-CH  en se',
    claims_locales: 'x'.repeat(100),
    acr_values: '1 2',
    claims: '{"userinfo":{"name":{"essential":true}}}',
    code_challenge: CHALLENGE,
    code_challenge_method: 'S256'
  }
  t.same(parseAuthorizationRequest(params), {
    params,
    responseMode: 'form_post',
    state: 's',
    scopes: ['profile', 'openid'],
    nonce: 'n',
    prompt: ['login', 'consent'],
    maxAge: 10_000,
    loginHint: 'ann@example.com',
    idTokenHint: 'e.y.J',
    uiLocales: ['de-CH', 'en', 'se'],
    acrValues: ['1', '2'],
    claims: { userinfo: { name: { essential: true } } },
    codeChallenge: CHALLENGE
  })
})

type Row = [name: string, params: AuthorizationParams, error: string, message: RegExp]

const REFUSED: Row[] = [
  [
    'R6749-3.1.1 OIDF-oidcc-response-type-missing',
    { response_type: undefined as unknown as string },
    'invalid_request',
    /^response_type is missing/
  ],
  ...['token', 'id_token', 'code token', 'code id_token', 'code code', ' code', 'CODE', 'none', 'foo', '__proto__'].map(
    (type): Row => [
      'ASVS-10.6.1 R9700-2.1.2 response_type',
      { response_type: type },
      'unsupported_response_type',
      /code/
    ]
  ),
  ...['web_message', 'jwt', 'query.jwt', 'Query', 'query fragment', ' query', 'toString'].map((mode): Row => [
    'response_mode',
    { response_mode: mode },
    'invalid_request',
    /^response_mode must be one of query, fragment, form_post/
  ]),
  [
    'OIDF-oidcc-unsigned-request-object-supported-correctly-or-rejected-as-unsupported',
    { request: 'e30.e30.' },
    'request_not_supported',
    /./
  ],
  [
    'request object in place of all parameters',
    { request: 'e30.e30.', response_type: undefined as unknown as string },
    'request_not_supported',
    /./
  ],
  [
    'OIDF-oidcc-request-uri-unsigned-supported-correctly-or-rejected-as-unsupported',
    { request_uri: 'https://app.example/r' },
    'request_uri_not_supported',
    /./
  ],
  ['registration', { registration: '{}' }, 'registration_not_supported', /./],
  ...[
    ' openid',
    'openid ',
    'openid  profile',
    'open"id',
    'open\\id',
    'é',
    'a\nb',
    Array.from({ length: 51 }, (_, index) => `s${index}`).join(' ')
  ].map((scope): Row => ['R6749-3.3 scope', { scope }, 'invalid_scope', /^scope must/]),
  ...['none login', 'login none', 'none consent', 'none select_account login', 'none create'].map((prompt): Row => [
    'prompt none with another',
    { prompt },
    'invalid_request',
    /^prompt must not hold none/
  ]),
  ...[
    'register',
    'Create',
    'Login',
    'login,consent',
    'login register',
    'none register',
    'login\tconsent',
    'constructor'
  ].map((prompt): Row => ['unknown prompt', { prompt }, 'invalid_request', /^prompt must be made of/]),
  ...['-1', '+1', '1.5', '1e9', 'abc', 'NaN', 'Infinity', ' 1', '1 ', '0x10', '9'.repeat(13), '١'].map(
    (maxAge): Row => ['max_age', { max_age: maxAge }, 'invalid_request', /^max_age/]
  ),
  [
    'R7636-4.3 no method means plain',
    { code_challenge: CHALLENGE },
    'invalid_request',
    /^code_challenge_method must be S256/
  ],
  ...['plain', 's256', 'S512', 'S256 ', 'none'].map((method): Row => [
    'R7636-4.4.1 R7636-7.2 method',
    { code_challenge: CHALLENGE, code_challenge_method: method },
    'invalid_request',
    /^code_challenge_method must be S256/
  ]),
  ['method without challenge', { code_challenge_method: 'S256' }, 'invalid_request', /^code_challenge is missing/],
  ...[
    CHALLENGE.slice(1),
    `${CHALLENGE}A`,
    `${CHALLENGE}=`,
    CHALLENGE.replace('-', '+'),
    `${CHALLENGE.slice(1)}~`,
    'x'
  ].map((challenge): Row => [
    'ASVS-10.4.6 challenge',
    { code_challenge: challenge, code_challenge_method: 'S256' },
    'invalid_request',
    /^code_challenge must be 43/
  ]),
  ...['{', '[]', 'null', '"x"', '{"userinfo":1}'].map((claims): Row => [
    'claims',
    { claims },
    'invalid_request',
    /^claims /
  ])
]

// covers R6749-4.1.2.1
t.test('answers each invalid parameter with its error code', async (t) => {
  for (const [name, params, error, message] of REFUSED) {
    t.throws(
      () => parseAuthorizationRequest({ ...BASE, ...params }),
      { code: 'FST_AUTHORITY_OAUTH', error, statusCode: 400, message },
      `${name} ${JSON.stringify(params).slice(0, 60)}`
    )
  }
})

t.test('accepts the limits of max_age, repeated prompts, and unknown display and language values', async (t) => {
  for (const [given, maxAge] of [
    ['0', 0],
    ['1', 1],
    ['007', 7],
    ['9'.repeat(12), 999_999_999_999]
  ] as const)
    t.equal(parseAuthorizationRequest({ ...BASE, max_age: given }).maxAge, maxAge)
  for (const [given, prompt] of [
    ['none', ['none']],
    ['none none', ['none']],
    ['consent  login', ['login', 'consent']],
    ['login login', ['login']],
    [' ', []]
  ] as Array<[string, string[]]>)
    t.same(parseAuthorizationRequest({ ...BASE, prompt: given }).prompt, prompt)
  for (const display of ['page', 'popup', 'touch', 'wap', 'nonsense'])
    t.doesNotThrow(() => parseAuthorizationRequest({ ...BASE, display }), `OIDF-oidcc-display-page ${display}`)
  t.same(
    parseAuthorizationRequest({ ...BASE, ui_locales: 'de <x> "en" en_US fr-CA-x-12345678 a/../b' }).uiLocales,
    ['de', 'fr-CA-x-12345678'],
    'OIDF-oidcc-ui-locales what is no tag is no error'
  )
})

t.test('derives the response mode even of an invalid request, to return the error', async (t) => {
  const rows: Array<[AuthorizationParams, string]> = [
    [BASE, 'query'],
    [{}, 'query'],
    [{ response_mode: 'query' }, 'query'],
    [{ response_mode: 'fragment' }, 'fragment'],
    [{ response_mode: 'form_post' }, 'form_post'],
    [{ response_mode: 'web_message' }, 'query'],
    [{ response_mode: '__proto__' }, 'query'],
    [{ response_type: 'foo' }, 'query'],
    [{ response_type: 'token' }, 'fragment'],
    [{ response_type: 'code id_token' }, 'fragment'],
    [{ response_type: 'id_token', response_mode: 'form_post' }, 'form_post'],
    [{ response_type: 'id_token', response_mode: 'query' }, 'query']
  ]
  for (const [params, mode] of rows) t.equal(responseModeOf(params), mode, JSON.stringify(params))
})

t.test('removes the parameters that a sign-in and a consent have satisfied', async (t) => {
  const rest = { ...BASE, state: 's' }
  const rows: Array<['login' | 'consent', AuthorizationParams, AuthorizationParams]> = [
    ['login', rest, rest],
    ['login', { ...rest, prompt: 'login', max_age: '0' }, rest],
    ['login', { ...rest, prompt: 'select_account' }, rest],
    ['login', { ...rest, prompt: 'login  consent select_account' }, { ...rest, prompt: 'consent' }],
    ['login', { ...rest, prompt: 'none' }, { ...rest, prompt: 'none' }],
    ['login', { ...rest, prompt: 'create consent', screen_hint: 'signup' }, { ...rest, prompt: 'consent' }],
    ['consent', { ...rest, prompt: 'consent', screen_hint: 'signup' }, rest],
    ['consent', rest, rest],
    ['consent', { ...rest, prompt: 'consent', max_age: '60' }, { ...rest, max_age: '60' }],
    ['consent', { ...rest, prompt: 'login consent' }, { ...rest, prompt: 'login' }]
  ]
  for (const [step, params, left] of rows) {
    const given = { ...params }
    t.strictSame(satisfied(params, step), left, `${step} ${JSON.stringify(params)}`)
    t.strictSame(params, given, 'what was given is left as it was')
  }
})
