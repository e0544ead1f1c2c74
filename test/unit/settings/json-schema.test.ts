import { Check } from '@sinclair/typebox/value'
import { objectFromJsonSchema } from '../../../lib/settings/sections/registration.ts'
import t from '../../support/tap.ts'

/** A schema of one field, with values that fit it and values that don't. */
const FIELDS: Array<[title: string, schema: object, good: unknown[], bad: unknown[]]> = [
  ['a text', { type: 'string' }, ['', 'a'], [1, null, true, []]],
  [
    'a text with bounds',
    { type: 'string', minLength: 2, maxLength: 3, pattern: '^a' },
    ['ab', 'abc'],
    ['a', 'bc', 'abcd']
  ],
  ['a number', { type: 'number', minimum: 1, exclusiveMaximum: 3 }, [1, 2.5], [0, 3, '1']],
  ['a whole number', { type: 'integer', multipleOf: 2 }, [2, -4], [1, 2.5]],
  ['a box', { type: 'boolean' }, [true, false], ['true', 1, null]],
  [
    'a list',
    { type: 'array', items: { type: 'string' }, maxItems: 2, uniqueItems: true },
    [[], ['a', 'b']],
    [['a', 'a'], [1], 'a']
  ],
  ['a choice', { enum: ['free', 'paid', 7, null] }, ['free', 7, null], ['other', '7']],
  ['a choice with its type', { type: 'string', enum: ['free', 'paid'] }, ['free'], ['other', 1]],
  [
    'a choice with titles',
    {
      oneOf: [
        { const: 'a', title: 'A' },
        { const: 'b', title: 'B' }
      ]
    },
    ['a', 'b'],
    ['c']
  ],
  ['one of two types', { type: ['string', 'null'], minLength: 1 }, ['a', null], ['', 1]],
  ['any of', { anyOf: [{ type: 'string' }, { type: 'number' }] }, ['a', 1], [true]],
  ['what is always so', { const: true }, [true], [false]],
  [
    'an object',
    {
      type: 'object',
      properties: { a: { type: 'string' }, b: { type: 'string' } },
      required: ['a'],
      additionalProperties: false
    },
    [{ a: '' }, { a: '', b: '' }],
    [{}, { b: '' }, { a: '', c: '' }, null]
  ]
]

t.test('validates a field as its JSON Schema says', async (t) => {
  for (const [title, schema, good, bad] of FIELDS) {
    const fields = objectFromJsonSchema(
      {
        $schema: 'https://json-schema.org/draft/2020-12/schema',
        type: 'object',
        properties: { it: { title: 'It', ...schema }, other: { type: 'string' } },
        required: ['it']
      },
      'fields'
    )
    t.strictSame(
      [...good, ...bad].map((it) => Check(fields, { it })),
      [...good.map(() => true), ...bad.map(() => false)],
      title
    )
    t.equal(Check(fields, {}), false, 'it is required')
    t.equal(fields.properties['it']?.title ?? 'It', 'It')
  }
})

t.test('refuses an unsupported or malformed schema, and names its path', async (t) => {
  const cases: Array<[schema: unknown, message: RegExp]> = [
    [null, /^Invalid option "fields": got null; it takes an object schema/],
    [{ type: 'array' }, /^Invalid option "fields": .* an object schema/],
    [{ properties: {} }, /^Invalid option "fields": .* an object schema/],
    [{ type: 'object', properties: [] }, /"fields.properties": it takes an object of schemas/],
    [{ type: 'object', properties: { a: true } }, /"fields.a": it takes a schema/],
    [{ type: 'object', properties: { a: {} } }, /"fields.a": it takes a schema with a type/],
    [{ type: 'object', properties: { a: { type: 'date' } } }, /"fields.a": it takes a schema with a type/],
    [{ type: 'object', properties: { a: { $ref: '#/b' } } }, /"fields.a": it takes a schema with a type/],
    [
      { type: 'object', properties: { a: { type: 'string', contentEncoding: 'base64' } } },
      /"fields.a.contentEncoding": this keyword/
    ],
    [{ type: 'object', properties: { a: { type: 'string', minimum: 1 } } }, /"fields.a.minimum": this keyword/],
    [{ type: 'object', properties: { a: { enum: [] } } }, /"fields.a.enum": it takes a list/],
    [{ type: 'object', properties: { a: { enum: [{}] } } }, /"fields.a.enum": it takes texts, numbers/],
    [{ type: 'object', properties: { a: { anyOf: [{}] } } }, /"fields.a.anyOf\[0\]": it takes a schema/],
    [{ type: 'object', properties: {}, required: ['a'] }, /"fields.required": it names "a"/],
    [{ type: 'object', properties: {}, required: 'a' }, /"fields.required": it takes a list/]
  ]
  for (const [schema, message] of cases)
    t.throws(() => objectFromJsonSchema(schema, 'fields'), { code: 'FST_AUTHORITY_INVALID_OPTIONS', message })
})
