import { fileURLToPath } from 'node:url'
import { Kind, type TSchema } from '@sinclair/typebox'
import ts from 'typescript-tap'
import { OPTIONS_SCHEMA } from '../lib/composition/compose.ts'

/** One row: an option by its path from the top. */
export interface OptionRow {
  path: string
  takes: string
  default: string
  description: string
}

const SOURCE = fileURLToPath(new URL('../lib/settings/options.ts', import.meta.url))

let rows: OptionRow[] | undefined

/**
 * Every option of the schema, parents before children. Entries of lists are not options of their own, but for the
 * fields of a client and of a connection. The description is the text that an editor shows.
 */
export function optionRows(): OptionRow[] {
  if (rows === undefined) {
    const { checker, type } = optionsType()
    rows = rowsOf('', OPTIONS_SCHEMA, [type], checker)
  }
  return rows
}

function rowsOf(prefix: string, schema: TSchema, types: readonly ts.Type[], checker: ts.TypeChecker): OptionRow[] {
  return Object.entries(properties(schema)).flatMap(([name, member]) => {
    const path = `${prefix}${name}`
    const symbol = types.map((type) => checker.getPropertyOfType(type, name)).find((found) => found !== undefined)
    const isRequired = ((schema['required'] ?? []) as string[]).includes(name) && member['otherwise'] === undefined
    const row = {
      path,
      takes: String(member['takes']),
      default: isRequired ? '**required**' : defaultOf(member),
      description: symbol === undefined ? '' : commentOf(path, symbol, checker)
    }
    const nested = objectOf(member)
    // The port describes the parts of a store, a function bag or a host's own clock.
    if (nested === undefined || Object.values(properties(nested)).every((part) => part[Kind] === 'Function'))
      return [row]
    const inner = symbol === undefined ? [] : partsOf(checker.getTypeOfSymbol(symbol), checker)
    return (
      [row, ...rowsOf(`${path}.`, nested, inner, checker)]
        // Nobody writes what the functions that make connections put there.
        .filter((each) => each.path !== 'connections.provider')
    )
  })
}

function optionsType(): { checker: ts.TypeChecker; type: ts.Type } {
  const program = ts.createProgram([SOURCE], {
    module: ts.ModuleKind.NodeNext,
    target: ts.ScriptTarget.ES2022,
    strict: true,
    allowImportingTsExtensions: true,
    noEmit: true,
    types: ['node']
  })
  const checker = program.getTypeChecker()
  const module = checker.getSymbolAtLocation(program.getSourceFile(SOURCE) as ts.SourceFile) as ts.Symbol
  const symbol = checker.getExportsOfModule(module).find(({ name }) => name === 'AuthorityOptions') as ts.Symbol
  return { checker, type: checker.getDeclaredTypeOfSymbol(symbol) }
}

/** The types inside: of a union each, of a list that of its entries. */
function partsOf(type: ts.Type, checker: ts.TypeChecker): ts.Type[] {
  return (type.isUnion() ? type.types : [type]).map((part) =>
    checker.isArrayType(part) ? (checker.getTypeArguments(part as ts.TypeReference)[0] ?? part) : part
  )
}

function commentOf(path: string, symbol: ts.Symbol, checker: ts.TypeChecker): string {
  // A line that begins with an @ ends the comment there.
  const stray = symbol.getJsDocTags(checker).find(({ name }) => name !== 'see')
  if (stray !== undefined) throw new Error(`The comment of the option ${path} has a tag: @${stray.name}`)
  return ts.displayPartsToString(symbol.getDocumentationComment(checker)).replaceAll(/\s+/g, ' ')
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

function defaultOf(schema: TSchema): string {
  const otherwise: unknown = schema['otherwise']
  if (typeof otherwise === 'string') return /^[\w./]+(?:\(\))?$/.test(otherwise) ? `\`${otherwise}\`` : otherwise
  const value: unknown = schema['default']
  return value === undefined ? '' : `\`${typeof value === 'string' && value !== '' ? value : JSON.stringify(value)}\``
}

function properties(schema: TSchema): Record<string, TSchema> {
  return (schema['properties'] ?? {}) as Record<string, TSchema>
}
