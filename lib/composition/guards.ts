import type { FastifyBaseLogger } from 'fastify'
import {
  type Check,
  claimsCheck,
  firstPartyCheck,
  type Hook,
  hookOf,
  noActorCheck,
  optionalTokenCheck,
  roleCheck,
  scopeCheck,
  signInCheck,
  tokenOrKeyCheck
} from '../http/edge/hook.ts'
import { challenged } from '../http/edge/possession.ts'
import type { ApiKeys } from '../accounts/slots.ts'
import type { ClientStore } from '../ports/client-store.ts'
import type { Clock } from '../ports/clock.ts'
import { logLine } from '../ports/log.ts'
import type { AccessTokenClaims } from '../protocol/access-token.ts'
import { type AuthRequirements, rolesOf, scopesOf, stepUpOf } from '../settings/auth-requirements.ts'
import type { Settings } from '../settings/settings.ts'

/** Hooks for the host's routes that check an access token. */
export interface TokenGuards {
  /**
   * An `onRequest` hook: verifies the access token, or an API key for the host's own routes, and sets `request.auth`.
   * Otherwise 401.
   * @see RFC 6750
   */
  authenticate: Hook
  /**
   * Like `authenticate` for a request with a token or an API key. A request with neither continues, and `request.auth`
   * stays `null`.
   */
  authenticateOptional: Hook
  /**
   * A hook to follow `authenticate`: 403 for tokens of third-party clients (`firstParty: false`) and of clients that no
   * longer exist.
   */
  requireFirstParty: Hook
  /**
   * Makes a hook to follow `authenticate`: 403 unless all these scopes were granted.
   * @throws StartError `FST_AUTHORITY_INVALID_OPTIONS` at the call, for an invalid scope name
   */
  requireScope: (...scopes: string[]) => Hook
  /**
   * Makes a hook to follow `authenticate`: 403 unless the token has all these roles, in its claims `roles`, `groups` or
   * `entitlements`, which the option `claims` sets.
   * @throws StartError `FST_AUTHORITY_INVALID_OPTIONS` at the call, for an invalid name
   * @see RFC 9068 §2.2.3.1
   */
  requireRole: (...roles: string[]) => Hook
  /**
   * A hook to follow `authenticate` or `requireUser`: 403 for a token with `act`. With such a token an administrator or
   * a program of the host acts in the name of the user.
   * @see RFC 8693 §4.1
   */
  requireNoActor: Hook
  /**
   * Makes a hook to follow `authenticate`: the token's user must have signed in at most `maxAge` seconds ago and with
   * at least this `acr`. Otherwise 401 `insufficient_user_authentication`, with a challenge that names the requirements
   * for a new sign-in. A missing claim counts as not met. API keys and tokens without a session get 403
   * `access_denied`, because no sign-in would help.
   * @throws StartError `FST_AUTHORITY_INVALID_OPTIONS` at the call, for a requirement that is invalid or cannot be met
   * @see RFC 9470 §3
   */
  requireAuth: (required: AuthRequirements) => Hook
}

/**
 * Makes a function that logs a warning if no token can have a scope that `requireScope` requires. The function warns
 * once for each scope.
 */
export function unknownScopeWarning(
  log: FastifyBaseLogger,
  name: string,
  place: string,
  offered: readonly string[]
): (scope: string) => void {
  const unknown = new Set<string>()
  return (scope) => {
    if (offered.includes(scope) || unknown.has(scope)) return
    unknown.add(scope)
    const text =
      `${name}('${scope}') refuses everybody, because nobody can be granted this scope. ` +
      `${place} has ${offered.join(', ') || 'no scope'}: add it there, or mend the name.`
    log.warn(...logLine('FST_AUTHORITY_UNKNOWN_SCOPE', text))
  }
}

export function tokenGuards(
  tokenAlone: Check<AccessTokenClaims>,
  { decorators: names, scopes: offered, acrValues }: Pick<Settings, 'decorators' | 'scopes' | 'acrValues'>,
  {
    keys,
    dpopAlgs,
    clients,
    clock,
    log
  }: {
    keys: ApiKeys | null
    /** The algorithms of DPoP proofs. Empty: DPoP is off. */
    dpopAlgs: readonly string[]
    clients: ClientStore
    clock: Clock
    log: FastifyBaseLogger
  }
): TokenGuards {
  const token = tokenOrKeyCheck(tokenAlone, keys, null)
  const warnOf = unknownScopeWarning(log, names.requireScope, 'The option scopes', offered)
  const hook = <Found extends AccessTokenClaims | null>(check: Check<Found>): Hook =>
    hookOf(dpopAlgs.length === 0 ? check : challenged(check, { dpopAlgs }), names.auth)
  return {
    authenticate: hook(token),
    authenticateOptional: hook(optionalTokenCheck(token, keys)),
    requireFirstParty: hook(firstPartyCheck(claimsCheck(names.auth, names.requireFirstParty), clients)),
    requireScope(...given) {
      const scopes = scopesOf(given, names.requireScope)
      for (const scope of scopes) warnOf(scope)
      return hook(scopeCheck(claimsCheck(names.auth, names.requireScope), scopes))
    },
    requireRole: (...given) =>
      hook(roleCheck(claimsCheck(names.auth, names.requireRole), rolesOf(given, names.requireRole))),
    requireNoActor: hook(noActorCheck(claimsCheck(names.auth, names.requireNoActor))),
    requireAuth(required) {
      const stepUp = stepUpOf(required, names.requireAuth, acrValues)
      return hook(signInCheck(claimsCheck(names.auth, names.requireAuth), stepUp, acrValues, clock))
    }
  }
}
