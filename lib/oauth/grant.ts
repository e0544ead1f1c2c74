import type { SecondFactorCheck } from '../accounts/factors/deps.ts'
import type { OAuthError, OAuthErrorCode } from '../errors.ts'
import type { GrantType } from '../ports/client-store.ts'
import type { TokenRequestParams } from '../protocol/request-params.ts'
import type { GrantCall, GrantDeps, TokenResponse } from './deps.ts'

/** A parameter of a grant. */
interface GrantParam {
  /** Its limit in bytes of UTF-8. */
  bytes: number
  /** Its description in API documents, which leave out a parameter with `null`. */
  what?: string | null
}

/** The last part of a grant that guesses at a second factor. Only the first part knows the user. */
export interface GuessAtFactor {
  check: SecondFactorCheck
  finish(given: { isKnown: boolean }): Promise<TokenResponse>
}

/** The part of `GrantDeps` that decides which grants are on. */
export type GrantTypesDeps = Pick<GrantDeps, 'passwordGrant' | 'idTokens' | 'exchange'> & {
  accounts: Pick<GrantDeps['accounts'], 'factors'>
}

/**
 * One grant of the token endpoint. Metadata, API documents, the reference and the limits of parameters come from it. A
 * new grant is this declaration, its line in `GRANTS`, and its type in `GRANT_TYPES` if clients register for it.
 */
export interface Grant<Name extends string = string> {
  /** The value of `grant_type`. */
  type: string
  /** True if the options turn it on. Absent: always. */
  isOn?(deps: GrantTypesDeps): boolean
  /** A client must be registered for one of these. Absent: for `type`. */
  rightOf?: readonly GrantType[]
  /** Its parameters, besides `scope` and those of client authentication. */
  params: Readonly<Record<Name, GrantParam>>
  /** Codes that it answers with status 400, besides `invalid_request`, `unauthorized_client` and the like. */
  errors: readonly OAuthErrorCode[]
  /** Markdown for the reference, to follow "With `grant_type=…`:". */
  what: string
  /**
   * The limit that counts an attempt before `handle`. Absent for a secret of 256 random bits, which counts after it has
   * failed.
   */
  guess?(params: TokenRequestParams<NoInfer<Name>>): { rule: 'login' | 'connect'; account?: string }
  /** Throws a refusal that counts as a failed attempt. Returns an `OAuthError` for a refusal after a success. */
  handle(
    params: TokenRequestParams<NoInfer<Name>>,
    call: GrantCall,
    deps: GrantDeps
  ): Promise<TokenResponse | GuessAtFactor | OAuthError>
}

/** Infers the parameter names of a declaration. */
export const grant = <Name extends string>(declared: Grant<Name>): Grant<Name> => declared
