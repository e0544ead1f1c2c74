import { deepEqual, equal, match, ok } from 'node:assert/strict'
import * as fc from 'fast-check'
import { originsOf } from '../../lib/clients/rights.ts'
import { OAuthError } from '../../lib/errors.ts'
import { authorizationResponse } from '../../lib/protocol/authorization-request.ts'
import {
  checkClientRedirectUri,
  checkRegistrableRedirectUri,
  formActionOf,
  matchesRedirectUri
} from '../../lib/protocol/redirect-uri.ts'
import { almost, character, property, thrownBy, wordsOf } from './support/property.ts'

const WORDS = [
  'https://',
  'http://',
  'com.example.app:/',
  ':',
  '/',
  '//',
  '?',
  '#',
  '&',
  '=',
  '@',
  '[',
  ']',
  '.',
  '..',
  '%',
  '%2f',
  '\\',
  ' ',
  '\t',
  ';',
  '*',
  'app.example',
  'localhost',
  '127.0.0.1',
  '[::1]',
  ':8080',
  'code=x',
  'evil',
  'é'
]
const LOOPBACKS = ['localhost', '127.0.0.1', '[::1]']

const host = fc.oneof(
  {
    arbitrary: fc.constantFrom(
      'app.example',
      'app.example',
      ...LOOPBACKS,
      '127.8.9.10',
      '192.0.2.1',
      '[2001:db8::1]',
      'evillocalhost',
      'xn--tst-qla.example'
    ),
    weight: 4
  },
  wordsOf(WORDS, 3)
)
const port = fc.oneof(
  fc.constant(''),
  fc.constant(''),
  fc.integer({ min: -1, max: 70_000 }).map((number) => `:${number}`)
)
const path = fc.oneof(
  { arbitrary: fc.constantFrom('', '/', '/cb', '/a/../cb', '/a;b', '//cb'), weight: 3 },
  wordsOf(WORDS, 3)
)
const query = fc.oneof(
  {
    arbitrary: fc.constantFrom('', '', '?', '?a=b', '?a=b&', '?next=/help?', '?a&&b=%26', '?=', '?code=own'),
    weight: 3
  },
  wordsOf(WORDS, 3)
)
const whole = fc
  .tuple(
    fc.constantFrom('https://', 'https://', 'http://', 'com.example.app:/', 'com.example.app://', 'Com.Example:/'),
    host,
    port,
    path,
    query
  )
  .map((parts) => parts.join(''))
const uri = fc.oneof(
  { arbitrary: whole, weight: 4 },
  { arbitrary: almost(whole, WORDS), weight: 3 },
  { arbitrary: wordsOf(WORDS), weight: 1 }
)

const parameters = fc.record(
  {
    code: fc.string({ minLength: 1 }),
    state: fc.string({ unit: character }),
    iss: fc.constant('https://auth.example.com')
  },
  { requiredKeys: ['code'], noNullPrototype: true }
)

property(
  'P1 sends a response only to a registrable redirect URI, with its parameters unchanged',
  [uri, parameters],
  {
    examples: [
      ['com.example.app://a:99999/cb', { code: 'c' }],
      ['com.example.app://[x/cb', { code: 'c' }],
      ['https://app.example/cb?next=/help?', { code: 'c', state: 's' }],
      ['https://app.example/cb?', { code: 'c', state: '?&=#+ %' }],
      ['http://evillocalhost/cb', { code: 'c' }],
      ['https://app.example/cb;script-src', { code: 'c' }]
    ],
    cases: ['web', 'app', 'refused']
  },
  (uri, params) => {
    if (checkRegistrableRedirectUri(uri) !== null) {
      ok(!matchesRedirectUri([uri], uri, 'native'))
      equal(formActionOf(uri), "'self'")
      for (const mode of ['query', 'fragment', 'form_post'] as const)
        ok(thrownBy(() => authorizationResponse(uri, mode, params)) instanceof OAuthError)
      return 'refused'
    }
    const url = new URL(uri)
    deepEqual([url.username, url.password, url.hash, uri.includes('#')], ['', '', '', false])
    const web = url.protocol === 'https:' || url.protocol === 'http:'
    if (url.protocol === 'http:')
      ok(LOOPBACKS.includes(url.hostname) || /^127\.\d+\.\d+\.\d+$/.test(url.hostname), url.hostname)
    equal(checkClientRedirectUri(uri, 'web') === null, web)
    equal(matchesRedirectUri([uri], uri, 'web'), web)
    deepEqual(originsOf({ redirectUris: [uri] }), web ? [url.origin] : [])

    const sent = Object.entries(params)
    const answers = Object.fromEntries(
      (['query', 'fragment', 'form_post'] as const).map((mode) => [
        mode,
        authorizationResponse(uri, mode, { ...params, error: undefined })
      ])
    )
    for (const answer of [answers['query'], answers['fragment']]) {
      ok(answer?.kind === 'redirect')
      ok(answer.location.startsWith(uri))
      match(answer.location, /^[\x21-\x7e]+$/)
      const to = new URL(answer.location)
      deepEqual([to.protocol, to.host, to.pathname], [url.protocol, url.host, url.pathname])
      if (answer === answers['query']) deepEqual([...to.searchParams, to.hash], [...url.searchParams, ...sent, ''])
      else deepEqual([to.search, ...new URLSearchParams(to.hash.slice(1))], [url.search, ...sent])
    }
    deepEqual(answers['form_post'], { kind: 'form', action: uri, params })

    const source = formActionOf(uri)
    match(source, /^[a-z][a-z0-9+.-]*:(?:\/\/[a-z0-9._-]+(?::\d+)?)?$/)
    ok(web && !url.hostname.startsWith('[') ? source === url.origin : source === url.protocol)
    return web ? 'web' : 'app'
  }
)

/** Removes the port of an http URI on a loopback host by cutting the text, not by an expression; else `null`. */
function withoutPort(uri: string): string | null {
  const host = LOOPBACKS.find((name) => uri.startsWith(`http://${name}`))
  if (host === undefined) return null
  const rest = uri.slice(`http://${host}`.length)
  const end = [...rest].findIndex((character, at) => at > 0 && !'0123456789'.includes(character))
  const after = rest.startsWith(':') ? (end === -1 ? '' : rest.slice(end)) : rest
  return after === '' || '/?'.includes(after.charAt(0)) ? `http://${host} ${after}` : null
}

type Pair = [registered: string, requested: string]
const anotherPort: fc.Arbitrary<Pair> = fc
  .tuple(fc.constantFrom(...LOOPBACKS), fc.option(fc.constantFrom(...LOOPBACKS, '127.0.0.2')), port, port, path, query)
  .map(([host, otherHost, one, other, path, query]) => [
    `http://${host}${one}${path}${query}`,
    `http://${otherHost ?? host}${other}${path}${query}`
  ])
const nearlyTheSame: fc.Arbitrary<Pair> = uri.chain((uri) =>
  fc.tuple(fc.constant(uri), almost(fc.constant(uri), WORDS))
)

property(
  'P2 matches a different redirect URI only if it differs in the port of a loopback host',
  [
    fc.oneof(anotherPort, nearlyTheSame).filter(([registered]) => checkRegistrableRedirectUri(registered) === null),
    fc.constantFrom('web', 'native')
  ],
  {
    examples: [
      [['http://localhost/cb', 'http://localhost:1/cb'], 'native'],
      [['http://localhost/cb', 'http://localhost:1/cb'], 'web'],
      [['http://localhost/cb', 'http://localhost:1@evil.example/cb'], 'native'],
      [['http://localhost/cb', 'http://evillocalhost:1/cb'], 'native'],
      [['http://127.0.0.1/cb', 'http://127.0.0.1.evil.example/cb'], 'native']
    ],
    cases: ['the same', 'another port', 'no match']
  },
  ([registered, requested], applicationType) => {
    const portless = withoutPort(requested)
    const differsInPort = applicationType === 'native' && portless !== null && portless === withoutPort(registered)
    const expected =
      checkClientRedirectUri(requested, applicationType) === null && (requested === registered || differsInPort)
    for (const among of [[registered], ['https://other.example/', registered], [registered, 'com.example.app:/x']])
      equal(matchesRedirectUri(among, requested, applicationType), expected)
    if (!expected) return 'no match'
    return requested === registered ? 'the same' : 'another port'
  }
)
