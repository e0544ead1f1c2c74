import type { FastifyReply, FastifyRequest } from 'fastify'
import { knownDeviceKey } from '../../limits/attempt-keys.ts'
import { extendDevice, verifyDevice } from '../../limits/known-devices.ts'
import type { SecondFactorCheck } from '../../limits/rules.ts'
import { type AttemptDeviceDeps, isFromBrowser } from './attempt-device.ts'

/** Browsers in which a user has given their second factor, with the password and the factors of now. */
interface FactorBrowsers {
  /** The key of attempts in such a browser; `null` for any other browser. */
  keyOf(request: FastifyRequest, check: SecondFactorCheck): string | null
  knows(request: FastifyRequest, check: SecondFactorCheck): boolean
  /** Makes the browser known. */
  add(request: FastifyRequest, reply: FastifyReply, check: SecondFactorCheck): void
}

// No username has a NUL. A browser that has given the password alone is not known here, because anyone who knows the
// password would have as many allowances as they like.
const accountOf = ({ userId }: SecondFactorCheck): string => `\0second-factor ${userId}`

export function factorBrowsers({
  deviceKey,
  random,
  deviceCookie
}: Pick<AttemptDeviceDeps, 'deviceKey' | 'random' | 'deviceCookie'>): FactorBrowsers {
  const keyOf: FactorBrowsers['keyOf'] = (request, check) => {
    const account = accountOf(check)
    const device = verifyDevice(deviceKey, deviceCookie.read(request), account)
    return device?.isCurrent(check.proof) === true ? knownDeviceKey(account, device.deviceId) : null
  }
  return {
    keyOf,
    knows: (request, check) => keyOf(request, check) !== null,
    add(request, reply, check) {
      if (reply.sent || !isFromBrowser(request)) return
      const account = { account: accountOf(check), password: check.proof }
      deviceCookie.set(reply, extendDevice(deviceKey, deviceCookie.read(request), account, random.id()))
    }
  }
}
