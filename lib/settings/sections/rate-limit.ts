import type { FastifyReply, FastifyRequest } from 'fastify'
import type { ApiKeyOption, LimitInfo, RateLimitsOf, RuleName } from '../../limits/rules.ts'
import { MAX_COUNTED } from '../../protocol/bounds.ts'
import {
  filled,
  fn,
  type Given,
  integer,
  oneOf,
  type Option,
  type Options,
  orFalse,
  section,
  text,
  words
} from '../schema-words.ts'

const MINUTE = 60_000
const QUARTER = 900_000
const HOUR = 3_600_000
const TEN_MINUTES = 600_000

const allowance = (windowMs: number, max: number) => ({
  /** Length of the sliding window in milliseconds. */
  windowMs: integer(1, 86_400_000 * 31, { of: 'milliseconds', default: windowMs }),
  /** How many attempts pass in any window. */
  max: integer(1, MAX_COUNTED, {
    default: max,
    takes:
      `a whole number from 1 to ${MAX_COUNTED}: each attempt looks at all that is counted, and ` +
      'the store does nothing else meanwhile'
  })
})
const COUNT = {
  /** `"failed"`: an attempt that succeeds no longer counts. */
  count: oneOf(['all', 'failed'], { default: 'all' })
}

/** Settings of a rule. `false` turns it off. */
export type RuleOption = false | Given<ReturnType<typeof allowance>>
/** Settings of a rule for which the host can choose the counted attempts. */
export type CountingRuleOption = false | (Given<ReturnType<typeof allowance>> & Given<typeof COUNT>)

type RuleOf<Value> = Option<Value> & {
  options: Options
  /** The counted attempts, unless the host chooses them. */
  counts: 'all' | 'failed'
}

function ruleOf<Value>(windowMs: number, max: number, counts: 'all' | 'failed', more: Options) {
  const options = { ...allowance(windowMs, max), ...more }
  const span = { [MINUTE]: 'a minute', [HOUR]: 'an hour' }[windowMs] ?? `${windowMs / MINUTE} minutes`
  const said = {
    otherwise: `${max}${counts === 'failed' ? ' failed' : ''} in ${span}`,
    takes: `false or { ${Object.keys(options).join(', ')} }`
  }
  return { ...orFalse(section(options), said), options, counts } as unknown as RuleOf<Value>
}
const rule = (windowMs: number, max: number, counts: 'all' | 'failed') => ruleOf<RuleOption>(windowMs, max, counts, {})
const countingRule = (windowMs: number, max: number) => ruleOf<CountingRuleOption>(windowMs, max, 'all', COUNT)

const API_KEY = {
  header: text({ default: 'x-api-key', pattern: "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$", takes: 'a header name' }),
  verify: fn<NonNullable<ApiKeyOption['verify']>>()
}

const RULES = {
  /**
   * Every password attempt, per address. For IPv6, each /64 network counts as one address, and each /48 network has
   * twenty times this allowance, at most 10,000.
   */
  login: countingRule(QUARTER, 5),
  /** Registrations, per address. */
  register: countingRule(HOUR, 3),
  /**
   * Password reset requests, per address. Besides, each account gets at most one message of a kind in five minutes.
   */
  passwordReset: countingRule(HOUR, 3),
  /**
   * Failed attempts on one username, from any address. A browser in which this user has signed in with the current
   * password has an allowance of its own.
   */
  account: rule(QUARTER, 10, 'failed'),
  /**
   * Wrong codes of second factors of one user, from any address and at every way in. A browser in which this user has
   * completed a sign-in has an allowance of its own. Independently of this rule, after 100 wrong codes in a row
   * authenticator apps work only in such browsers.
   */
  secondFactor: rule(QUARTER, 5, 'failed'),
  /**
   * Bad refresh tokens, codes, one-time tokens and client secrets, per address, counted after they have failed. Valid
   * ones always pass.
   */
  refresh: rule(QUARTER, 100, 'failed'),
  /**
   * Failed sign-ins through providers, per address, because for each the server calls the provider. Also sign-ups
   * through a connection with `domains`, and with an email address that the provider controls.
   */
  connect: rule(QUARTER, 30, 'failed'),
  /**
   * Requests for sign-in codes, per address and per requested name. A browser in which the user of that name has been
   * signed in has an allowance of its own for the name. Independently of this rule, a code ends after five wrong
   * attempts.
   */
  emailCode: rule(HOUR, 3, 'all'),
  /**
   * Wrong user codes of the device grant, per user and per address. All users together have a thousand. Requests of
   * devices count separately: twenty times this allowance per address for public clients, and 10,000 for all devices
   * together.
   */
  device: rule(TEN_MINUTES, 5, 'failed'),
  /**
   * Fetches of the documents of unregistered clients, per address. An authorization request of a signed-in user does
   * not count.
   */
  clientMetadata: rule(MINUTE, 30, 'all'),
  /** Requests of administrators, per person or machine client. */
  admin: rule(MINUTE, 120, 'all')
}

const REST = {
  /**
   * `(request) => string`: replaces the address as the counted key. If it throws or returns nothing, the address
   * counts.
   */
  key: fn<(request: FastifyRequest) => string | Promise<string>>(),
  /** Counts by verified API key. Without a valid key, the result of `key` or the address counts. */
  apiKey: section<ApiKeyOption>(API_KEY, { takes: '{ header, verify }' }),
  /**
   * Addresses and CIDR ranges that the per-address rules do not limit. Limits per username, user and recipient still
   * apply.
   */
  bypass: words({ default: [], takes: 'an array of addresses and CIDR ranges' }),
  /** Key prefix of the counters in a shared store. */
  prefix: text({ minLength: 1, default: 'rl:', takes: 'a string that is not empty' }),
  /**
   * Applies while the counter store fails or takes longer than 250 ms. `"local"`: each instance counts by itself.
   * `"deny"`: all attempts are refused. `"allow"`: all attempts pass.
   */
  onStoreError: oneOf(['local', 'deny', 'allow'], { default: 'local' }),
  /**
   * `(request, reply, { rule, max, windowMs, retryAfter }) => body`: the custom 429 handler. It may set status and
   * headers.
   */
  onLimit: fn<(request: FastifyRequest, reply: FastifyReply, info: LimitInfo) => unknown>()
}

/** The option `rateLimit`, unless it is `false`. */
export interface RateLimitOptions extends Given<typeof RULES>, Given<typeof REST> {}

export const RATE_LIMIT_OPTION = orFalse(section<RateLimitOptions>({ ...RULES, ...REST }), {
  takes: 'false or an object of rules'
})

export type RateLimits = RateLimitsOf<FastifyRequest, FastifyReply>

/** `false`: all rules are off. */
export function resolveRateLimits(given: RateLimitOptions | false = {}): RateLimits | false {
  if (given === false) return false
  const { bypass, prefix, onStoreError, key, onLimit, apiKey } = filled(REST, given)
  const rules = Object.entries(RULES).map(([name, { options, counts }]) => {
    const chosen = given[name as RuleName]
    return [name, chosen === false ? false : { count: counts, ...filled(options, chosen) }]
  })
  return {
    rules: Object.fromEntries(rules) as RateLimits['rules'],
    bypass,
    prefix,
    onStoreError,
    key,
    onLimit,
    apiKey: apiKey === null ? null : inNodeSpelling(filled(API_KEY, apiKey))
  }
}

/** Lower case, as Node.js spells the names of headers. */
function inNodeSpelling<Key extends { header: string }>(key: Key): Key {
  return { ...key, header: key.header.toLowerCase() }
}
