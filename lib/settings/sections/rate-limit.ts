import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from '@sinclair/typebox'
import type { ApiKeyOption, LimitInfo, RateLimitsOf, RuleName } from '../../limits/rules.ts'
import type { OnStoreError } from '../../ports/attempt-store.ts'
import { MAX_COUNTED } from '../../protocol/bounds.ts'
import { fn, integer, oneOf, optional, words } from '../schema-words.ts'

/** Settings of a rule. Absent ones have their default. `false` turns it off. */
export type RuleOption = false | { windowMs?: number | undefined; max?: number | undefined }
/** Settings of a rule for which the host can choose the counted attempts. */
export type CountingRuleOption = false | (Exclude<RuleOption, false> & { count?: 'all' | 'failed' | undefined })

/** The option `rateLimit`, unless it is `false`. */
export interface RateLimitOptions extends Partial<Record<RuleName, RuleOption | undefined>> {
  login?: CountingRuleOption | undefined
  register?: CountingRuleOption | undefined
  passwordReset?: CountingRuleOption | undefined
  /** Replaces the client's address as the counted key. If it throws or returns nothing, the address counts. */
  key?: ((request: FastifyRequest) => string | Promise<string>) | undefined
  /** The custom 429 handler. It may set status and headers, and returns the body. */
  onLimit?: ((request: FastifyRequest, reply: FastifyReply, info: LimitInfo) => unknown) | undefined
  apiKey?: ApiKeyOption | undefined
  /** Addresses and CIDR ranges that the per-address rules do not limit. The `account` rule does. */
  bypass?: string[] | undefined
  /** Prefix of the keys in a shared store. Default: `rl:`. */
  prefix?: string | undefined
  /** Default: `local`. */
  onStoreError?: OnStoreError | undefined
}

export type RateLimits = RateLimitsOf<FastifyRequest, FastifyReply>

export const RATE_LIMIT_DEFAULTS = {
  login: { windowMs: 900_000, max: 5, count: 'all' },
  register: { windowMs: 3_600_000, max: 3, count: 'all' },
  passwordReset: { windowMs: 3_600_000, max: 3, count: 'all' },
  account: { windowMs: 900_000, max: 10, count: 'failed' },
  secondFactor: { windowMs: 900_000, max: 5, count: 'failed' },
  refresh: { windowMs: 900_000, max: 100, count: 'failed' },
  connect: { windowMs: 900_000, max: 30, count: 'failed' },
  emailCode: { windowMs: 3_600_000, max: 3, count: 'all' },
  apiKey: { header: 'x-api-key' },
  bypass: [] as string[],
  prefix: 'rl:',
  onStoreError: 'local'
} as const

const ALLOWANCE = {
  windowMs: optional(integer(1, 86_400_000 * 31, ' of milliseconds', { description: 'Length of the sliding window.' })),
  max: optional(
    Type.Integer({
      minimum: 1,
      maximum: MAX_COUNTED,
      takes:
        `a whole number from 1 to ${MAX_COUNTED}: each attempt looks at all that is counted, and ` +
        'the store does nothing else meanwhile',
      description: 'How many pass in any window.'
    })
  )
}
const COUNT = {
  count: optional(oneOf(['all', 'failed'], { description: '`"failed"`: an attempt that succeeds is given back.' }))
}

const ruleOf = (properties: typeof ALLOWANCE, description: string, shown: string) =>
  optional(
    Type.Union([Type.Literal(false), Type.Object(properties, { additionalProperties: false })], {
      takes: `false or { ${Object.keys(properties).join(', ')} }`,
      description,
      default: shown
    })
  )
const rule = (description: string, shown: string) => ruleOf(ALLOWANCE, description, shown)
const countingRule = (description: string, shown: string) => ruleOf({ ...ALLOWANCE, ...COUNT }, description, shown)

export const RATE_LIMIT_SCHEMA = optional(
  Type.Union(
    [
      Type.Literal(false),
      Type.Object(
        {
          login: countingRule('Every password attempt, per address.', '5 in 15 minutes'),
          register: countingRule('Registrations, per address.', '3 in an hour'),
          passwordReset: countingRule(
            'Password reset requests, per address. With it goes a bound per account: one message of a ' +
              'kind in five minutes.',
            '3 in an hour'
          ),
          account: rule('Failed attempts on one username, from whatever address.', '10 in 15 minutes'),
          secondFactor: rule(
            'Wrong codes of second factors of one user, from whatever address and at every way in. A ' +
              'browser that this user has signed in with completely has an allowance of its own. Beside ' +
              'it, authenticator apps are disabled for good after 100 wrong codes in a row, whatever ' +
              'this rule says.',
            '5 in 15 minutes'
          ),
          refresh: rule(
            'Refresh tokens, codes, one-time tokens and client secrets that were no good, per address, ' +
              'counted when they have failed. What is good always passes.',
            '100 in 15 minutes'
          ),
          connect: rule(
            'Sign-ins through connections that come back from the provider, per address: each has the ' +
              'server ask there.',
            '30 in 15 minutes, failed ones'
          ),
          emailCode: rule(
            'Sign-in codes that are asked for, per address that asks, and per name that they are asked ' +
              'for. A browser in which that person has been signed in has an allowance of its own for ' +
              'the name. Beside it, five wrong codes end a code, whatever this rule says.',
            '3 in an hour'
          ),
          key: optional(
            fn({ takes: 'a function', description: '`(request) => string` replaces the address as what is counted.' })
          ),
          apiKey: optional(
            Type.Object(
              {
                header: optional(
                  Type.String({
                    default: RATE_LIMIT_DEFAULTS.apiKey.header,
                    pattern: "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$",
                    takes: 'a header name',
                    description: 'The request header with the key.'
                  })
                ),
                verify: fn({
                  takes: 'a function',
                  description: '`(key) => boolean | { max }`, or a promise of it. Where it throws, the address counts.'
                })
              },
              {
                additionalProperties: false,
                takes: '{ header, verify }',
                description: 'Counts by verified API key; an absent or unverified key falls back to the address.'
              }
            )
          ),
          bypass: optional(
            words({
              default: [],
              takes: 'an array of addresses and CIDR ranges',
              description: "Addresses that the per-address rules don't limit."
            })
          ),
          prefix: optional(
            Type.String({
              minLength: 1,
              default: RATE_LIMIT_DEFAULTS.prefix,
              takes: 'a string that is not empty',
              description: 'Key prefix of the counters in a shared store.'
            })
          ),
          onStoreError: optional(
            oneOf(['local', 'deny', 'allow'], {
              default: RATE_LIMIT_DEFAULTS.onStoreError,
              description: 'What a counter store that fails or hangs for 250 ms leads to.'
            })
          ),
          onLimit: optional(
            fn({
              takes: 'a function',
              description: '`(request, reply, { rule, max, windowMs, retryAfter }) => body`: the custom 429 handler.'
            })
          )
        },
        { additionalProperties: false }
      )
    ],
    {
      takes: 'false or an object of rules',
      description:
        '`false` turns all limits off. Each rule is `false` or `{ windowMs, max }`; `login`, `register` and ' +
        '`passwordReset` take `count` too.'
    }
  )
)

/** `false`: all rules are off. */
export function resolveRateLimits(given: RateLimitOptions | false = {}): RateLimits | false {
  if (given === false) return false
  const {
    bypass = RATE_LIMIT_DEFAULTS.bypass,
    prefix = RATE_LIMIT_DEFAULTS.prefix,
    onStoreError = RATE_LIMIT_DEFAULTS.onStoreError,
    key = null,
    onLimit = null,
    apiKey
  } = given
  const { header = RATE_LIMIT_DEFAULTS.apiKey.header } = apiKey ?? {}
  return {
    rules: {
      login: resolveRule('login', given.login),
      register: resolveRule('register', given.register),
      passwordReset: resolveRule('passwordReset', given.passwordReset),
      account: resolveRule('account', given.account),
      secondFactor: resolveRule('secondFactor', given.secondFactor),
      refresh: resolveRule('refresh', given.refresh),
      connect: resolveRule('connect', given.connect),
      emailCode: resolveRule('emailCode', given.emailCode)
    },
    bypass,
    prefix,
    onStoreError,
    key,
    onLimit,
    // In the spelling of Node.js headers.
    apiKey: apiKey === undefined ? null : { header: header.toLowerCase(), verify: apiKey.verify }
  }
}

function resolveRule(name: RuleName, given: CountingRuleOption = {}): RateLimits['rules'][RuleName] {
  if (given === false) return false
  const {
    windowMs = RATE_LIMIT_DEFAULTS[name].windowMs,
    max = RATE_LIMIT_DEFAULTS[name].max,
    count = RATE_LIMIT_DEFAULTS[name].count
  } = given
  return { windowMs, max, count }
}
