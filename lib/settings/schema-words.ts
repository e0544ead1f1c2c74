import { Type, type SchemaOptions, type TObject, type TProperties, type TSchema } from '@sinclair/typebox'

/**
 * Texts of a schema node for people: `takes` goes into the error, `description` and `default` into the reference. The
 * settings use `default` too. `otherwise` describes a default that is computed.
 */
interface Said extends SchemaOptions {
  takes: string
  description?: string
  default?: unknown
  otherwise?: string
  /** The value must never be shown. */
  confidential?: boolean
}

type About = Omit<Said, 'takes'>

export const optional = <Schema extends TSchema>(schema: Schema) => Type.Optional(schema)
export const words = <Given extends Said>(said: Given) =>
  withDefault(Type.Array(Type.String({ minLength: 1, takes: 'a string that is not empty' }), said), said)
/** The accepted form of every secret of a host. */
export const SECRET_TAKES = 'random text of 32 bytes or more, such as `openssl rand -base64 32` prints'
export const secretText = (said: Pick<Said, 'description'> = {}) =>
  Type.String({ minLength: 32, takes: SECRET_TAKES, confidential: true, ...said })
export const fn = (said: Said) => Type.Function([], Type.Unknown(), said)
export const flag = <Given extends Said>(said: Given) => withDefault(Type.Boolean(said), said)
export const text = <Given extends Said>(said: Given) => withDefault(Type.String(said), said)
export const integer = <Given extends About>(minimum: number, maximum: number, unit: string, said: Given) =>
  withDefault(
    Type.Integer({ minimum, maximum, takes: `a whole number${unit} from ${minimum} to ${maximum}`, ...said }),
    said
  )
export const seconds = <Given extends About>(minimum: number, maximum: number, said: Given) =>
  integer(minimum, maximum, ' of seconds', said)
export const oneOf = <Given extends About>(values: ReadonlyArray<string | false>, said: Given) =>
  withDefault(
    Type.Union(
      values.map((value) => Type.Literal(value)),
      { takes: values.map((value) => JSON.stringify(value)).join(', '), ...said }
    ),
    said
  )
export const section = <Properties extends TProperties>(
  properties: Properties,
  description: string,
  said: Partial<Said> = {}
) => Type.Object(properties, { additionalProperties: false, takes: 'an object', description, ...said })

/** Types the default of a schema, so that `filled` can tell which options have one. */
function withDefault<Schema extends TSchema, Given extends object>(schema: Schema, _said: Given) {
  return schema as Schema & (Given extends { default: {} } ? { default: {} } : unknown)
}

/**
 * The options of a section that have a default, each as given or with the default of its schema. `undefined` counts as
 * absent.
 */
export function filled<Properties extends TProperties, Options extends object>(
  { properties }: TObject<Properties>,
  given: Options | undefined
) {
  const values: Readonly<Record<string, unknown>> = { ...given }
  return Object.fromEntries(
    Object.entries<TSchema>(properties).flatMap(([name, { default: otherwise }]) =>
      otherwise === undefined ? [] : [[name, values[name] ?? otherwise]]
    )
  ) as Filled<Properties, Options>
}

type Filled<Properties, Options> = {
  [Name in keyof Properties & keyof Options as Properties[Name] extends { default: {} } ? Name : never]-?: Exclude<
    Options[Name],
    undefined
  >
}
