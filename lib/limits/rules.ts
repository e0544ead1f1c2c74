import type { OnStoreError } from '../ports/attempt-store.ts'

/** The rules that count per address. */
export type AddressRuleName = 'login' | 'register' | 'passwordReset' | 'refresh' | 'connect' | 'emailCode'
export type RuleName = AddressRuleName | 'account' | 'secondFactor'

/** What a guess at a second factor counts under. */
export interface SecondFactorCheck {
  rule: 'secondFactor'
  userId: string
  /**
   * Another value once the password or the factors of the user are others: a browser that is known by a former one is a
   * stranger.
   */
  proof: string
  /** Six digits can be guessed, so an attempt counts before it is made. Recovery codes and passkeys can't. */
  canBeGuessed: boolean
}

export interface Rule {
  /** Length of the sliding window in milliseconds; at least 1. */
  windowMs: number
  /** How many attempts pass in any window; at least 1. */
  max: number
  /** `failed`: an attempt is given back when it succeeds. */
  count: 'all' | 'failed'
}

/** How many times as much as one /64 a whole /48 of IPv6 may do under `login`: one site has 65,536 of them. */
const NETWORK_FACTOR = 20
/** An attempt costs more the more are counted beside it. */
const NETWORK_MOST = 10_000

/** The `max` of a /48 of IPv6, of that of a /64. */
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
  /** The request header that carries the key. Default: `x-api-key`. */
  header?: string | undefined
  /** Whether the key is a good one; `{ max }` replaces the rule's `max`. Where it throws, the address counts. */
  verify(key: string): boolean | { max: number } | Promise<boolean | { max: number }>
}

/** The option `rateLimit` with its defaults filled in. */
export interface RateLimitsOf<Request, Reply> {
  rules: Record<RuleName, Rule | false>
  /** Replaces the client's address as what is counted. */
  key: ((request: Request) => string | Promise<string>) | null
  /** `header` in lower case. */
  apiKey: { header: string; verify: ApiKeyOption['verify'] } | null
  bypass: readonly string[]
  prefix: string
  onStoreError: OnStoreError
  /** The custom 429 handler. */
  onLimit: ((request: Request, reply: Reply, info: LimitInfo) => unknown) | null
}
