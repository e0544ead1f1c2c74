import { OAuthError } from '../errors.ts'

/**
 * The maximum length of `scope`.
 * @see RFC 6749 §3.3, which sets no limit
 */
const MAX_LENGTH = 1024
const MAX_TOKENS = 50
const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]+(?: [\x21\x23-\x5b\x5d-\x7e]+)*$/

/**
 * The scope tokens of a request, each once, in the requested order. `undefined` without a `scope`.
 * @throws OAuthError `invalid_scope`
 * @see RFC 6749 §3.3
 */
export function parseScope(requested: string | undefined): string[] | undefined {
  if (requested === undefined) return undefined
  if (requested.length > MAX_LENGTH || !SCOPE.test(requested)) {
    throw new OAuthError(
      'invalid_scope',
      'scope must be a list of scope tokens with one space between them, at most 1024 characters long.'
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
 * The `scope` of a response or token: `undefined` if nothing is granted, because an empty list is invalid.
 * @see RFC 6749 §3.3
 */
export function scopeMember(scopes: readonly string[]): { scope?: string } {
  return scopes.length === 0 ? {} : { scope: scopes.join(' ') }
}

/**
 * The granted scope. Every requested scope must be allowed. Without a request, all allowed scopes are granted.
 * @throws OAuthError `invalid_scope` naming a scope that is not allowed
 */
export function grantScope(requested: string[] | undefined, allowed: readonly string[]): string[] {
  if (requested === undefined) return [...allowed]
  const refused = requested.filter((scope) => !allowed.includes(scope))
  if (refused.length > 0) throw new OAuthError('invalid_scope', `These scopes can't be granted: ${refused.join(' ')}.`)
  return requested
}
