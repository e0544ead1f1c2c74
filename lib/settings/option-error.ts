import type { TSchema } from '@sinclair/typebox'
import { Errors, type ValueError, ValueErrorType } from '@sinclair/typebox/errors'
import { StartError } from '../errors.ts'
import type { State } from '../ports/state.ts'

/** The error of an invalid option: its path, the value (unless `confidential`) and the accepted values. */
export function invalid(path: string, got: unknown, takes: string, confidential = false): StartError {
  const secret = confidential && got !== undefined && got !== ''
  return badOption(path, `got ${secret ? 'a value that is not shown' : show(got)}; it takes ${takes}`)
}

export function badOption(path: string, problem: string): StartError {
  return new StartError('FST_AUTHORITY_INVALID_OPTIONS', `Invalid option "${path}": ${problem}.`)
}

/** Requires the part of a state that remembers used proofs. `where` and `because` complete the error. */
export function requireAssertions(state: Partial<State> | undefined, where: string, because: string): void {
  if (state !== undefined && state.assertions === undefined)
    throw invalid(
      'state.assertions',
      undefined,
      `an AssertionStore where ${where}, as the states of this package have: ${because}`
    )
}

/** The first mistake against the schema, as the error of an invalid option. `null`: the options fit. */
export function schemaError(schema: TSchema, options: unknown): StartError | null {
  const mistake = schemaMistake(schema, options)
  if (mistake === null) return null
  const { path, got, takes, confidential, among } = mistake
  return among === undefined ? invalid(path, got, takes, confidential) : badOption(path, noSuchOption(path, among))
}

/** The text for an unknown option: the most similar name, and all names. */
export function noSuchOption(path: string, among: readonly string[]): string {
  const meant = likeliest(path.split('.').at(-1) ?? path, among)
  return `there is no such option. ${meant === null ? '' : `Did you mean ${meant}? `}There are: ${among.join(', ')}`
}

interface Mistake {
  path: string
  got: unknown
  takes: string
  confidential: boolean
  /** The known names, if the mistake is an unknown name. */
  among?: string[]
}

/** The first mistake against the schema, with the path of the innermost field. `null`: the value fits. */
export function schemaMistake(schema: TSchema, given: unknown): Mistake | null {
  let error = mostTelling(Errors(schema, given))
  if (error === undefined) return null
  let confidential = isConfidential(error)
  for (let inner = insideUnion(error); inner !== undefined; inner = insideUnion(error)) {
    error = inner
    confidential ||= isConfidential(error)
  }
  const path = pathOf(error.path)
  const among =
    error.type === ValueErrorType.ObjectAdditionalProperties && error.schema.properties !== undefined
      ? Object.keys(error.schema.properties as object)
      : undefined
  return {
    path,
    got: error.value,
    takes: String(error.schema.takes),
    confidential,
    ...(among === undefined ? {} : { among })
  }
}

/**
 * The likely cause among several mistakes: an unknown name, else a wrong value, else a missing value. Unknown names
 * come first, because a misspelled option is also missing under its correct name.
 */
function mostTelling(errors: Iterable<ValueError>): ValueError | undefined {
  const all = [...errors]
  return (
    all.find(({ type }) => type === ValueErrorType.ObjectAdditionalProperties) ??
    all.find(({ value }) => value !== undefined) ??
    all[0]
  )
}

/**
 * The first mistake inside a variant of a union, at a field of the value. For example, the `clientId` in `clients: [{
 * clientId: 1 }]`. Skips an open object variant that shares no field with the value.
 */
function insideUnion({ errors, path, schema, value }: ValueError): ValueError | undefined {
  const variants = (schema['anyOf'] ?? []) as TSchema[]
  return errors
    .map((variant, index) => (isMeantFor(value, variants[index]) ? mostTelling(variant) : undefined))
    .find((first) => first !== undefined && first.path.length > path.length)
}

function isMeantFor(value: unknown, variant: TSchema | undefined): boolean {
  const properties = variant?.['properties'] as object | undefined
  if (properties === undefined || variant?.['additionalProperties'] === false) return true
  return typeof value === 'object' && value !== null && Object.keys(properties).some((name) => name in value)
}

function isConfidential({ schema }: ValueError): boolean {
  return schema.confidential === true
}

function pathOf(pointer: string): string {
  const steps = pointer
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
  return steps.map((step, index) => (/^\d+$/.test(step) ? `[${step}]` : index === 0 ? step : `.${step}`)).join('')
}

function show(value: unknown): string {
  if (value === undefined) return 'nothing'
  if (typeof value === 'string') {
    // Strips credentials from URLs before quoting the value.
    const shown = value.replaceAll(/\/\/[^/?#\s]*@/g, '//…@')
    return JSON.stringify(shown.length > 80 ? `${shown.slice(0, 80)}…` : shown)
  }
  if (value === null || typeof value === 'number' || typeof value === 'boolean') return String(value)
  if (Array.isArray(value)) return showAll(value)
  if (value instanceof Promise) return 'a Promise that was not awaited'
  if (isClass(value)) return 'a class'
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}

const isClass = (value: unknown): value is { name: string } =>
  typeof value === 'function' && /^class\b/.test(Function.prototype.toString.call(value))

/** How to make the accepted value from a class or function, for the error. `null` for any other value. */
export function makingOf(value: unknown): string | null {
  if (isClass(value)) return `make one with new ${value.name || 'Store'}()`
  return typeof value === 'function' ? `call it, as ${value.name || 'store'}(…)` : null
}

const MOST_SHOWN = 5

/** Shows the entries of an array, because the mistake may be in them. */
function showAll(values: unknown[]): string {
  if (values.length === 0) return 'an empty array'
  const shown = values.slice(0, MOST_SHOWN).map((value) => (Array.isArray(value) ? 'an array' : show(value)))
  return `an array of ${shown.join(', ')}${values.length > MOST_SHOWN ? ` and ${values.length - MOST_SHOWN} more` : ''}`
}

/** The largest distance of a name from the suggested one. */
const MOST_SLIPS = 2
/** Names of at least this length are also similar if one contains the other, or if they begin with the same letters. */
const SHARED_START = 4

/** The most similar name, or `null`. Ignores case, hyphens and underscores. */
function likeliest(name: string, among: readonly string[]): string | null {
  const given = plain(name)
  const [best] = among
    .map((known) => ({ known, slips: slipsBetween(given, plain(known)) }))
    .filter(({ known, slips }) => slips <= MOST_SLIPS || share(given, plain(known)))
    .sort((one, other) => one.slips - other.slips)
  return best?.known ?? null
}

const plain = (name: string): string => name.toLowerCase().replaceAll(/[_-]/g, '')

function share(one: string, other: string): boolean {
  const least = Math.min(one.length, other.length)
  return (
    least >= SHARED_START &&
    (one.includes(other) || other.includes(one) || one.slice(0, SHARED_START) === other.slice(0, SHARED_START))
  )
}

/** The Levenshtein distance, row by row. */
function slipsBetween(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index)
  for (const [at, letter] of [...one].entries()) {
    const next = [at + 1]
    for (const [index, its] of [...other].entries())
      next.push(
        Math.min((next[index] ?? 0) + 1, (row[index + 1] ?? 0) + 1, (row[index] ?? 0) + (letter === its ? 0 : 1))
      )
    row = next
  }
  return row.at(-1) ?? 0
}
