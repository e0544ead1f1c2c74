import type { OnStoreError } from '../ports/attempt-store.ts'

/** The rules that count per address. */
export type AddressRuleName =
  | 'login'
  | 'register'
  | 'passwordReset'
  | 'refresh'
  | 'connect'
  | 'emailCode'
  | 'device'
  | 'clientMetadata'
  | 'admin'
export type RuleName = AddressRuleName | 'account' | 'secondFactor'

/** Describes how a guess at a second factor is counted. */
export interface SecondFactorCheck {
  rule: 'secondFactor'
  userId: string
  /**
   * Changes with the password and the factors of the user, so that a browser that is known by a former value counts as
   * unknown.
   */
  proof: string
  /**
   * True if the attempt counts before the check, because six digits can be guessed. Recovery codes and passkeys cannot.
   */
  canBeGuessed: boolean
}

export interface Rule {
  /** Length of the sliding window in milliseconds; at least 1. */
  windowMs: number
  /** Attempts that pass in any window; at least 1. */
  max: number
  /** `failed`: an attempt is given back when it succeeds. */
  count: 'all' | 'failed'
}

/** Under `login`, a /48 of IPv6 gets this many times the attempts of a /64, because one site has many /64 networks. */
const NETWORK_FACTOR = 20
/** The upper bound of the attempts of a /48, because each attempt costs more the more attempts its window holds. */
const NETWORK_MOST = 10_000

/** The `max` of a /48 network, from the `max` of a /64. */
export function networkMax(max: number): number {
  return Math.max(max, Math.min(max * NETWORK_FACTOR, NETWORK_MOST))
}

export interface LimitInfo {
  rule: RuleName
  max: number
  windowMs: number
  /** Whole seconds, at least 1. */
  retryAfter: number
}

export interface ApiKeyOption {
  /** The request header with the key. */
  header?: string | undefined
  /**
   * `(key) => boolean | { max }`, or a promise of it: `true` for a valid key. `{ max }` replaces the rule's `max`. If
   * it returns `false` or throws, the key is ignored, and `rateLimit.key` or the address counts. May be left out with
   * the option `apiKeys`: those keys are verified.
   */
  verify?: ((key: string) => boolean | { max: number } | Promise<boolean | { max: number }>) | undefined
}

/** The option `rateLimit` with its defaults filled in. */
export interface RateLimitsOf<Request, Reply> {
  rules: Record<RuleName, Rule | false>
  /** Replaces the client's address as the counted key. If it returns `''` or throws, the address counts. */
  key: ((request: Request) => string | Promise<string>) | null
  /** `header` in lower case. */
  apiKey: { header: string; verify: NonNullable<ApiKeyOption['verify']> | null } | null
  bypass: readonly string[]
  prefix: string
  onStoreError: OnStoreError
  /** The custom 429 handler. */
  onLimit: ((request: Request, reply: Reply, info: LimitInfo) => unknown) | null
}
