import type { FastifyReply, FastifyRequest } from 'fastify'
import { extendDevice, verifyDevice } from '../../limits/known-devices.ts'
import { logLine } from '../../ports/log.ts'
import type { Random } from '../../ports/cryptography.ts'
import type { User } from '../../ports/user-store.ts'
import type { Log } from './error-reply.ts'
import type { SessionCookie } from './sealed-cookies.ts'
import { knownDeviceKey } from '../../limits/attempt.ts'
import type { SecondFactorCheck } from '../../limits/rules.ts'

/**
 * Browsers in which an account had a session. The cookie that gives them an allowance of their own shows it; nothing is
 * stored.
 */
export interface KnownBrowsers {
  /** The id of a browser in which the user had a session with the present password; `null` for any other. */
  idOf(request: FastifyRequest, user: User): string | null
  /** True if the request has the cookie at all, valid or not. */
  mayKnow(request: FastifyRequest): boolean
  /** Makes the browser known. Never rejects, so that no sign-in fails by it. */
  add(request: FastifyRequest, reply: FastifyReply, user: User): Promise<void>
}

interface KnownBrowsersDeps {
  deviceKey: Uint8Array
  /** The user with the password hash that is stored once a sign-in has replaced an old one. */
  onceRehashed(user: User | null): Promise<User | null>
  cookie: SessionCookie
  random: Random
  log: Log
}

/** No username contains a NUL. A browser in which only the password was given is known for the limits, and not here. */
const sessionAccountOf = ({ id }: User): string => `\0session ${id}`
/** A value that changes with the password, and is the same for all users without one. */
const passwordOf = (user: User | null): string => user?.passwordHash ?? ''

export function knownBrowsers({ deviceKey, onceRehashed, cookie, random, log }: KnownBrowsersDeps): KnownBrowsers {
  return {
    idOf(request, user) {
      const device = verifyDevice(deviceKey, cookie.read(request), sessionAccountOf(user))
      return device?.isCurrent(passwordOf(user)) === true ? device.deviceId : null
    },
    mayKnow: (request) => cookie.read(request) !== undefined,
    async add(request, reply, user) {
      try {
        const token = cookie.pending(reply) ?? cookie.read(request)
        cookie.set(
          reply,
          extendDevice(
            deviceKey,
            token,
            { account: sessionAccountOf(user), password: passwordOf(await onceRehashed(user)) },
            random.id()
          )
        )
      } catch (error) {
        log.warn(
          ...logLine('FST_AUTHORITY_WORK_FAILED', 'a browser could not be made known for its account', { err: error })
        )
      }
    }
  }
}

export interface AttemptDeviceDeps {
  random: Random
  log: Log
  deviceKey: Uint8Array
  /** By the normalised username. */
  userOf(account: string): Promise<User | null>
  /** The user with the password hash that is stored once a sign-in has replaced an old one. */
  onceRehashed(user: User | null): Promise<User | null>
  deviceCookie: SessionCookie
}

/**
 * A browser that has signed in to this account with its present password has an allowance of its own, so that failures
 * of strangers don't lock it out. The user is looked up beforehand only for a browser that brings a device cookie.
 */
export async function attemptDevice(
  request: FastifyRequest,
  account: string | undefined,
  { deviceKey, userOf, onceRehashed, random, deviceCookie, log }: AttemptDeviceDeps
): Promise<{
  known: string | null
  user: User | null
  remember(reply: FastifyReply, left: User | undefined): Promise<void>
} | null> {
  if (account === undefined) return null
  const token = deviceCookie.read(request)
  const device = verifyDevice(deviceKey, token, account)
  // If the user can't be read, it counts as a stranger's attempt, and the sign-in will fail by the same outage.
  const user = device === null ? null : await userOf(account).catch(() => null)
  const isKnown = device?.isCurrent(passwordOf(user)) === true
  return {
    known: isKnown ? device.deviceId : null,
    user: isKnown ? user : null,
    async remember(reply, left) {
      if (reply.sent || !isFromBrowser(request)) return
      try {
        // The user after the work, which may have replaced the password hash, or be about to do so.
        const password = passwordOf(await onceRehashed(left ?? (await userOf(account))))
        deviceCookie.set(reply, extendDevice(deviceKey, token, { account, password }, random.id()))
      } catch (error) {
        log.warn(
          ...logLine('FST_AUTHORITY_WORK_FAILED', 'a browser could not be made known for its account', { err: error })
        )
      }
    }
  }
}

/**
 * Every current browser sends this header, and no script in a page can set it. @see
 * https://www.w3.org/TR/fetch-metadata/
 */
function isFromBrowser(request: Pick<FastifyRequest, 'headers'>): boolean {
  return request.headers['sec-fetch-site'] !== undefined
}

/** Browsers in which a user has given their second factor, with the present password and factors. */
interface FactorBrowsers {
  /** The key of attempts in such a browser; `null` for any other browser. */
  keyOf(request: FastifyRequest, check: SecondFactorCheck): string | null
  knows(request: FastifyRequest, check: SecondFactorCheck): boolean
  /** Makes the browser known. */
  add(request: FastifyRequest, reply: FastifyReply, check: SecondFactorCheck): void
}

// No username contains a NUL. A browser in which only the password was given is not known here, because anyone who
// knows the password could have any number of allowances.
const factorAccountOf = ({ userId }: SecondFactorCheck): string => `\0second-factor ${userId}`

export function factorBrowsers({
  deviceKey,
  random,
  deviceCookie
}: Pick<AttemptDeviceDeps, 'deviceKey' | 'random' | 'deviceCookie'>): FactorBrowsers {
  const keyOf: FactorBrowsers['keyOf'] = (request, check) => {
    const account = factorAccountOf(check)
    const device = verifyDevice(deviceKey, deviceCookie.read(request), account)
    return device?.isCurrent(check.proof) === true ? knownDeviceKey(account, device.deviceId) : null
  }
  return {
    keyOf,
    knows: (request, check) => keyOf(request, check) !== null,
    add(request, reply, check) {
      if (reply.sent || !isFromBrowser(request)) return
      const account = { account: factorAccountOf(check), password: check.proof }
      deviceCookie.set(reply, extendDevice(deviceKey, deviceCookie.read(request), account, random.id()))
    }
  }
}
