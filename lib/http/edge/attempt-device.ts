import type { FastifyReply, FastifyRequest } from 'fastify'
import { extendDevice, verifyDevice } from '../../limits/known-devices.ts'
import { logLine } from '../../ports/log.ts'
import type { Random } from '../../ports/cryptography.ts'
import type { User } from '../../ports/user-store.ts'
import type { Log } from './limit-refusal.ts'
import type { SessionCookie } from './session-cookie.ts'

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
        // The user as the work leaves them: it may have replaced the password hash, or be about to do so.
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

/** A value that changes with the password, and is the same for all users without one. */
function passwordOf(user: User | null): string {
  return user?.passwordHash ?? ''
}

/**
 * Every current browser sends this header, and no script in a page can set it. @see
 * https://www.w3.org/TR/fetch-metadata/
 */
export function isFromBrowser(request: Pick<FastifyRequest, 'headers'>): boolean {
  return request.headers['sec-fetch-site'] !== undefined
}
