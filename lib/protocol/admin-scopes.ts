import { OAuthError } from '../errors.ts'

/** The scopes of the routes of administration. No option, client or API has them: `admin.allow` alone gives them. */
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

/** True for every scope with the reserved beginning, also for one that does not exist. */
export const isReservedScope = (scope: string): boolean => scope.startsWith('authority:')

declare const ADMITTED: unique symbol
/** The scopes of an access token. Only `admittedScopes` makes them, so that no grant can leave out its question. */
export type AdmittedScopes = readonly string[] & { readonly [ADMITTED]: true }

/**
 * Leaves out each reserved scope that `ask` does not give.
 * @param ask `null`: there is no administration
 * @throws OAuthError `invalid_scope` if no scope is left
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
