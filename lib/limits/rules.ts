/** The rules that count per address. */
export type AddressRuleName = 'login' | 'register' | 'passwordReset' | 'refresh'
export type RuleName = AddressRuleName | 'account'

export interface Rule {
  /** Length of the sliding window in milliseconds; at least 1. */
  windowMs: number
  /** How many attempts pass in any window; at least 1. */
  max: number
  /** `failed`: an attempt is given back when it succeeds. */
  count: 'all' | 'failed'
}

/** What a rule takes; what is left out has its default. `false` turns it off. */
export type RuleOption = false | { windowMs?: number, max?: number, count?: 'all' | 'failed' }

export interface LimitInfo {
  rule: RuleName
  max: number
  windowMs: number
  /** Whole seconds, at least 1. */
  retryAfter: number
}

export interface ApiKeyOption {
  /** The request header that carries the key. Default: `x-api-key`. */
  header?: string
  /** Whether the key is a good one; `{ max }` replaces the rule's `max`. Where it throws, the address counts. */
  verify(key: string): boolean | { max: number } | Promise<boolean | { max: number }>
}

/**
 * What a failing or hanging store leads to. `local`: this process counts for itself meanwhile; `deny`: 503; `allow`: no
 * limits meanwhile.
 */
export type OnStoreError = 'local' | 'deny' | 'allow'

interface Common<Request, Reply> {
  /** Replaces the client's address as what is counted. Where it throws or returns nothing, the address counts. */
  key?: (request: Request) => string | Promise<string>
  /** The custom 429 handler: may set status and headers; what it returns is the body. */
  onLimit?: (request: Request, reply: Reply, info: LimitInfo) => unknown
}

/** The option `rateLimit`, but for `false`. */
export interface RateLimitOptionsOf<Request, Reply> extends Common<Request, Reply>, Partial<Record<RuleName, RuleOption>> {
  apiKey?: ApiKeyOption
  /** Addresses and CIDR ranges that the per-address rules don't limit. The `account` rule does. */
  bypass?: string[]
  /** Of the keys in a shared store. Default: `rl:`. */
  prefix?: string
  /** Default: `local`. */
  onStoreError?: OnStoreError
}

export interface ResolvedRateLimitsOf<Request, Reply> extends Common<Request, Reply> {
  rules: Record<RuleName, Rule | false>
  apiKey?: Required<ApiKeyOption>
  bypass: readonly string[]
  prefix: string
  onStoreError: OnStoreError
}

export const DEFAULT_RULES: Readonly<Record<RuleName, Readonly<Rule>>> = {
  login: { windowMs: 900_000, max: 5, count: 'all' },
  register: { windowMs: 3_600_000, max: 3, count: 'all' },
  passwordReset: { windowMs: 3_600_000, max: 3, count: 'all' },
  account: { windowMs: 900_000, max: 10, count: 'failed' },
  refresh: { windowMs: 900_000, max: 100, count: 'failed' }
}

/** Fills in the defaults. `false`: everything is off. */
export function resolveRateLimits<Request, Reply> (option: RateLimitOptionsOf<Request, Reply> | false = {}): ResolvedRateLimitsOf<Request, Reply> | false {
  if (option === false) return false
  return {
    rules: {
      login: ruleOf('login', option.login),
      register: ruleOf('register', option.register),
      passwordReset: ruleOf('passwordReset', option.passwordReset),
      account: ruleOf('account', option.account),
      refresh: ruleOf('refresh', option.refresh)
    },
    bypass: option.bypass ?? [],
    prefix: option.prefix ?? 'rl:',
    onStoreError: option.onStoreError ?? 'local',
    ...(option.apiKey && { apiKey: { ...option.apiKey, header: (option.apiKey.header ?? 'x-api-key').toLowerCase(), verify: option.apiKey.verify } }),
    ...(option.key && { key: option.key }),
    ...(option.onLimit && { onLimit: option.onLimit })
  }
}

function ruleOf (name: RuleName, option: RuleOption | undefined): Rule | false {
  return option === false ? false : { ...DEFAULT_RULES[name], ...option }
}
