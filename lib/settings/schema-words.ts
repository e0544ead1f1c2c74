import { Type, type SchemaOptions, type TSchema } from '@sinclair/typebox'

/** What a schema node says to people: `takes` goes into the error, `description` and `default` into the reference. */
interface Said extends SchemaOptions {
  takes: string
  description?: string
  default?: unknown
  /** The value must never be shown. */
  confidential?: boolean
}

export const optional = <Schema extends TSchema>(schema: Schema) => Type.Optional(schema)
export const words = (said: Said) =>
  Type.Array(Type.String({ minLength: 1, takes: 'a string that is not empty' }), said)
/** What every secret of a host takes. */
export const SECRET_TAKES = 'random text of 32 bytes or more, such as `openssl rand -base64 32` prints'
export const secretText = (said: Pick<Said, 'description'> = {}) =>
  Type.String({ minLength: 32, takes: SECRET_TAKES, confidential: true, ...said })
export const fn = (said: Said) => Type.Function([], Type.Unknown(), said)
export const flag = (said: Said) => Type.Boolean(said)
export const integer = (minimum: number, maximum: number, unit: string, said: Omit<Said, 'takes'>) =>
  Type.Integer({ minimum, maximum, takes: `a whole number${unit} from ${minimum} to ${maximum}`, ...said })
export const seconds = (minimum: number, maximum: number, said: Omit<Said, 'takes'>) =>
  integer(minimum, maximum, ' of seconds', said)
export const oneOf = (values: ReadonlyArray<string | false>, said: Omit<Said, 'takes'>) =>
  Type.Union(
    values.map((value) => Type.Literal(value)),
    { takes: values.map((value) => JSON.stringify(value)).join(', '), ...said }
  )
export const section = (properties: Record<string, TSchema>, description: string, said: Partial<Said> = {}) =>
  Type.Object(properties, { additionalProperties: false, takes: 'an object', description, ...said })
