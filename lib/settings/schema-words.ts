import { type SchemaOptions, type TSchema, Type } from '@sinclair/typebox'

/**
 * An option: the schema of its value, the type of the value, and the type of the setting if the host gives none. The
 * comment above the property that holds an option is its text in editors and in docs/reference/options.md.
 */
export interface Option<Value, Absent = null> extends TSchema {
  static: Value
  absent?: Absent
}

export type Options = Readonly<Record<string, Option<unknown, unknown>>>

export interface Said<Value> extends SchemaOptions {
  /** The accepted values, for the error and the reference. */
  takes?: string
  default?: Value
  /** Describes a computed default, for the reference. */
  otherwise?: string
  /** True if no error may show the value. */
  confidential?: boolean
}

export type Absent<Value, Of> = Of extends { default: {} } ? Value : null

/** An option with a schema of its own, and a default if one is given. */
export function option<Value>(schema: TSchema): Option<Value>
export function option<Value>(schema: TSchema, otherwise: NoInfer<Value>): Option<Value, Value>
export function option(schema: TSchema, otherwise?: unknown): TSchema {
  return Type.Optional(otherwise === undefined ? schema : { ...schema, default: otherwise })
}

export const required = <Value, None>(given: Option<Value, None>) =>
  Type.Optional(given, false) as unknown as Option<Value, never>

export const flag = <const Of extends Said<boolean>>(said: Of) =>
  option(Type.Boolean({ takes: 'true or false', ...said })) as Option<boolean, Absent<boolean, Of>>

export const text = <const Of extends Said<string>>(said: Of) =>
  option(Type.String({ takes: 'a string', ...said })) as Option<string, Absent<string, Of>>

/** A text of 1 to `maxLength` characters. */
export const shortText = <const Of extends Said<string>>(maxLength: number, said: Of) =>
  text({ minLength: 1, maxLength, takes: `a string of 1 to ${maxLength} characters`, ...said })

export const integer = <const Of extends Said<number> & { of?: string }>(minimum: number, maximum: number, said: Of) =>
  option(
    Type.Integer({
      minimum,
      maximum,
      takes: `a whole number${said.of === undefined ? '' : ` of ${said.of}`} from ${minimum} to ${maximum}`,
      ...said
    })
  ) as Option<number, Absent<number, Of>>

/** A time in seconds. With `to: 'Ms'`, the setting is in milliseconds. The name of the setting ends with its unit. */
export const seconds = <const Of extends Said<number> & { to?: 'Ms' }>(minimum: number, maximum: number, said: Of) =>
  integer(minimum, maximum, { of: 'seconds', to: 'Seconds', ...said }) as unknown as Option<
    number,
    Absent<number, Of>
  > & {
    to: Of extends { to: 'Ms' } ? 'Ms' : 'Seconds'
  }

export const oneOf = <const Value extends string | false, const Of extends Said<NoInfer<Value>>>(
  values: readonly Value[],
  said: Of
) =>
  option(
    Type.Union(
      values.map((value) => Type.Literal(value)),
      { takes: values.map((value) => JSON.stringify(value)).join(', '), ...said }
    )
  ) as Option<Value, Absent<Value, Of>>

export const list = <Value, const Of extends Said<readonly NoInfer<Value>[]>>(entry: Option<Value>, said: Of) =>
  option(Type.Array(entry, said)) as Option<readonly Value[], Absent<readonly Value[], Of>>

export const words = <const Of extends Said<readonly string[]>>(said: Of) =>
  list(text({ minLength: 1, takes: 'a string that is not empty' }), said)

export const fn = <Value>(said: Said<never> = {}) =>
  option<Value>(Type.Function([], Type.Unknown(), { takes: 'a function', ...said }))

/** An object of options. `Value`: the type of the object. */
export const section = <Value>(options: Options, said: Said<never> = {}) =>
  option<Value>(Type.Object({ ...options }, { additionalProperties: false, takes: 'an object', ...said }))

export const orFalse = <Value, const Of extends Said<false>>(given: Option<Value>, said: Of) =>
  option(Type.Union([Type.Literal(false), given], said)) as Option<false | Value, Absent<false, Of>>

/** The accepted form of every secret, for errors and the reference. */
export const SECRET_TAKES = 'random text of 32 bytes or more, such as `openssl rand -base64 32` prints'
export const secretText = () => text({ minLength: 32, takes: SECRET_TAKES, confidential: true })

/**
 * Characters of a path that a router takes literally: no parameter, no wildcard, no query, nothing that needs
 * percent-decoding.
 */
export const LITERAL = "[A-Za-z0-9._~!$&'+,;=@-]"

type ValueOf<Of> = Of extends Option<infer Value, unknown> ? Value : never

/** The type of an object of options, as a host gives them. Keeps the comments of the options. */
export type Given<Of> = { [Name in keyof Of]?: ValueOf<Of[Name]> | undefined }
/** Like `Given`, with some required options. */
export type GivenWith<Of, Needed extends keyof Of> = Given<Pick<Of, Exclude<keyof Of, Needed>>> & {
  [Name in Needed]: ValueOf<Of[Name]>
}

type Stem<Name> = Name extends `${infer Start}Seconds` ? Start : Name
type SettingName<Name extends string, Of> = Of extends { to: infer Unit extends string } ? `${Stem<Name>}${Unit}` : Name

/** The type of the settings that `filled` makes of these options. */
type Filled<Of, Others> = {
  [Name in keyof Of & string as SettingName<Name, Of[Name]>]: Of[Name] extends Option<infer Value, infer None>
    ? Value | (Name extends keyof Others ? never : None)
    : never
}

/**
 * Makes settings of options: each option as given, or its default, or `null`. `undefined` counts as absent. The name of
 * a time gets its unit at the end. `others`: defaults that depend on other options.
 */
export function filled<Of extends Options, const Others extends Partial<Given<Of>> = {}>(
  options: Of,
  given: Given<Of> | undefined,
  others?: Others
): Filled<Of, Others> {
  const values: Readonly<Record<string, unknown>> = { ...given }
  const computed: Readonly<Record<string, unknown>> = { ...others }
  return Object.fromEntries(
    Object.entries(options).map(([name, schema]) => {
      const value: unknown = values[name] ?? computed[name] ?? schema['default'] ?? null
      const unit: unknown = schema['to']
      if (typeof unit !== 'string') return [name, value]
      return [`${name.replace(/Seconds$/, '')}${unit}`, unit === 'Ms' ? Number(value) * 1000 : value]
    })
  ) as Filled<Of, Others>
}
