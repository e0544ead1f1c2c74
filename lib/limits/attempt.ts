import { OAuthError, type OAuthErrorCode, UpstreamError } from '../errors.ts'
import { isOutage } from '../ports/outage.ts'
import type { AttemptLimit, AttemptOutcome, AttemptStanding } from '../ports/attempt-store.ts'
import type { Random } from '../ports/cryptography.ts'
import type { Rule } from './rules.ts'
import { hash } from 'node:crypto'
import { isIPv4, isIPv6 } from 'node:net'

interface AttemptPlan {
  id: string
  limits: readonly AttemptLimit[]
  /** The subset of `limits` that counts failures only. */
  givenBack: readonly AttemptLimit[]
}

export interface AttemptDeps {
  reserve(attemptId: string, limits: readonly AttemptLimit[]): Promise<AttemptOutcome>
  /** Never rejects. */
  refund(attemptId: string, limits: readonly AttemptLimit[]): void | Promise<void>
  /** Reports the state of the limits to the caller. */
  show(standings: readonly AttemptStanding[]): void
  /** Rejects with the refusal for the caller. */
  refuse(by: AttemptStanding): Promise<never>
}

/**
 * For secrets that can be guessed. Counts the attempt before the work. After a success, gives the attempt back under
 * the limits that count only failures. After an outage or an overload (`isNobodysFault`), gives it back under all
 * limits.
 *
 * A caller over a limit never runs the work, however many calls run at once, and gets the error of `refuse`.
 */
export async function reserveAttempt<Result>(
  { id, limits, givenBack }: AttemptPlan,
  work: () => Promise<Result>,
  deps: AttemptDeps
): Promise<Result> {
  await count(id, limits, deps)
  let result: Result
  try {
    result = await work()
  } catch (error) {
    if (isNobodysFault(error)) void deps.refund(id, limits)
    throw error
  }
  // Not awaited, so that the answer does not wait. The next count of this instance comes after it, because both use one
  // connection.
  if (givenBack.length > 0) void deps.refund(id, givenBack)
  return result
}

/**
 * For secrets of 256 random bits, which nobody can guess. Does the work whatever the limits say, so that a good secret
 * is never refused because of others at the same address. Counts a failed proof. Over the limit, the caller gets the
 * error of `refuse` instead of the reason of the failure.
 */
export async function countFailure<Result>(
  plan: () => Promise<Pick<AttemptPlan, 'id' | 'limits'>>,
  work: () => Promise<Result>,
  deps: AttemptDeps
): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    if (isFailedProof(error)) {
      const { id, limits } = await plan()
      if (limits.length > 0) await count(id, limits, deps)
    }
    throw error
  }
}

async function count(
  id: string,
  limits: readonly AttemptLimit[],
  { reserve, show, refuse }: AttemptDeps
): Promise<void> {
  const outcome = await reserve(id, limits)
  show(outcome.standings)
  if (!outcome.allowed) await refuse(outcome.refusedBy)
}

const FAILED_PROOFS: readonly OAuthErrorCode[] = [
  'invalid_client',
  'invalid_grant',
  'invalid_dpop_proof',
  'invalid_token',
  'invalid_code',
  'invalid_credential'
]

/** A request that fails for another reason (a scope, a new password, a missing field) was not a guess. */
function isFailedProof(error: unknown): boolean {
  return error instanceof OAuthError && FAILED_PROOFS.includes(error.error)
}

/**
 * True if the service could not do the work: its queue is full, or a store or a provider is known to be unreachable.
 * Such an attempt is given back, so that retries during an outage do not lock the caller out. It counts while it runs,
 * so that the limit also bounds parallel attempts. Any other error counts, because the caller may have caused it.
 */
function isNobodysFault(error: unknown): boolean {
  if (error instanceof UpstreamError) return error.reason === 'outage'
  return error instanceof OAuthError
    ? error.error === 'temporarily_unavailable' && (error.cause === undefined || isNobodysFault(error.cause))
    : isOutage(error)
}

/**
 * Shorter than the life of any link, so that a repeated request within this time still has a working link in the
 * mailbox.
 */
const SPACING_MS = 5 * 60 * 1000

export interface MessageBound {
  /**
   * Runs `work`, which sends a message, unless a message was sent less than five minutes (or `spacingMs`) ago for the
   * same `subject`. The `subject` names the kind of message and the account. Two requests have the same `subject` if
   * the link of the first is as good as a new link. Returns `false` if it did not run `work`. A rejected `work` has
   * sent nothing and does not count. `typed` is an address that a person typed: all accounts together can send it as
   * many messages as the rule `passwordReset` allows.
   */
  send(
    subject: readonly string[],
    work: () => Promise<void>,
    options?: { spacingMs?: number; typed?: string }
  ): Promise<boolean>
}

interface MessageBoundDeps {
  reserve(attemptId: string, limits: readonly AttemptLimit[]): Promise<AttemptOutcome>
  refund(attemptId: string, limits: readonly AttemptLimit[]): void | Promise<void>
  random: Random
}

/**
 * Bounds the messages that strangers can send to one person, from any number of addresses. Uses the attempt counters.
 * If the rule `passwordReset` is `false`, bounds only messages with their own `spacingMs`.
 */
export function messageBound(rule: Rule | false, { reserve, refund, random }: MessageBoundDeps): MessageBound {
  return {
    async send(subject, work, { spacingMs, typed } = {}) {
      if (rule === false && spacingMs === undefined) {
        await work()
        return true
      }
      const id = random.id()
      const limits = [{ rule: 'passwordReset', key: messageKey(subject), windowMs: spacingMs ?? SPACING_MS, max: 1 }]
      if (rule !== false && typed !== undefined)
        limits.push({ rule: 'passwordReset', key: recipientKey(typed, null), windowMs: rule.windowMs, max: rule.max })
      const { allowed } = await reserve(id, limits)
      if (!allowed) return false
      try {
        await work()
      } catch (error) {
        await refund(id, limits)
        throw error
      }
      return true
    }
  }
}

/**
 * The kind of a counter key. It is part of the digest, so that an API key spelled like an address never counts as an
 * address.
 */
type Subject =
  | 'address'
  | 'custom'
  | 'api-key'
  | 'account'
  | 'device'
  | 'second-factor'
  | 'message'
  | 'recipient'
  | 'user'
  | 'part'

/** The eight 16 bit groups of an IPv6 address that `isIPv6` accepted. A zone id is dropped. */
export function ipv6Groups(address: string): number[] {
  const bare = address.split('%')[0] ?? ''
  const [head = '', tail] = bare.split('::')
  const left = groupsOf(head)
  if (tail === undefined) return left
  const right = groupsOf(tail)
  return [...left, ...new Array<number>(8 - left.length - right.length).fill(0), ...right]
}

function groupsOf(part: string): number[] {
  if (part === '') return []
  return part.split(':').flatMap((group) => {
    if (!group.includes('.')) return [Number.parseInt(group, 16)]
    const [a = 0, b = 0, c = 0, d = 0] = group.split('.').map(Number)
    return [a * 256 + b, c * 256 + d]
  })
}

/**
 * The IPv4 address inside an IPv4-mapped IPv6 address (`::ffff:0:0/96`), dotted or hexadecimal, otherwise `null`.
 * @see RFC 4291 §2.5.5.2
 */
export function mappedIPv4(groups: readonly number[]): string | null {
  if (groups.slice(0, 5).some((group) => group !== 0) || groups[5] !== 0xffff) return null
  const [high = 0, low = 0] = groups.slice(6)
  return [high >> 8, high & 255, low >> 8, low & 255].join('.')
}

/**
 * One spelling per address: IPv4 dotted, IPv4-mapped IPv6 as IPv4, IPv6 as eight groups. `null` for anything else, such
 * as a Unix socket. Drops a port, because some proxies forward `address:port` and a client chooses its own port.
 */
export function canonicalAddress(ip: string | undefined): string | null {
  if (ip === undefined) return null
  if (isIPv4(ip)) return ip
  const bare = /^\[([^\]]*)\](?::\d+)?$/.exec(ip)?.[1] ?? /^([\d.]+):\d+$/.exec(ip)?.[1] ?? ip
  if (isIPv4(bare)) return bare
  if (!isIPv6(bare)) return null
  const groups = ipv6Groups(bare)
  return mappedIPv4(groups) ?? groups.map((group) => group.toString(16)).join(':')
}

/**
 * The key of a client address. IPv6 counts per /64, the network of one customer. Everything that is not an address
 * shares one key, because a client that can forge a forwarding header would otherwise get any number of allowances.
 */
export function addressKey(ip: string | undefined): string {
  const address = canonicalAddress(ip)
  if (address === null) return digest('address', 'none')
  if (!address.includes(':')) return digest('address', address)
  return digest('address', `${address.split(':').slice(0, 4).join(':')}::/64`)
}

/**
 * The key of the /48 around an IPv6 address, the network of one site: 65,536 of the networks that `addressKey` counts.
 * `null` for anything else.
 */
export function networkKey(ip: string | undefined): string | null {
  const address = canonicalAddress(ip)
  if (address === null || !address.includes(':')) return null
  return digest('address', `${address.split(':').slice(0, 3).join(':')}::/48`)
}

/** The key of the value that the option `rateLimit.key` returned. */
export function customKey(value: string): string {
  return digest('custom', value)
}

/** The key of a verified API key. */
export function apiKeyKey(apiKey: string): string {
  return digest('api-key', apiKey)
}

/**
 * The key of a username, normalized as for `UserStore.findByUsername`. It does not depend on whether the user exists.
 */
export function accountKey(username: string): string {
  return digest('account', username)
}

/** The key of a username tried in a browser that is known for it. */
export function knownDeviceKey(account: string, deviceId: string): string {
  return digest('device', `${account}.${deviceId}`)
}

/** The key of a user's second factors, by user id. */
export function secondFactorKey(userId: string): string {
  return digest('second-factor', userId)
}

/**
 * The key of a code's recipient: a normalized name, whether a user has it or not. A browser that is known for the name
 * gets a key of its own.
 */
export function recipientKey(name: string, deviceId: string | null): string {
  // NUL separates the two, because no name contains it.
  return digest('recipient', deviceId === null ? name : `${name}\0${deviceId}`)
}

/** The key of a signed-in user, so that strangers at the same address do not use up the user's attempts. */
export function userKey(userId: string): string {
  return digest('user', userId)
}

/** The key of a feature's own limit `name`, for one caller `of`. */
export function partKey(name: string, of: string): string {
  return digest('part', `${name}\0${of}`)
}

/** The key of messages of one kind to one person. */
export function messageKey(subject: readonly string[]): string {
  return digest('message', JSON.stringify(subject))
}

/** Always 43 characters, so that neither content nor length of user input reaches a store. */
function digest(subject: Subject, value: string): string {
  return hash('sha256', `${subject}\0${value}`, 'base64url')
}
