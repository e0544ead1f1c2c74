import type { FastifyReply, FastifyRequest } from 'fastify'
import { extendDevice, verifyDevice } from '../../limits/known-devices.ts'
import { logLine } from '../../ports/log.ts'
import type { Random } from '../../ports/cryptography.ts'
import type { User } from '../../ports/user-store.ts'
import type { Log } from './limit-refusal.ts'
import type { SessionCookie } from './session-cookie.ts'

/**
 * Browsers in which an account had a session, by the same cookie that gives them an allowance of their own. Nothing is
 * stored.
 */
export interface KnownBrowsers {
  /** The id of a browser in which the user had a session with the password of now; `null` of any other. */
  idOf(request: FastifyRequest, user: User): string | null
  /** True if the request has the cookie at all, valid or not. */
  mayKnow(request: FastifyRequest): boolean
  /** Makes it so. Never rejects: no sign-in fails by it. */
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

/** No username has a NUL. A browser that gave the password alone is known for the limits, and not here. */
const accountOf = ({ id }: User): string => `\0session ${id}`
const passwordOf = (user: User | null): string => user?.passwordHash ?? ''

export function knownBrowsers({ deviceKey, onceRehashed, cookie, random, log }: KnownBrowsersDeps): KnownBrowsers {
  return {
    idOf(request, user) {
      const device = verifyDevice(deviceKey, cookie.read(request), accountOf(user))
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
            { account: accountOf(user), password: passwordOf(await onceRehashed(user)) },
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
