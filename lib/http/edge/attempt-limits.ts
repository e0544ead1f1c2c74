import type { FastifyReply, FastifyRequest } from 'fastify'
import {
  accountKey,
  addressKey,
  apiKeyKey,
  customKey,
  knownDeviceKey,
  networkKey,
  partKey,
  recipientKey,
  userKey
} from '../../limits/attempt.ts'
import type { BypassList } from '../../limits/bypass-list.ts'
import { type AddressRuleName, networkMax, type RateLimitsOf, type Rule, type RuleName } from '../../limits/rules.ts'
import type { AttemptLimit } from '../../ports/attempt-store.ts'
import { MAX_COUNTED } from '../../protocol/bounds.ts'
import { hookFailed } from './error-reply.ts'

/**
 * Describes an attempt that the limiter counts before the work: under the address rule `rule`, and with `account` also
 * under the rule `account`.
 */
export interface AttemptCheck {
  rule: Exclude<AddressRuleName, 'refresh' | 'clientMetadata'>
  /**
   * The id of the signed-in user, or `client` and the id of a machine client. The rule then counts per id instead of
   * per address.
   */
  userId?: string
  /** True if a successful attempt stays counted, even under a rule that counts failures only. */
  kept?: boolean
  /** The normalized username, whether such a user exists or not. */
  account?: string
  /** The normalized username of the recipient of a message. The rule then also counts per recipient. */
  recipient?: string
  /**
   * Counts the attempt in separate counters under this `name` instead of the rule's counter for the address. The rule's
   * counter for `userId` still counts. `together`: the maximum of all callers together. `ofAddress`: the maximum of one
   * address, as a multiple of the rule's `max`. 0 means no limit per address.
   */
  apart?: { name: string; together: number; ofAddress: number }
  /**
   * The id of the browser, if the recipient has had a session in this browser. Requests from such a browser have a
   * counter of their own.
   */
  device?: string | null
}

interface Parts {
  options: RateLimitsOf<FastifyRequest, FastifyReply>
  bypass: BypassList
  deps: { log: Parameters<typeof hookFailed>[0] }
}

/** Lists the counters of one attempt. The response headers report the first one that is not of the rule `account`. */
export async function countersOf(
  request: FastifyRequest,
  { apart, ...check }: Omit<AttemptCheck, 'rule'> & { rule: AddressRuleName },
  knownDevice: string | null,
  { options, bypass, deps }: Parts
): Promise<AttemptLimit[]> {
  const limits: AttemptLimit[] = []
  const rule = options.rules[check.rule]
  // A limit per user ignores the bypass list. Any other limit looks for the IP address in the list, even if the request
  // has an API key or a key of the host.
  if (rule !== false && check.userId !== undefined)
    limits.push(limitOf(check.rule, rule, { key: userKey(check.userId), max: rule.max }))
  else if (rule !== false && apart === undefined && !bypass.has(request.ip)) {
    const named = await callerKey(request, rule.max, options, deps)
    limits.push(limitOf(check.rule, rule, named ?? { key: addressKey(request.ip), max: rule.max }))
    // Adds the network limit after the address limit, because the response headers report the first limit.
    const network = named === null && check.rule === 'login' ? networkKey(request.ip) : null
    if (network !== null) limits.push(limitOf(check.rule, rule, { key: network, max: networkMax(rule.max) }))
  }
  if (rule !== false && apart !== undefined) {
    const { name, together, ofAddress } = apart
    if (ofAddress > 0 && !bypass.has(request.ip)) {
      const { key } = (await callerKey(request, rule.max, options, deps)) ?? { key: addressKey(request.ip) }
      limits.push(
        limitOf(check.rule, rule, { key: partKey(name, key), max: Math.min(rule.max * ofAddress, MAX_COUNTED) })
      )
    }
    limits.push(limitOf(check.rule, rule, { key: partKey(name, 'all'), max: together }))
  }
  // The recipient limit applies to all callers, even those on the bypass list, because it protects the recipient's
  // mailbox. A known browser has a counter of its own, which strangers cannot use up.
  if (rule !== false && check.recipient !== undefined)
    limits.push(limitOf(check.rule, rule, { key: recipientKey(check.recipient, check.device ?? null), max: rule.max }))
  const account = options.rules.account
  if (account !== false && check.account !== undefined) {
    const key = knownDevice === null ? accountKey(check.account) : knownDeviceKey(check.account, knownDevice)
    limits.push(limitOf('account', account, { key, max: account.max }))
  }
  return limits
}

export function limitOf(name: RuleName, rule: Rule, { key, max }: { key: string; max: number }): AttemptLimit {
  return { rule: name, key, windowMs: rule.windowMs, max }
}

/**
 * Returns the counter key that replaces the address. The key comes from a verified API key, or else from the host's
 * `rateLimit.key`. `null`: the address counts.
 */
async function callerKey(
  request: FastifyRequest,
  max: number,
  options: Parts['options'],
  { log }: Parts['deps']
): Promise<{ key: string; max: number } | null> {
  const { apiKey, key } = options
  const presented = apiKey === null ? undefined : request.headers[apiKey.header]
  if (apiKey !== null && typeof presented === 'string' && presented !== '') {
    try {
      const verified = (await apiKey.verify?.(presented)) ?? false
      // A key that does not verify is ignored, because otherwise each made-up key would have an allowance of its own.
      if (verified !== false)
        return { key: apiKeyKey(presented), max: verified === true ? max : Math.min(verified.max, MAX_COUNTED) }
    } catch (error) {
      hookFailed(log, error, 'rateLimit.apiKey.verify failed; the attempt counts as one without a key')
    }
  }
  if (key !== null) {
    try {
      const custom = await key(request)
      if (custom !== '') return { key: customKey(custom), max }
    } catch (error) {
      hookFailed(log, error, 'rateLimit.key failed; the address counts')
    }
  }
  return null
}
