import { Kind, type TSchema } from '@sinclair/typebox'
import type { RuleName } from '../lib/limits/rules.ts'
import { DEFAULTS } from '../lib/settings/defaults.ts'
import { OPTIONS_SCHEMA } from '../lib/composition/compose.ts'

/** One row: an option by its path from the top. */
export interface OptionRow {
  path: string
  takes: string
  default: string
  description: string
}

/**
 * Every option of the schema, parents before children. Entries of lists are not options of their own, but for the
 * fields of a client and of a connection.
 */
export function optionRows(): OptionRow[] {
  return Object.entries(properties(OPTIONS_SCHEMA)).flatMap(([name, schema]) =>
    rowsOf(name, schema, required(OPTIONS_SCHEMA, name))
  )
}

function rowsOf(path: string, schema: TSchema, isRequired: boolean): OptionRow[] {
  const nested = objectOf(schema)
  const row: OptionRow = {
    path,
    takes: said(schema, 'takes') ?? 'an object',
    default: isRequired && schema['default'] === undefined ? '**required**' : defaultOf(path, schema),
    description: said(schema, 'description') ?? ''
  }
  // The port describes the parts of a store, a function bag or a host's own clock.
  if (nested === undefined || Object.values(properties(nested)).every((member) => member[Kind] === 'Function'))
    return [row]
  // Nobody writes what the functions that make connections put there.
  return [
    row,
    ...Object.entries(properties(nested))
      .filter(([name]) => `${path}.${name}` !== 'connections.provider')
      .flatMap(([name, member]) => rowsOf(`${path}.${name}`, member, required(nested, name)))
  ]
}

/** The object inside: the schema itself, an alternative to `false`, or what a list holds. */
function objectOf(schema: TSchema): TSchema | undefined {
  if (schema[Kind] === 'Object') return schema
  const members = schema[Kind] === 'Union' ? (schema['anyOf'] as TSchema[]) : []
  const list = (schema[Kind] === 'Array' ? schema : members.find((member) => member[Kind] === 'Array'))?.['items'] as
    | TSchema
    | undefined
  return (
    members.find(
      (member) =>
        member[Kind] === 'Object' && !Object.values(properties(member)).every((one) => one[Kind] === 'Function')
    ) ?? (list?.[Kind] === 'Object' ? list : undefined)
  )
}

function defaultOf(path: string, schema: TSchema): string {
  const [, rule, field] = /^rateLimit\.(\w+)\.(\w+)$/.exec(path) ?? []
  if (field === 'windowMs' || field === 'max' || field === 'count')
    return code(DEFAULTS.rateLimit[rule as RuleName][field])
  const value: unknown = schema['default'] ?? schema['otherwise']
  if (value === undefined) return ''
  return typeof value === 'string' && !/^[/a-z:-]+$|\(\)$/i.test(value) ? value : code(value)
}

function code(value: unknown): string {
  return `\`${typeof value === 'string' ? value : JSON.stringify(value)}\``
}

function said(schema: TSchema, what: 'takes' | 'description'): string | undefined {
  const value: unknown = schema[what]
  return typeof value === 'string' ? value : undefined
}

function properties(schema: TSchema): Record<string, TSchema> {
  return (schema['properties'] ?? {}) as Record<string, TSchema>
}

function required(schema: TSchema, name: string): boolean {
  return ((schema['required'] ?? []) as string[]).includes(name)
}
