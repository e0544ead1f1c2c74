import type { FastifyReply, FastifyRequest } from 'fastify'
import { extendDevice, verifyDevice } from '../../limits/known-devices.ts'
import { logLine } from '../../ports/log.ts'
import type { Random } from '../../ports/random.ts'
import type { User } from '../../ports/user-store.ts'
import { pendingDeviceCookie, readDeviceCookie, setDeviceCookie } from './device-cookie.ts'
import type { Log } from './limit-refusal.ts'

/** Browsers in which an account had a session, by the same cookie that gives them an allowance of their own. Nothing is stored. */
export interface KnownBrowsers {
  /** Whether the user had a session there with the password of now. */
  knows(request: FastifyRequest, user: User): boolean
  /** Makes it so. Never rejects: no sign-in fails by it. */
  add(request: FastifyRequest, reply: FastifyReply, user: User): Promise<void>
}

interface KnownBrowsersDeps {
  deviceKey: Uint8Array
  /** The user with the password hash that is stored once a sign-in has replaced an old one. */
  onceRehashed(user: User | null): Promise<User | null>
  secureCookies: boolean
  random: Random
  log: Log
}

/** No username has a NUL. A browser that gave the password alone is known for the limits, and not here. */
const accountOf = ({ id }: User): string => `\0session ${id}`
const passwordOf = (user: User | null): string => user?.passwordHash ?? ''

export function knownBrowsers ({ deviceKey, onceRehashed, secureCookies, random, log }: KnownBrowsersDeps): KnownBrowsers {
  return {
    knows: (request, user) => verifyDevice(deviceKey, readDeviceCookie(request, secureCookies), accountOf(user))?.isCurrent(passwordOf(user)) === true,
    async add (request, reply, user) {
      try {
        const token = pendingDeviceCookie(reply, secureCookies) ?? readDeviceCookie(request, secureCookies)
        setDeviceCookie(reply, extendDevice(deviceKey, token, { account: accountOf(user), password: passwordOf(await onceRehashed(user)) }, random.id()), secureCookies)
      } catch (error) {
        log.warn(...logLine('FST_AUTHORITY_WORK_FAILED', 'a browser could not be made known for its account', { err: error }))
      }
    }
  }
}
