import { type TObject, type TSchema, Type } from '@sinclair/typebox'
import t from '../../support/tap.ts'
import { OAuthError } from '../../../lib/errors.ts'
import { profileForm } from '../../../lib/http/pages/profile-fields.ts'
import { registrationWith } from '../../../lib/http/edge/registration.ts'

const formWith = async (fields: TObject): Promise<ReturnType<typeof profileForm>> =>
  profileForm(await registrationWith(fields, (names) => names))
const account = { username: 'ada', password: 'a password' }

function refusal(work: () => unknown): unknown {
  try {
    return work()
  } catch (error) {
    if (!(error instanceof OAuthError)) throw error
    return { error: error.error, field: error.field, reason: error.reason, message: error.message }
  }
}

/** The value of one field of the form, or the error about it. */
async function read(schema: TSchema, text?: string): Promise<unknown> {
  const form = await formWith(Type.Object({ x: schema }))
  return refusal(() => form.read({ ...account, ...(text === undefined ? {} : { x: text }) }).fields.x)
}

t.test('renders each schema as the matching form input', async (t) => {
  const table: Array<[string, TSchema, object]> = [
    ['text', Type.String(), { type: 'text', required: true }],
    ['optional', Type.Optional(Type.String()), { type: 'text', required: false }],
    ['title', Type.String({ title: 'Nick name' }), { label: 'Nick name' }],
    ['no title', Type.String(), { label: 'x' }],
    ['email', Type.String({ format: 'email' }), { type: 'email' }],
    ['date', Type.String({ format: 'date' }), { type: 'date' }],
    ['uri', Type.String({ format: 'uri' }), { type: 'url' }],
    ['another format', Type.String({ format: 'uuid' }), { type: 'text' }],
    ['number', Type.Number(), { type: 'number', required: true }],
    ['integer', Type.Integer(), { type: 'number' }],
    ['boolean', Type.Boolean(), { type: 'checkbox', required: false, value: '' }],
    ['a box that has to be ticked', Type.Literal(true), { type: 'checkbox', required: true }],
    ['default', Type.String({ default: 'en' }), { value: 'en' }],
    ['default number', Type.Number({ default: 3 }), { value: '3' }],
    ['default tick', Type.Boolean({ default: true }), { value: 'true' }],
    [
      'literals',
      Type.Union([Type.Literal('a'), Type.Literal('b', { title: 'The second' })]),
      {
        type: 'radio',
        required: true,
        value: '',
        choices: [
          { value: 'a', label: 'a' },
          { value: 'b', label: 'The second' }
        ]
      }
    ],
    [
      'number literals',
      Type.Union([Type.Literal(1), Type.Literal(2)], { default: 2 }),
      { type: 'radio', value: '2', choices: [{ value: '1' }, { value: '2' }] }
    ],
    ['one literal', Type.Literal('a'), { type: 'select', choices: [{ value: 'a' }] }],
    [
      'literals or null',
      Type.Union([Type.Union([Type.Literal('a'), Type.Literal('b')]), Type.Null()]),
      { type: 'radio', choices: [{ value: 'a' }, { value: 'b' }] }
    ],
    ['optional literals', Type.Optional(Type.Union([Type.Literal('a'), Type.Literal('b')])), { type: 'select' }],
    ['five literals', Type.Union(['a', 'b', 'c', 'd', 'e'].map((value) => Type.Literal(value))), { type: 'select' }],
    ['a literal or any text', Type.Union([Type.Literal('a'), Type.String()]), { type: 'text', choices: [] }],
    ['nullable', Type.Union([Type.Integer(), Type.Null()]), { type: 'number' }],
    ['either', Type.Union([Type.Integer(), Type.String()]), { type: 'text' }]
  ]
  for (const [name, schema, expected] of table)
    t.match((await formWith(Type.Object({ x: schema }))).show(null)[0], { name: 'x', ...expected }, name)
  for (const schema of [
    Type.Array(Type.String()),
    Type.Object({}),
    Type.Union([Type.String(), Type.Array(Type.String())])
  ])
    t.strictSame(
      (await formWith(Type.Object({ x: Type.Optional(schema) }))).show(null),
      [],
      'no form field can hold it'
    )
})

t.test('rejects at startup a required field without an input, and an invalid default', async (t) => {
  for (const [schema, path, problem] of [
    [Type.Array(Type.String()), 'x', /it is required, and the sign-up page has no input for a field of its kind/],
    [Type.Object({}), 'x', /Make it optional, give it a default, or take a page of your own \(pages\.loginUrl/],
    [Type.Integer({ default: 'one' }), 'x', /its default does not fit its own schema/],
    [Type.String({ enum: ['a', 'b'] }), 'x.enum', /Type\.String of TypeBox does not check it. Write Type\.Union/],
    [Type.Integer({ enum: [1, 2] }), 'x.enum', /Type\.Integer of TypeBox does not check it/],
    [Type.Array(Type.String({ enum: ['a'] }), { default: [] }), 'x.items.enum', /Type\.String of TypeBox/],
    [Type.Union([Type.Null(), Type.Number({ enum: [1] })]), 'x.anyOf.1.enum', /Type\.Number of TypeBox/]
  ] as Array<[TSchema, string, RegExp]>)
    await t.rejects(formWith(Type.Object({ x: schema })), {
      code: 'FST_AUTHORITY_INVALID_OPTIONS',
      message: new RegExp(`^Invalid option "registration\\.fields\\.${path}": .*${problem.source}`)
    })
})

t.test('uses a fresh default for a field without an input', async (t) => {
  const form = await formWith(
    Type.Object({
      tags: Type.Array(Type.String(), { default: ['new'] }),
      plan: Type.Union([Type.Literal('a'), Type.Literal('b')], { default: 'a' }),
      news: Type.Optional(Type.String({ default: 'weekly' }))
    })
  )
  t.strictSame(
    form.show(null).map(({ name, value }) => [name, value]),
    [
      ['plan', 'a'],
      ['news', 'weekly']
    ]
  )
  const first = form.read({ ...account, plan: 'b', news: '' }).fields
  t.strictSame(first, { tags: ['new'], plan: 'b' })
  t.not(first.tags, form.read({ ...account, plan: 'b' }).fields.tags)
  t.match(
    refusal(() => form.read({ ...account, plan: '' })),
    { field: 'plan', reason: 'required' }
  )
})

t.test('converts the text of a field to the type of its schema', async (t) => {
  const nullable = Type.Union([Type.Integer(), Type.Null()])
  const table: Array<[TSchema, string | undefined, unknown]> = [
    [Type.String(), '007', '007'],
    [Type.String(), 'true', 'true'],
    [Type.Optional(Type.String()), '', undefined],
    [Type.Optional(Type.String({ minLength: 3 })), '', undefined],
    [Type.Integer(), '42', 42],
    [Type.Integer(), '-0', -0],
    [Type.Number(), '1.5e3', 1500],
    [Type.Number(), '.5', 0.5],
    [Type.Optional(Type.Number()), '', undefined],
    [nullable, '7', 7],
    [Type.Boolean(), 'on', true],
    [Type.Boolean(), 'true', true],
    [Type.Boolean(), undefined, false],
    [Type.Boolean(), '', false],
    [Type.Optional(Type.Literal(true)), undefined, undefined],
    [Type.Literal(true), 'on', true],
    [Type.Union([Type.Literal('a'), Type.Literal('1')]), '1', '1'],
    [Type.Union([Type.Literal(1), Type.Literal(2)]), '2', 2],
    [Type.Literal(5), '5', 5]
  ]
  for (const [schema, text, expected] of table)
    t.strictSame(await read(schema, text), expected, `${schema.type ?? 'union'} ${text}`)
})

t.test('rejects a value that violates the schema, with the field and a readable message', async (t) => {
  const table: Array<[TSchema, string | undefined, string, string?]> = [
    [Type.String(), undefined, 'x: it is required.', 'required'],
    [Type.String(), '', 'x: it is required.', 'required'],
    [Type.Literal(true), undefined, 'x: it is required.', 'required'],
    [Type.String({ minLength: 3 }), 'ab', 'x: it takes at least 3 characters.', 'value_short'],
    [Type.String({ maxLength: 3 }), 'abcd', 'x: it takes at most 3 characters.', 'value_long'],
    [Type.String({ format: 'email' }), 'a@b', 'x: The email address is not valid.', 'email_form'],
    [Type.String({ format: 'date' }), 'tomorrow', 'x: it is not accepted.', 'value_form'],
    [Type.String({ pattern: '^a$' }), 'b', 'x: it is not accepted.'],
    [Type.Integer({ minimum: 18 }), '17', 'x: it takes 18 or more.', 'value_min'],
    [Type.Number({ maximum: 5 }), '5.1', 'x: it takes 5 or less.', 'value_max'],
    [Type.Integer(), '1.5', 'x: it takes a whole number.', 'value_integer'],
    ...['1,5', '0x10', '1e999', 'NaN', ' 1', '1 ', '+1', '--1', '१'].map((text): [TSchema, string, string, string] => [
      Type.Number(),
      text,
      'x: it takes a number.',
      'value_number'
    ]),
    [Type.Union([Type.Literal('a'), Type.Literal('b')]), 'c', "x: it takes 'a' or 'b'.", 'value_choice'],
    [Type.Boolean(), 'maybe', 'x: it is not accepted.']
  ]
  for (const [schema, text, message, reason] of table)
    t.strictSame(
      await read(schema, text),
      { error: 'invalid_request', field: 'x', reason, message },
      `${schema.type ?? 'union'} ${text}`
    )
})

t.test('requires a username and a password, and ignores undeclared fields', async (t) => {
  const form = await formWith(Type.Object({ nickname: Type.Optional(Type.String()) }))
  t.strictSame(form.names, ['username', 'password', 'nickname'])
  t.strictSame(form.read({ ...account, nickname: 'A', emailVerified: 'true', id: 'root', submit: '' }), {
    ...account,
    fields: { nickname: 'A' }
  })
  for (const name of ['username', 'password'])
    t.match(
      refusal(() => form.read({ ...account, [name]: '' })),
      { error: 'invalid_request', field: name, reason: 'required' }
    )
  t.match(
    refusal(() => form.read({ ...account, username: 'x'.repeat(255) })),
    { field: 'username' }
  )
  t.strictSame((await formWith(Type.Object({}))).show(null), [])
})

// covers ASVS-15.3.6
t.test('names the invalid field if its name is unusual, and reads no inherited property', async (t) => {
  const names = ['a/b', 'a~b', 'length', 'name']
  const form = await formWith(
    Type.Object(Object.fromEntries(names.map((name) => [name, Type.Optional(Type.Integer())])))
  )
  const typed = Object.assign(Object.create(null) as Record<string, string>, account)
  for (const name of names) {
    const bad = Object.assign(Object.create(null) as Record<string, string>, account)
    bad[name] = 'x'
    t.match(
      refusal(() => form.read(bad)),
      { field: name },
      name
    )
    t.same(form.read(typed).fields, {}, 'nothing is inherited')
  }
  t.equal(({} as Record<string, unknown>).x, undefined)
})

t.test('shows the text that the user has entered unchanged', async (t) => {
  const form = await formWith(
    Type.Object({ age: Type.Integer(), news: Type.Boolean({ default: true }), name: Type.String({ default: 'you' }) })
  )
  t.strictSame(
    form.show({ age: '1,5' }).map(({ value }) => value),
    ['1,5', '', '']
  )
  t.strictSame(
    form.show({ news: 'on' }).map(({ value }) => value),
    ['', 'true', '']
  )
})
