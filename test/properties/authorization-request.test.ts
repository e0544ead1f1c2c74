import { deepEqual, equal, ok } from 'node:assert/strict'
import * as fc from 'fast-check'
import { OAuthError } from '../../lib/errors.ts'
import { parseAuthorizationRequest } from '../../lib/protocol/authorization-request.ts'
import {
  type AuthorizationParams,
  carried,
  inAddress,
  fitsAddress,
  readAuthorizationParams,
  responseModeOf,
  satisfied
} from '../../lib/protocol/authorization-params.ts'
import { property, thrownBy, wordsOf } from './support/property.ts'

const CHALLENGE = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWjHKKGOKkAZw'

/** One of these; sometimes an arbitrary or overlong text, or no text at all. */
function sent(...good: string[]): fc.Arbitrary<unknown> {
  return fc.oneof(
    { arbitrary: fc.constantFrom(...good), weight: 60 },
    { arbitrary: wordsOf([...good, ' ', '+', '%20', '&', '=', '#', '\0', '{', '"']), weight: 2 },
    {
      arbitrary: fc.constantFrom(
        undefined,
        '',
        ['code', 'code'],
        {},
        1,
        null,
        'x'.repeat(600),
        'é'.repeat(400),
        '\u{1f600}'.repeat(5000)
      ),
      weight: 1
    }
  )
}

/** The same, including well-formed values that are refused. */
const sentOr = (good: string[], bad: string[]): fc.Arbitrary<unknown> =>
  fc.oneof({ arbitrary: sent(...good), weight: 20 }, { arbitrary: fc.constantFrom(...bad), weight: 1 })

const raw = fc
  .record(
    {
      client_id: sent('web', 'spa'),
      redirect_uri: sent('https://app.example/cb'),
      response_type: sentOr(['code'], ['token', 'code id_token']),
      response_mode: sentOr(['query', 'fragment', 'form_post'], ['web_message']),
      scope: sentOr(['openid', 'openid email offline_access', 'a b a'], ['a  b']),
      state: sent('xyz', '\u{1f600} ?&=#+%'),
      nonce: sent('n-0S6_WzA2Mj'),
      prompt: sentOr(
        [
          'none',
          'login',
          'consent',
          'select_account',
          'login consent',
          'login select_account consent',
          'create',
          'create consent'
        ],
        ['none login', 'none create', 'register']
      ),
      max_age: sentOr(['0', '3600'], ['-1', '1e3', '9999999999999']),
      ui_locales: sent('de fr-CA', 'en', '* -'),
      acr_values: sent('password 1'),
      claims: sentOr(['{"id_token":{"email":null}}', '{}'], ['[]', '{']),
      login_hint: sent('ann'),
      id_token_hint: sent('a.b.c'),
      request: sent('a.b.c', `e30.${Buffer.from('{"state":"s","response_mode":"fragment"}').toString('base64url')}.`),
      request_uri: sent('https://app.example/request'),
      registration: sent('{}'),
      unknown: sent('unknown')
    },
    { requiredKeys: ['client_id', 'redirect_uri', 'response_type'], noNullPrototype: true }
  )
  .chain((params) =>
    fc
      .constantFrom(
        {},
        { code_challenge_method: 'S256', code_challenge: CHALLENGE },
        { code_challenge_method: 'S256', code_challenge: CHALLENGE },
        { code_challenge_method: 'plain', code_challenge: CHALLENGE },
        { code_challenge: CHALLENGE },
        { code_challenge_method: 'S256' }
      )
      .map((more): Record<string, unknown> => ({ ...params, ...more }))
  )
  // Each of these ends most requests, so most requests have none.
  .chain((params) =>
    fc
      .integer({ min: 0, max: 5 })
      .map((number) =>
        number === 0 ? params : { ...params, request: undefined, request_uri: undefined, registration: undefined }
      )
  )

const formOf = (params: AuthorizationParams): Record<string, string> =>
  Object.fromEntries(new URLSearchParams(inAddress(params)))
/** Half of a surrogate pair is lost in a URL. */
const wellFormed = ({ pushed: _none, ...params }: AuthorizationParams): Record<string, string> =>
  Object.fromEntries(Object.entries(params).map(([name, value]) => [name, Buffer.from(value).toString()]))

property(
  'P3 keeps an authorization request unchanged in a URL, and drops its satisfied parameters',
  [raw],
  {
    examples: [
      [
        {
          client_id: 'web',
          redirect_uri: 'https://app.example/cb',
          response_type: 'code',
          prompt: 'login consent',
          max_age: '0'
        }
      ],
      [{ client_id: 'web', redirect_uri: 'https://app.example/cb', response_type: 'code', prompt: 'none' }],
      [{ client_id: 'web', redirect_uri: 'https://app.example/cb', response_type: 'code', state: ' +%20&=' }]
    ],
    cases: ['not read', 'refused', 'good']
  },
  (raw) => {
    let params: AuthorizationParams
    try {
      params = readAuthorizationParams(raw)
    } catch (error) {
      ok(error instanceof OAuthError)
      equal(error.error, 'invalid_request')
      return 'not read'
    }
    for (const [name, value] of Object.entries(params))
      ok(typeof value === 'string' && value !== '' && name !== 'unknown')
    deepEqual(readAuthorizationParams(formOf(params)), wellFormed(params))
    equal(thrownBy(() => carried(params)) === null, fitsAddress(params))
    ok(['query', 'fragment', 'form_post'].includes(responseModeOf(params)))

    const refusal = thrownBy(() => parseAuthorizationRequest(params))
    if (refusal !== null) {
      ok(refusal instanceof OAuthError)
      return 'refused'
    }
    const request = parseAuthorizationRequest(params)
    ok(request.codeChallenge === undefined || request.codeChallenge === CHALLENGE)
    ok(!request.prompt.includes('none') || request.prompt.length === 1)
    ok(request.maxAge === undefined || Number.isSafeInteger(request.maxAge))
    equal(new Set(request.scopes).size, (request.scopes ?? []).length)

    const signedIn = parseAuthorizationRequest(satisfied(params, 'login'))
    deepEqual(
      signedIn.prompt,
      request.prompt.filter((one) => !['login', 'select_account', 'create'].includes(one))
    )
    equal(signedIn.maxAge, undefined)
    const consented = parseAuthorizationRequest(satisfied(params, 'consent'))
    deepEqual(
      consented.prompt,
      request.prompt.filter((one) => one !== 'consent')
    )
    equal(consented.maxAge, request.maxAge)
    for (const { params: _params, prompt: _prompt, maxAge: _maxAge, ...rest } of [signedIn, consented])
      deepEqual({ ...request, ...rest }, request)
    return 'good'
  }
)
