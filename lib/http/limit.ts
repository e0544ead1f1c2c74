import type { FastifyBaseLogger, FastifyReply, FastifyRequest } from 'fastify'
import { OAuthError } from '../errors.ts'
import type { Events } from '../events.ts'
import { type AttemptAtWork, runAttempt, UNLIMITED } from '../limits/attempt.ts'
import { accountKey, addressKey, apiKeyKey, customKey, knownDeviceKey } from '../limits/attempt-keys.ts'
import { type BypassList, parseBypassList } from '../limits/bypass-list.ts'
import { extendDevice, verifyDevice } from '../limits/known-devices.ts'
import type { AddressRuleName, LimitInfo, ResolvedRateLimitsOf, Rule, RuleName } from '../limits/rules.ts'
import type { AttemptLimit, AttemptOutcome, AttemptStanding, AttemptStore } from '../ports/attempt-store.ts'
import type { Random } from '../ports/random.ts'
import { isFromBrowser, readDeviceCookie, setDeviceCookie } from './device-cookie.ts'

/** What an attempt counts under: an address rule, and where `account` is given, the `account` rule too. */
export interface AttemptCheck {
  rule: AddressRuleName
  /** The normalised username, whether such a user exists or not. */
  account?: string
  /** The work hands the attempt to a store that may count it in the same step, and does nothing but look before that. */
  byStore?: true
}

export interface RequestLimiter {
  /**
   * Counts the attempt, does the work, and gives back what the outcome says (see limits/attempt).
   * @throws LimitedError where a limit refuses: before the work has done anything
   */
  run<T>(request: FastifyRequest, reply: FastifyReply, check: AttemptCheck, work: (attempt: AttemptAtWork) => Promise<T>): Promise<T>
  close(): Promise<void>
}

export interface RequestLimiterDeps {
  /** @fastify/rate-limit over an attempt store. */
  attempts: {
    reserve(attemptId: string, limits: readonly AttemptLimit[]): Promise<AttemptOutcome>
    refund(attemptId: string, limits: readonly AttemptLimit[]): void | Promise<void>
    /** The counters, where they are well and the state keeps them beside its records; else `null`. */
    beside(): AttemptStore | null
    close(): Promise<void>
  }
  random: Random
  events: Events
  log: Pick<FastifyBaseLogger, 'warn'>
  deviceKey: Uint8Array
  /** False for an http loopback issuer. */
  secureCookies: boolean
}

/** 429. `body` is what is sent: the usual one, or what the host's `onLimit` returned. @see RFC 6585 §4 */
export class LimitedError extends OAuthError {
  readonly body: unknown
  /** Whether `body` is the host's own. Then it is sent on pages too. */
  readonly custom: boolean

  constructor (info: LimitInfo, custom?: { body: unknown, statusCode: number, contentType?: string }) {
    super('too_many_requests', 'Too many attempts. Try again later.', {
      withoutStack: true,
      detail: `rule ${info.rule}`,
      // A handler of the host has set its headers on the reply, and none of ours may undo them. Fastify forgets one when a route throws.
      ...(custom === undefined
        ? { headers: { 'retry-after': String(info.retryAfter) } }
        : { statusCode: custom.statusCode, ...(custom.contentType === undefined ? {} : { headers: { 'content-type': custom.contentType } }) })
    })
    this.custom = (custom?.body ?? null) !== null
    this.body = custom?.body ?? { error: this.error, error_description: this.message, retryAfter: info.retryAfter }
  }
}

type Limits = ResolvedRateLimitsOf<FastifyRequest, FastifyReply>

/** The limits of interface §5 over a request. `false`: none at all. */
export function createRequestLimiter (options: Limits | false, deps: RequestLimiterDeps): RequestLimiter {
  if (options === false) return { run: async (_request, _reply, _check, work) => await work(UNLIMITED), close: async () => { await deps.attempts.close() } }
  const bypass = parseBypassList(options.bypass)
  const { attempts } = deps

  return {
    async run (request, reply, check, work) {
      const device = options.rules.account === false ? null : deviceOf(request, check, deps)
      const limits = await limitsOf(request, check, device?.known ?? null, { options, bypass, deps })
      const result = limits.length === 0
        ? await work(UNLIMITED)
        : await runAttempt({ id: deps.random.id(), limits, givenBack: limits.filter(({ rule }) => countsFailuresOnly(options, rule)), byStore: check.byStore === true }, work, {
          reserve: attempts.reserve,
          refund: attempts.refund,
          beside: attempts.beside,
          show (standings) { showStanding(reply, standings) },
          refuse: async (by) => await refuse(request, reply, by, options, deps)
        })
      device?.remember(reply)
      return result
    },
    close: async () => { await attempts.close() }
  }
}

function countsFailuresOnly (options: Limits, rule: string): boolean {
  const found = options.rules[rule as RuleName]
  return found !== false && found.count === 'failed'
}

interface Parts { options: Limits, bypass: BypassList, deps: RequestLimiterDeps }

async function limitsOf (request: FastifyRequest, check: AttemptCheck, knownDevice: string | null, { options, bypass, deps }: Parts): Promise<AttemptLimit[]> {
  const limits: AttemptLimit[] = []
  const rule = options.rules[check.rule]
  // The bypass list is about the address, whatever the attempt would be counted under.
  if (rule !== false && !bypass.has(request.ip)) limits.push(limitOf(check.rule, rule, await callerKey(request, rule.max, options, deps)))
  const account = options.rules.account
  if (account !== false && check.account !== undefined) {
    const key = knownDevice === null ? accountKey(check.account) : knownDeviceKey(check.account, knownDevice)
    limits.push(limitOf('account', account, { key, max: account.max }))
  }
  return limits
}

function limitOf (name: RuleName, rule: Rule, { key, max }: { key: string, max: number }): AttemptLimit {
  return { rule: name, key, windowMs: rule.windowMs, max }
}

/** What a request is counted under: a verified API key, what the host says, or the address. */
async function callerKey (request: FastifyRequest, max: number, options: Limits, { log }: RequestLimiterDeps): Promise<{ key: string, max: number }> {
  const { apiKey, key } = options
  const presented = apiKey === undefined ? undefined : request.headers[apiKey.header ?? 'x-api-key']
  if (apiKey !== undefined && typeof presented === 'string' && presented !== '') {
    try {
      const verified = await apiKey.verify(presented)
      // A key that does not verify is no key: made-up ones must not each have an allowance.
      if (verified === true) return { key: apiKeyKey(presented), max }
      if (typeof verified === 'object' && Number.isInteger(verified.max) && verified.max > 0) return { key: apiKeyKey(presented), max: verified.max }
    } catch (error) {
      log.warn({ err: error }, 'fastify-authority: rateLimit.apiKey.verify failed; the address counts')
    }
  }
  if (key !== undefined) {
    try {
      const custom: unknown = await key(request)
      if (typeof custom === 'string' && custom !== '') return { key: customKey(custom), max }
    } catch (error) {
      log.warn({ err: error }, 'fastify-authority: rateLimit.key failed; the address counts')
    }
  }
  return { key: addressKey(request.ip), max }
}

/** The usual headers, of the address rule alone: the account's count would tell who is being tried. */
function showStanding (reply: FastifyReply, standings: readonly AttemptStanding[]): void {
  const shown = standings.find(({ rule }) => rule !== 'account')
  if (shown === undefined) return
  reply.header('x-ratelimit-limit', shown.max)
  reply.header('x-ratelimit-remaining', shown.remaining)
  reply.header('x-ratelimit-reset', Math.ceil(shown.resetMs / 1000))
}

async function refuse (request: FastifyRequest, reply: FastifyReply, by: AttemptStanding, options: Limits, { events, log }: RequestLimiterDeps): Promise<never> {
  const info: LimitInfo = { rule: by.rule as RuleName, max: by.max, windowMs: by.windowMs, retryAfter: Math.max(1, Math.ceil(by.resetMs / 1000)) }
  events.emit('rate_limited', { ip: request.ip, userAgent: request.headers['user-agent'] ?? null, ...info })
  if (options.onLimit === undefined) throw new LimitedError(info)
  reply.code(429).header('retry-after', String(info.retryAfter))
  let custom: ConstructorParameters<typeof LimitedError>[1]
  try {
    const body: unknown = await options.onLimit(request, reply, info)
    const contentType = reply.getHeader('content-type')
    custom = { body, statusCode: reply.statusCode, ...(typeof contentType === 'string' ? { contentType } : {}) }
  } catch (error) {
    log.warn({ err: error }, 'fastify-authority: rateLimit.onLimit failed; the usual answer is sent')
    reply.code(429)
  }
  throw new LimitedError(info, custom)
}

/** A browser that signed in to this account before: strangers' failures don't lock it out. */
function deviceOf (request: FastifyRequest, { account }: AttemptCheck, { deviceKey, random, secureCookies }: RequestLimiterDeps): { known: string | null, remember(reply: FastifyReply): void } | null {
  if (account === undefined) return null
  const token = readDeviceCookie(request, secureCookies)
  return {
    known: verifyDevice(deviceKey, token, account),
    remember (reply) {
      if (!reply.sent && isFromBrowser(request)) setDeviceCookie(reply, extendDevice(deviceKey, token, account, random.id()), secureCookies)
    }
  }
}
