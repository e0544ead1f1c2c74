import type { FastifyReply, FastifyRequest } from 'fastify'
import { type DeviceAccount, extendDevice, verifyDevice } from '../../limits/known-devices.ts'
import { logLine } from '../../ports/log.ts'
import type { Random } from '../../ports/cryptography.ts'
import type { User } from '../../ports/user-store.ts'
import type { Log } from './error-reply.ts'
import type { PlainCookie } from './sealed-cookies.ts'
import { knownDeviceKey } from '../../limits/attempt.ts'
import type { SecondFactorCheck } from '../../limits/rules.ts'

/**
 * Browsers in which a user had a session. The device cookie proves the session, and also gives the browser limits of
 * its own. The server stores nothing.
 */
export interface KnownBrowsers {
  /** The id of a browser in which the user had a session with the present password; `null` for any other. */
  idOf(request: FastifyRequest, user: User): string | null
  /** True if the request has the device cookie, valid or not. */
  mayKnow(request: FastifyRequest): boolean
  /** Makes the browser known. Never rejects, because the sign-in must succeed all the same. */
  add(reply: FastifyReply, user: User): Promise<void>
}

interface DeviceDeps {
  deviceKey: Uint8Array
  deviceCookie: PlainCookie
  random: Random
}

interface KnownBrowsersDeps extends DeviceDeps {
  /** Waits if a sign-in is replacing an old password hash. Returns the user with the final hash. */
  onceRehashed(user: User | null): Promise<User | null>
  log: Log
}

/**
 * The account name for sessions. The NUL keeps it apart from usernames: a browser in which only the password was given
 * is known for the limits, but not here.
 */
const sessionAccountOf = ({ id }: User): string => `\0session ${id}`
/** A value that changes with the password, and is the same for all users without one. */
const passwordOf = (user: User | null): string => user?.passwordHash ?? ''

/**
 * Adds an account to the token of the browser. Several marks of one reply extend the same token, because the browser
 * keeps only the last cookie.
 */
function mark(reply: FastifyReply, account: DeviceAccount, { deviceKey, deviceCookie, random }: DeviceDeps): void {
  const token = deviceCookie.pending(reply) ?? deviceCookie.read(reply.request)
  deviceCookie.set(reply, extendDevice(deviceKey, token, account, random.id()))
}

/**
 * Marks the browser as known to the account, as long as the user keeps the present password. Never rejects, because the
 * sign-in must succeed all the same.
 */
async function markWithPassword(
  reply: FastifyReply,
  account: string,
  userOf: () => User | Promise<User | null>,
  { onceRehashed, log, ...deps }: KnownBrowsersDeps
): Promise<void> {
  try {
    mark(reply, { account, password: passwordOf(await onceRehashed(await userOf())) }, deps)
  } catch (error) {
    log.warn(
      ...logLine('FST_AUTHORITY_WORK_FAILED', 'a browser could not be made known for its account', { err: error })
    )
  }
}

export function knownBrowsers(deps: KnownBrowsersDeps): KnownBrowsers {
  const { deviceKey, deviceCookie } = deps
  return {
    idOf(request, user) {
      const device = verifyDevice(deviceKey, deviceCookie.read(request), sessionAccountOf(user))
      return device?.isCurrent(passwordOf(user)) === true ? device.deviceId : null
    },
    mayKnow: (request) => deviceCookie.read(request) !== undefined,
    async add(reply, user) {
      await markWithPassword(reply, sessionAccountOf(user), () => user, deps)
    }
  }
}

export interface AttemptDeviceDeps extends KnownBrowsersDeps {
  /** Finds a user by the normalized username. */
  userOf(account: string): Promise<User | null>
}

/**
 * Recognizes a browser that has signed in to this account with its present password. Such a browser has a limit of its
 * own, so that strangers' failures don't lock it out. Reads the user before the attempt only if the browser has a
 * device cookie for the account.
 */
export async function attemptDevice(
  request: FastifyRequest,
  account: string | undefined,
  { userOf, ...deps }: AttemptDeviceDeps
): Promise<{
  known: string | null
  user: User | null
  remember(reply: FastifyReply, left: User | undefined): Promise<void>
} | null> {
  if (account === undefined) return null
  const device = verifyDevice(deps.deviceKey, deps.deviceCookie.read(request), account)
  // If the user store fails, continues without a user. The sign-in reads the same store and then fails too.
  const user = device === null ? null : await userOf(account).catch(() => null)
  const isKnown = device?.isCurrent(passwordOf(user)) === true
  return {
    known: isKnown ? device.deviceId : null,
    user: isKnown ? user : null,
    async remember(reply, left) {
      if (reply.sent || !isFromBrowser(request)) return
      // Reads the user after the work, because a sign-in may replace the password hash.
      await markWithPassword(reply, account, () => left ?? userOf(account), deps)
    }
  }
}

/**
 * True if the request seems to come from a browser. Current browsers send `Sec-Fetch-Site` to https: and loopback URLs,
 * and no script in a page can set it. Another program can send it too. @see https://www.w3.org/TR/fetch-metadata/
 */
function isFromBrowser(request: Pick<FastifyRequest, 'headers'>): boolean {
  return request.headers['sec-fetch-site'] !== undefined
}

/** Browsers in which a user has given their second factor, with the present password and factors. */
interface FactorBrowsers {
  /** The key of attempts in such a browser; `null` for any other browser. */
  keyOf(request: FastifyRequest, check: SecondFactorCheck): string | null
  knows(request: FastifyRequest, check: SecondFactorCheck): boolean
  /** Makes the browser known. Does nothing if the reply is sent, or if no browser sent the request. */
  add(request: FastifyRequest, reply: FastifyReply, check: SecondFactorCheck): void
}

// The NUL keeps this name apart from usernames. The password alone does not make a browser known here. Otherwise anyone
// who knows the password could get any number of limits.
const factorAccountOf = ({ userId }: SecondFactorCheck): string => `\0second-factor ${userId}`

export function factorBrowsers(deps: DeviceDeps): FactorBrowsers {
  const keyOf: FactorBrowsers['keyOf'] = (request, check) => {
    const account = factorAccountOf(check)
    const device = verifyDevice(deps.deviceKey, deps.deviceCookie.read(request), account)
    return device?.isCurrent(check.proof) === true ? knownDeviceKey(account, device.deviceId) : null
  }
  return {
    keyOf,
    knows: (request, check) => keyOf(request, check) !== null,
    add(request, reply, check) {
      if (reply.sent || !isFromBrowser(request)) return
      mark(reply, { account: factorAccountOf(check), password: check.proof }, deps)
    }
  }
}
