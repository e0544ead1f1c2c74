/** Checks that the page names the accepted values when the schema of a host's field refuses a value. */
import { type TSchema, Type } from '@sinclair/typebox'
import { equal, ok } from 'node:assert/strict'
import * as fc from 'fast-check'
import { OAuthError } from '../../lib/errors.ts'
import { registrationWith } from '../../lib/http/edge/registration.ts'
import { profileForm } from '../../lib/http/pages/profile-fields.ts'
import { LOCALES, messagesOf } from '../../lib/pages/texts.ts'
import { pageErrorOf } from '../../lib/pages/page-error.ts'
import { property } from './support/property.ts'

const bound = fc.option(fc.integer({ min: -20, max: 20 }), { nil: undefined })
const size = fc.option(fc.integer({ min: 1, max: 6 }), { nil: undefined })
const given = (options: Record<string, unknown>): object =>
  Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined))

const numbers = fc
  .record({
    minimum: bound,
    maximum: bound,
    exclusiveMinimum: bound,
    exclusiveMaximum: bound,
    multipleOf: fc.option(fc.integer({ min: 2, max: 5 }), { nil: undefined })
  })
  .map(given)
const plain: fc.Arbitrary<TSchema> = fc.oneof(
  numbers.map((options) => Type.Number(options)),
  numbers.map((options) => Type.Integer(options)),
  fc.record({ minLength: size, maxLength: size }).map((options) => Type.String(given(options))),
  fc.constantFrom('email', 'date', 'uri', 'uuid', 'date-time').map((format) => Type.String({ format })),
  fc.constant(Type.String({ pattern: '^[A-Z]+$', examples: ['ABC'] })),
  fc.constant(Type.String({ pattern: '^[A-Z]+$', description: 'Capital letters.' })),
  fc
    .uniqueArray(fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f'), { minLength: 1 })
    .map((values) => Type.Union(values.map((value) => Type.Literal(value))))
)
const schema = fc.oneof(
  plain,
  plain.map((inner) => Type.Union([inner, Type.Null()]))
)
const typed = fc.oneof(
  fc.integer({ min: -30, max: 30 }).map(String),
  fc.double({ min: -30, max: 30, noNaN: true }).map(String),
  fc.string({ maxLength: 10 }),
  fc.constantFrom('', 'a', 'ABC', '2026-01-31', 'a@example.com', 'https://example.com', '1e999')
)

property(
  'names the accepted values in the error or the hint of a refused profile field',
  [schema, typed, fc.constantFrom(...LOCALES)],
  { cases: ['refused', 'taken'] },
  async (field, text, locale) => {
    const messages = messagesOf(locale)
    const form = profileForm(await registrationWith(Type.Object({ x: field }), (names) => names))
    try {
      form.read({ username: 'ada', password: 'a password', x: text })
      return 'taken'
    } catch (error) {
      if (!(error instanceof OAuthError)) throw error
      const [shown] = form.show(null, messages)
      const said = pageErrorOf(error, messages)
      equal(said.field, 'x')
      ok(said.text !== messages.errorInvalidField || (shown?.hint ?? null) !== null, said.text)
      ok(!/\{|undefined/.test(said.text), said.text)
      return 'refused'
    }
  }
)
