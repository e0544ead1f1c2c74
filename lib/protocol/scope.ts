import { OAuthError } from '../errors.ts'

/**
 * The maximum length of `scope`.
 * @see RFC 6749 §3.3, which sets no limit
 */
export const MAX_SCOPE_LENGTH = 1024
const MAX_TOKENS = 50
const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]+(?: [\x21\x23-\x5b\x5d-\x7e]+)*$/

/**
 * The scope tokens of a request, without duplicates, in the requested order. `undefined` without a `scope`.
 * @throws OAuthError `invalid_scope`
 * @see RFC 6749 §3.3
 */
export function parseScope(requested: string | undefined): string[] | undefined {
  if (requested === undefined) return undefined
  if (requested.length > MAX_SCOPE_LENGTH || !SCOPE.test(requested)) {
    throw new OAuthError(
      'invalid_scope',
      `scope must be a list of scope tokens with one space between them, at most ${MAX_SCOPE_LENGTH} characters long.`
    )
  }
  const tokens = [...new Set(requested.split(' '))]
  if (tokens.length > MAX_TOKENS) throw new OAuthError('invalid_scope', 'scope must name at most 50 scopes.')
  return tokens
}

/**
 * True for a valid scope token.
 * @see RFC 6749 §3.3
 */
export const isScopeToken = (name: string): boolean => SCOPE.test(name) && !name.includes(' ')

/**
 * The member `scope` of a response or token. Left out if nothing is granted, because an empty list is invalid.
 * @see RFC 6749 §3.3
 */
export function scopeMember(scopes: readonly string[]): { scope?: string } {
  return scopes.length === 0 ? {} : { scope: scopes.join(' ') }
}

/**
 * The granted scopes. Every requested scope must be allowed. If no scope is requested, all allowed scopes are granted.
 * @throws OAuthError `invalid_scope` naming a scope that is not allowed
 */
export function grantScope(requested: string[] | undefined, allowed: readonly string[]): string[] {
  if (requested === undefined) return [...allowed]
  const refused = requested.filter((scope) => !allowed.includes(scope))
  if (refused.length > 0) throw new OAuthError('invalid_scope', `These scopes can't be granted: ${refused.join(' ')}.`)
  return requested
}

/** The scopes of the administration routes. A client may list them, but only the hook `admin.allow` grants them. */
export const ADMIN_SCOPES = [
  'authority:users:read',
  'authority:users:write',
  'authority:users:delete',
  'authority:sessions:write',
  'authority:impersonate',
  'authority:audit:read',
  'authority:protected'
] as const
export type AdminScope = (typeof ADMIN_SCOPES)[number]

export const isAdminScope = (scope: unknown): scope is AdminScope =>
  (ADMIN_SCOPES as readonly unknown[]).includes(scope)

/** True for every scope with the reserved prefix, even if no such scope exists. */
export const isReservedScope = (scope: string): boolean => scope.startsWith('authority:')

declare const ADMITTED: unique symbol
/** The scopes of an access token. Only `admittedScopes` makes this type, so that no grant can skip its check. */
export type AdmittedScopes = readonly string[] & { readonly [ADMITTED]: true }

/**
 * Removes each reserved scope that `ask` does not grant.
 * @param ask takes the reserved scopes and resolves to those that it grants. `null`: there is no administration
 * @throws OAuthError `invalid_scope` if all scopes were removed
 */
export async function admittedScopes(
  scopes: readonly string[],
  ask: ((reserved: string[]) => Promise<readonly string[]>) | null
): Promise<AdmittedScopes> {
  const reserved = scopes.filter(isReservedScope)
  if (reserved.length === 0) return scopes as AdmittedScopes
  const given = ask === null ? [] : await ask(reserved)
  const left = scopes.filter((scope) => !isReservedScope(scope) || given.includes(scope))
  if (left.length === 0) throw new OAuthError('invalid_scope', 'None of the requested scopes can be granted.')
  return left as readonly string[] as AdmittedScopes
}
