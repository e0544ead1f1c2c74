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

/** The limits of an attempt before it is made: an address rule, and with `account` the `account` rule too. */
export interface AttemptCheck {
  rule: Exclude<AddressRuleName, 'refresh' | 'clientMetadata'>
  /** The id of the signed-in user who asks. They are counted instead of their address. */
  userId?: string
  /** True if the attempt counts although it succeeds and the rule counts failures only. */
  kept?: boolean
  /** The normalised username, whether such a user exists or not. */
  account?: string
  /** The normalised name of a recipient. It counts under the same rule as the address that asks. */
  recipient?: string
  /**
   * Counts apart from the other attempts of the rule, under this name. `together`: the most attempts of all callers.
   * `ofAddress`: the allowance of the caller's address, in allowances of the rule; 0: it is not counted.
   */
  apart?: { name: string; together: number; ofAddress: number }
  /**
   * The id of a browser in which the recipient has had a session: requests there have an allowance of their own, apart
   * from that of all others.
   */
  device?: string | null
}

interface Parts {
  options: RateLimitsOf<FastifyRequest, FastifyReply>
  bypass: BypassList
  deps: { log: Parameters<typeof hookFailed>[0] }
}

/** The limits of one attempt. */
export async function limitsOf(
  request: FastifyRequest,
  { apart, ...check }: Omit<AttemptCheck, 'rule'> & { rule: AddressRuleName },
  knownDevice: string | null,
  { options, bypass, deps }: Parts
): Promise<AttemptLimit[]> {
  const limits: AttemptLimit[] = []
  const rule = options.rules[check.rule]
  // The bypass list compares the address, even if an API key or the host's own key would be counted.
  if (rule !== false && check.userId !== undefined)
    limits.push(limitOf(check.rule, rule, { key: userKey(check.userId), max: rule.max }))
  else if (rule !== false && apart === undefined && !bypass.has(request.ip)) {
    const named = await callerKey(request, rule.max, options, deps)
    limits.push(limitOf(check.rule, rule, named ?? { key: addressKey(request.ip), max: rule.max }))
    // The limit of the network comes after that of the address, because the answer shows the first limit.
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
  // Applies to all callers, from any number of addresses, and to the bypass list too, because it protects the
  // recipient's mailbox. Strangers use up nothing of the recipient's own allowance in a known browser.
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

/** The key that counts instead of the address: a verified API key, or the host's own. `null`: the address counts. */
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
      hookFailed(log, error, 'rateLimit.apiKey.verify failed; the address counts')
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
