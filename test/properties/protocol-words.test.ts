import { deepEqual, equal, match, notEqual, ok } from 'node:assert/strict'
import * as fc from 'fast-check'
import { OAuthError } from '../../lib/errors.ts'
import { cookieValues } from '../../lib/http/edge/cookie-jar.ts'
import { extendDevice, verifyDevice } from '../../lib/limits/known-devices.ts'
import { parseClaimsRequest } from '../../lib/protocol/user-claims.ts'
import {
  digestOfOneTimeToken,
  formatCredential,
  isBoundTo,
  newCredentialId,
  oneTimeToken,
  openSuccessor,
  parseCredential,
  sealSuccessor
} from '../../lib/protocol/credential.ts'
import { grantScope, parseScope, scopeMember } from '../../lib/protocol/scope.ts'
import { almost, property, thrownBy, wordsOf } from './support/property.ts'

const SCOPE_WORDS = [
  'openid',
  'email',
  'a',
  'b',
  'A',
  'https://api.example/x',
  ' ',
  ' ',
  '  ',
  '"',
  '\\',
  '\t',
  'é',
  '!',
  '~',
  '__proto__'
]
const scope = fc.oneof(
  fc.array(fc.constantFrom('openid', 'email', 'a', 'b', 'c'), { maxLength: 6 }).map((list) => list.join(' ')),
  wordsOf(SCOPE_WORDS),
  fc.integer({ min: 48, max: 53 }).map((count) => Array.from({ length: count }, (_, index) => `s${index}`).join(' '))
)

property(
  'P12 reads a scope as a set of tokens, and grants no more than allowed',
  [fc.option(scope, { nil: undefined }), fc.subarray(['openid', 'email', 'a', 'b', 'c'])],
  {
    examples: [
      ['a a', ['a']],
      ['', []],
      ['a ', ['a']],
      ['"', ['"']]
    ],
    cases: ['granted', 'refused', 'none asked for']
  },
  (asked, allowed) => {
    const refusal = thrownBy(() => parseScope(asked))
    const words = [...new Set(asked?.split(' '))]
    const wellFormed =
      asked === undefined ||
      (asked.length <= 1024 &&
        words.length <= 50 &&
        words.every(
          (word) =>
            word !== '' &&
            [...word].every(
              (character) => character >= '!' && character <= '~' && character !== '"' && character !== '\\'
            )
        ))
    equal(refusal === null, wellFormed)
    if (refusal !== null) {
      ok(refusal instanceof OAuthError)
      equal(refusal.error, 'invalid_scope')
      return 'refused'
    }
    const tokens = parseScope(asked)
    deepEqual(tokens, asked === undefined ? undefined : words)
    if (tokens?.some((one) => !allowed.includes(one)) === true) {
      ok(thrownBy(() => grantScope(tokens, allowed)) instanceof OAuthError)
      return 'refused'
    }
    const granted = grantScope(tokens, allowed)
    deepEqual(granted, tokens ?? allowed)
    deepEqual(parseScope(scopeMember(granted).scope) ?? [], granted)
    return tokens === undefined ? 'none asked for' : 'granted'
  }
)

const claim = fc.oneof(
  { arbitrary: fc.constant(null), weight: 3 },
  fc.record(
    { essential: fc.boolean(), value: fc.jsonValue({ maxDepth: 1 }), values: fc.array(fc.string(), { maxLength: 3 }) },
    { requiredKeys: [], noNullPrototype: true }
  ),
  fc.jsonValue({ maxDepth: 1 })
)
const claims = fc.dictionary(
  fc.oneof(fc.constantFrom('email', 'name#ja-Hani-JP', '__proto__', 'constructor', ''), fc.string()),
  claim,
  { maxKeys: 5, noNullPrototype: true }
)
const request = fc
  .record(
    { userinfo: claims, id_token: claims, other: fc.jsonValue({ maxDepth: 1 }) },
    { requiredKeys: [], noNullPrototype: true }
  )
  .map((value) => JSON.stringify(value))
const JSON_WORDS = ['{', '}', '[', ']', '"', ':', ',', 'null', '1', 'true', '"__proto__":', '"essential":', '\\u0000']

property(
  'P12 reads the requested claims into objects without a prototype',
  [fc.oneof({ arbitrary: request, weight: 3 }, almost(request, JSON_WORDS), wordsOf(JSON_WORDS))],
  {
    examples: [
      ['{"id_token":{"__proto__":null}}'],
      ['{"__proto__":{"userinfo":{}}}'],
      [`{"userinfo":{"a":{"value":${'['.repeat(5)}${']'.repeat(5)}}}}`],
      [`{"userinfo":{"a":{"value":"${'x'.repeat(4096)}"}}}`],
      ['[]'],
      ['null']
    ],
    cases: ['read', 'refused']
  },
  (json) => {
    const refusal = thrownBy(() => parseClaimsRequest(json))
    if (refusal !== null) {
      ok(refusal instanceof OAuthError)
      equal(refusal.error, 'invalid_request')
      return 'refused'
    }
    const sent = JSON.parse(json) as Record<string, Record<string, unknown>>
    const read = parseClaimsRequest(json)
    equal(Object.getPrototypeOf(read), null)
    deepEqual(
      Object.keys(read).toSorted(),
      Object.keys(sent)
        .filter((name) => name === 'userinfo' || name === 'id_token')
        .toSorted()
    )
    for (const [member, asked] of Object.entries(read)) {
      equal(Object.getPrototypeOf(asked), null)
      deepEqual(
        Object.keys(asked).toSorted(),
        Object.keys(sent[member] ?? {})
          .filter((name) => /^[!-~]{1,128}$/.test(name) && name !== '__proto__')
          .toSorted()
      )
      for (const [name, how] of Object.entries(asked)) {
        ok(how === null || Object.getPrototypeOf(how) === null)
        for (const [what, value] of Object.entries(how ?? {}))
          deepEqual(value, (sent[member]?.[name] as Record<string, unknown> | undefined)?.[what])
      }
    }
    return 'read'
  }
)

const base64url = (length: number): fc.Arbitrary<string> =>
  fc.uint8Array({ minLength: length, maxLength: length }).map((bytes) => Buffer.from(bytes).toString('base64url'))
const id = fc.tuple(fc.string(), base64url(16)).map(([user, unguessable]) => newCredentialId(user, unguessable))
const TOKEN_WORDS = ['.', 'A', '_', '-', '=', '+', '/', 'z', ' ', '\n']

property(
  'P12 accepts a credential in one spelling only',
  [id, base64url(32), fc.oneof(fc.nat(80), fc.constantFrom(24, 68)), fc.constantFrom(...TOKEN_WORDS, 'B', 'h')],
  {
    cases: ['another token', 'no token']
  },
  (id, secret, at, put) => {
    const token = formatCredential(id, secret)
    const read = parseCredential(token)
    deepEqual([read?.id, read?.secret], [id, secret])
    ok(read?.sid.startsWith(id.slice(0, 3)) === true && !read.sid.includes(id.slice(3)))
    for (const longer of [
      `${token}${put}`,
      `${put}${token}`,
      token.slice(0, -1),
      `${token.slice(0, at)}${put}${token.slice(at)}`
    ])
      equal(parseCredential(longer), null, longer)
    const changed = `${token.slice(0, at)}${put}${token.slice(at + 1)}`
    const other = parseCredential(changed)
    if (other === null || changed === token) return 'no token'
    equal(formatCredential(other.id, other.secret), changed)
    ok(
      Buffer.from(other.id.slice(3), 'base64url').toString('base64url') === other.id.slice(3) &&
        Buffer.from(other.secret, 'base64url').toString('base64url') === other.secret
    )
    ok(other.sid !== read.sid || other.digest !== read.digest)
    return 'another token'
  }
)

property(
  'P12 opens a sealed successor token only with the refresh token that it replaces',
  [base64url(32), base64url(32), base64url(32)],
  { share: 0.2 },
  (presented, next, other) => {
    const sealed = sealSuccessor(presented, next)
    equal(openSuccessor(presented, sealed), next)
    if (other !== presented) notEqual(openSuccessor(other, sealed), next)
    notEqual(sealed, next)
  }
)

property(
  'P12 binds an emailed token to each of its values by position',
  [fc.string(), base64url(32), fc.array(fc.string({ minLength: 1 }), { maxLength: 2 }), fc.string(), fc.nat(77)],
  { share: 0.3 },
  (user, secret, boundTo, other, at) => {
    const { token, digest } = oneTimeToken(user, secret, boundTo)
    equal(digestOfOneTimeToken(token), digest)
    for (const [index, value] of boundTo.entries()) {
      equal(isBoundTo(token, index, value), true)
      equal(isBoundTo(token, index, other), other === value)
    }
    const changed = `${token.slice(0, at)}${token[at] === 'A' ? 'B' : 'A'}${token.slice(at + 1)}`
    notEqual(digestOfOneTimeToken(changed), digest)
    for (const none of [`${token}A`, token.slice(1), `${token}\n`]) equal(digestOfOneTimeToken(none), null)
  }
)

const ACCOUNTS = 'abcdefghijklmn'.split('')
const deviceAccount = fc.record({ account: fc.constantFrom<string>(...ACCOUNTS), password: fc.constantFrom('1', '2') })
property(
  'P12 recognizes the last twelve accounts of a device token, and a password that has changed since',
  [
    fc.array(deviceAccount, { minLength: 1, maxLength: 24 }),
    fc.uint8Array({ minLength: 32, maxLength: 32 }),
    base64url(16),
    base64url(16),
    fc.nat(120)
  ],
  { share: 0.3 },
  (signIns, key, deviceId, otherId, at) => {
    let token: string | undefined
    for (const one of signIns) token = extendDevice(key, token, one, token === undefined ? deviceId : otherId)
    const newest = signIns.toReversed()
    const known = [...new Set(newest.map(({ account }) => account))].slice(0, 12)
    for (const account of ACCOUNTS) {
      const device = verifyDevice(key, token, account)
      equal(device !== null, known.includes(account), account)
      if (device === null) continue
      equal(device.deviceId, deviceId)
      const password = newest.find((one) => one.account === account)?.password
      for (const asked of ['1', '2', '3']) equal(device.isCurrent(asked), asked === password)
      equal(
        verifyDevice(
          key.map((byte) => byte ^ 1),
          token,
          account
        ),
        null,
        'another key'
      )
    }
    // A token with one change is invalid, or its unauthenticated part was changed.
    const text = token ?? ''
    const changed = `${text.slice(0, at)}${text[at] === 'A' ? 'B' : 'A'}${text.slice(at + 1)}`
    const newestAccount = newest[0]?.account ?? ''
    if (at < 22 && changed !== text) equal(verifyDevice(key, changed, newestAccount), null)
  }
)

const COOKIE_WORDS = ['a', 'b', '=', '=', ';', ';', '; ', ' ', '"', 'a=', '__Host-a=', 'ab=', '\t', ',']
property(
  'P12 returns every cookie value that was sent under the given name',
  [wordsOf(COOKIE_WORDS)],
  { cases: ['some', 'none'] },
  (cookie) => {
    const values = cookieValues({ headers: { cookie } }, 'a')
    const expected: string[] = []
    for (const pair of cookie.split(';')) {
      const [name = '', ...rest] = pair.trim().split('=')
      if (name === 'a' && rest.length > 0) expected.push(rest.join('='))
    }
    deepEqual(values, expected)
    for (const value of values) match(value, /^[^;]*$/)
    return values.length > 0 ? 'some' : 'none'
  }
)
