import { tokenRequestReader } from '../../lib/protocol/request-params.ts'
import { deepEqual, equal, ok } from 'node:assert/strict'
import * as fc from 'fast-check'
import Fastify from 'fastify'
import t from '../support/tap.ts'
import { OAuthError } from '../../lib/errors.ts'
import { parseForm, registerBodyParsers } from '../../lib/http/edge/body.ts'
import { DECLARED_GRANTS } from '../../lib/composition/compose.ts'
import { parameterLimits } from '../../lib/oauth/grants/registry.ts'
import { readForm } from './support/form-reader.ts'
import { readJson } from './support/json-reader.ts'
import { almost, property, thrownBy, wordsOf } from './support/property.ts'

const parse = tokenRequestReader(parameterLimits(DECLARED_GRANTS))

const FORM_WORDS = [
  '&',
  '&',
  '=',
  '=',
  '+',
  '%',
  '%3D',
  '%26',
  '%61',
  '%C3%A9',
  '%FF',
  ';',
  '#',
  'a',
  'b',
  'c',
  'grant_type',
  'code',
  '__proto__',
  'constructor',
  'toString',
  'é'
]
const form = fc
  .array(
    fc.tuple(
      fc.oneof(
        {
          arbitrary: fc.constantFrom('grant_type', 'code', 'scope', 'state', '__proto__', 'constructor', 'c%6fde', ''),
          weight: 3
        },
        wordsOf(FORM_WORDS, 3)
      ),
      wordsOf(FORM_WORDS, 3)
    ),
    { maxLength: 4 }
  )
  .map((pairs) => pairs.map((pair) => pair.join('=')).join('&'))

property(
  'P4 returns the sent values of a form by name, without inherited properties',
  [
    fc.oneof(
      { arbitrary: form, weight: 3 },
      wordsOf(FORM_WORDS, 20),
      fc
        .integer({ min: 60, max: 70 })
        .map((count) => Array.from({ length: count }, (_, index) => `p${index}=`).join('&'))
    )
  ],
  {
    examples: [
      ['a=1&a=2'],
      ['a=1&%61=2'],
      ['__proto__=1&__proto__=2'],
      ['__proto__=x'],
      ['a=1&&b=2'],
      ['=&='],
      ['toString=1'],
      ['?a=1']
    ],
    cases: ['read', 'refused']
  },
  (text) => {
    // Encoded as by browsers, because Node.js and the standard decode invalid UTF-8 differently next to other
    // characters.
    const body = text.replaceAll(/[\u0080-\u{10ffff}]/gu, encodeURIComponent)
    const pairs = readForm(body)
    const names = pairs.map(([name]) => name)
    if (pairs.length > 64) {
      const refusal = thrownBy(() => parseForm(body))
      ok(refusal instanceof OAuthError)
      equal(refusal.error, 'invalid_request')
      return 'refused'
    }
    const params = parseForm(body)
    equal(Object.getPrototypeOf(params), null)
    deepEqual(
      Object.entries(params).map(([name, values]) => [name, [values].flat()]),
      [...new Set(names)]
        .toSorted((one, other) => indexOrder(one) - indexOrder(other))
        .map((name) => [name, pairs.filter(([other]) => other === name).map(([, value]) => value)])
    )
    return 'read'
  }
)

/** Keys that are whole numbers come first in an object, in their order. */
function indexOrder(key: string): number {
  return /^(?:0|[1-9]\d{0,8})$/.test(key) ? Number(key) - 1e9 : 0
}

const KNOWN = [
  'grant_type',
  'username',
  'password',
  'scope',
  'client_id',
  'client_secret',
  'code',
  'redirect_uri',
  'code_verifier',
  'refresh_token'
]
const fields = fc.dictionary(
  fc.oneof({ arbitrary: fc.constantFrom(...KNOWN, 'grant_type'), weight: 4 }, fc.string()),
  fc.oneof(
    { arbitrary: fc.string(), weight: 4 },
    { arbitrary: fc.anything(), weight: 1 },
    fc.integer({ min: 200, max: 20_000 }).map((length) => 'x'.repeat(length))
  )
)

property(
  'P4 reads only known parameters of a token request, unchanged and without empty ones',
  [fc.oneof({ arbitrary: fields, weight: 6 }, fc.anything())],
  {
    examples: [
      [{ grant_type: 'password', unknown: 1 }],
      [Object.create({ grant_type: 'password' })],
      [[]],
      [null],
      ['grant_type=x'],
      [{ grant_type: ['a', 'b'] }]
    ],
    cases: ['read', 'refused']
  },
  (body) => {
    let params: Record<string, string | undefined>
    try {
      params = parse(body)
    } catch (error) {
      ok(error instanceof OAuthError)
      equal(error.error, 'invalid_request')
      return 'refused'
    }
    const given = Object.entries(body as object).filter(
      ([name, value]) => KNOWN.includes(name) && value !== '' && value !== undefined
    )
    deepEqual(Object.entries(params).toSorted(byName), given.toSorted(byName))
    // `parseScope` limits `scope`.
    for (const [name, value] of given)
      ok(typeof value === 'string' && (name === 'scope' || value.length <= 16_384), name)
    ok('grant_type' in params)
    return 'read'
  }
)

const byName = ([one]: [string, unknown], [other]: [string, unknown]): number => (one < other ? -1 : 1)

const app = Fastify()
await app.register(async (child) => {
  registerBodyParsers(child, { forms: false })
  child.post('/', async (request) => ({ body: request.body }))
})
t.teardown(async () => {
  await app.close()
})

const JSON_WORDS = [
  '{',
  '}',
  '[',
  ']',
  ':',
  ',',
  '"',
  '\\',
  '\\u0061',
  '\\"',
  ' ',
  '\n',
  '\t',
  '"a"',
  '"b"',
  '"\\u0061"',
  '"__proto__"',
  '"constructor"',
  '{"prototype":1}',
  '1',
  '-0',
  '1e5',
  'true',
  'null',
  '""',
  '{}',
  '\ufeff'
]
const spelled = fc.constantFrom(
  '"a"',
  '"\\u0061"',
  '"b"',
  '"c"',
  '"d"',
  '"e\\""',
  '"\\\\"',
  '"\\ud83d\\ude00"',
  '"\u{1f600}"',
  '"__proto__"',
  '"constructor"'
)
const space = fc.constantFrom('', '', ' ', '\n\t\r')
const value = fc.oneof(
  fc.json({ maxDepth: 2 }),
  fc.constantFrom('{"a":1,"a":2}', '"{\\"a\\":1}"', '[1,2]', '"a:"'),
  fc.integer({ min: 28, max: 36 }).map((depth) => '['.repeat(depth) + ']'.repeat(depth))
)
const object = fc
  .array(fc.tuple(space, spelled, space, value, space), { maxLength: 4 })
  .map(
    (pairs) =>
      `{${pairs.map(([before, key, between, value, after]) => `${before}${key}${between}:${value}${after}`).join(',')}}`
  )
const json = fc.oneof(
  { arbitrary: object, weight: 4 },
  { arbitrary: almost(object, JSON_WORDS), weight: 3 },
  wordsOf(JSON_WORDS),
  fc.json()
)

property(
  'P5 accepts only JSON without deep nesting, duplicate top-level keys and keys that set a prototype',
  [json],
  {
    examples: [
      ['{"a":1,"a":2}'],
      ['{"a":1,"\\u0061":2}'],
      ['{"x":{"a":1,"a":2}}'],
      ['{"a":"\\",\\"a\\":1"}'],
      ['{"__proto__":1}'],
      ['{"x":{"constructor":{"prototype":1}}}'],
      ['{"a" \n: 1, "b":2}'],
      [`${'['.repeat(33)}${']'.repeat(33)}`],
      ['\ufeff{}'],
      ['']
    ],
    cases: ['taken', 'refused']
  },
  async (text) => {
    const read = readJson(text.startsWith('\ufeff') ? text.slice(1) : text)
    const reply = await app.inject({
      method: 'POST',
      url: '/',
      headers: { 'content-type': 'application/json' },
      payload: text
    })
    const good =
      read !== null &&
      read.depth <= 32 &&
      !read.pollutes &&
      new Set(read.outermostKeys).size === read.outermostKeys.length
    equal(reply.statusCode, good ? 200 : 400, reply.body)
    if (!good) return 'refused'
    deepEqual(reply.json(), { body: JSON.parse(JSON.stringify(read.value)) as unknown })
    return 'taken'
  }
)
