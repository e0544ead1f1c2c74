import { isScopeToken } from '../protocol/scope.ts'
import type { StepUp } from '../protocol/bearer.ts'
import { badOption, invalid, noSuchOption } from './option-error.ts'

/** The sign-in that a route requires: `maxAge`, `acr` or both. With both, both must hold. */
export interface AuthRequirements {
  /**
   * The maximum age of the sign-in in seconds, from 1 to 31536000. It counts from the oldest authentication that the
   * `acr` is based on, without leeway.
   */
  maxAge?: number | undefined
  /** The weakest accepted level, of `acr_values_supported`. Stronger levels are accepted too. */
  acr?: string | undefined
}

/** The requirement that every sign-in meets. */
export const ANY_SIGN_IN: StepUp = { maxAge: null, acr: null }

const A_YEAR = 31_536_000

/**
 * Checks a requirement when the host sets up its routes, so that a mistake stops the start and not a user's request.
 * @param name the function that the host called, for the message
 * @throws StartError `FST_AUTHORITY_INVALID_OPTIONS`
 */
export function stepUpOf(given: unknown, name: string, acrValues: readonly string[]): StepUp {
  refuseHook(given, name)
  const takes = '{ maxAge, acr } with one of them at least'
  if (typeof given !== 'object' || given === null || Array.isArray(given)) throw invalid(name, given, takes)
  const { maxAge, acr, ...others } = given as Record<string, unknown>
  const [unknown] = Object.keys(others)
  if (unknown !== undefined) throw badOption(`${name}.${unknown}`, noSuchOption(unknown, ['maxAge', 'acr']))
  if (maxAge === undefined && acr === undefined) throw badOption(name, `got neither maxAge nor acr; it takes ${takes}`)
  if (
    maxAge !== undefined &&
    !(typeof maxAge === 'number' && Number.isInteger(maxAge) && maxAge >= 1 && maxAge <= A_YEAR)
  )
    throw invalid(`${name}.maxAge`, maxAge, `a whole number of seconds from 1 to ${A_YEAR}`)
  if (acr !== undefined && !(typeof acr === 'string' && acrValues.includes(acr)))
    throw invalid(`${name}.acr`, acr, acrTakes(acrValues))
  return { maxAge: maxAge ?? null, acr: acr ?? null }
}

/**
 * Checks required scopes when the host sets up its routes. A hook without a scope would let everybody in.
 * @param name the function that the host called, for the message
 * @throws StartError `FST_AUTHORITY_INVALID_OPTIONS`
 */
export function scopesOf(given: readonly unknown[], name: string): string[] {
  const takes = `names of scopes, one by one: ${name}('orders:read', 'orders:write')`
  refuseHook(given[0], name)
  if (given.length === 0) throw invalid(name, undefined, takes)
  for (const scope of given) if (typeof scope !== 'string' || !isScopeToken(scope)) throw invalid(name, scope, takes)
  return given as string[]
}

/**
 * Checks required roles when the host sets up its routes. A hook without a role would let everybody in.
 * @param name the function that the host called, for the message
 * @throws StartError `FST_AUTHORITY_INVALID_OPTIONS`
 */
export function rolesOf(given: readonly unknown[], name: string): string[] {
  const takes = `names of roles, one by one: ${name}('editor', 'publisher')`
  refuseHook(given[0], name)
  if (given.length === 0) throw invalid(name, undefined, takes)
  for (const role of given) if (typeof role !== 'string' || role === '') throw invalid(name, role, takes)
  return given as string[]
}

/** Throws if the argument is a request: the host has passed the function `name` itself as a hook, not its result. */
function refuseHook(given: unknown, name: string): void {
  if (typeof given === 'object' && given !== null && 'raw' in given && 'routeOptions' in given)
    throw badOption(name, `it makes hooks and is none itself: call it where the route is made, as ${name}(…)`)
}

/** The accepted values of an option that names an `acr`. */
export function acrTakes(acrValues: readonly string[]): string {
  return `what a sign-in of this configuration can be worth (${acrValues.join(', ')})`
}
