import { Type } from '@sinclair/typebox'
import type { CommonModel, FormModel, ShownScope } from '../../pages/common-model.ts'
import { filled, type Given, LITERAL, option, seconds, section, text } from '../../settings/schema-words.ts'

const DEVICE_GRANT = {
  /** Seconds until a device code expires. */
  expiresIn: seconds(60, 1800, { default: 600, to: 'Ms' }),
  /** Seconds between two polls of a device. */
  interval: seconds(1, 60, { default: 5, to: 'Ms' }),
  /** The path of the page on which people enter the code. It is absolute and does not begin with `prefix`. */
  path: text({ pattern: `^(?:/${LITERAL}+)+$`, default: '/device', takes: 'an absolute path such as "/device"' })
}

/** The options of the device authorization grant. */
export interface DeviceGrantOptions extends Given<typeof DEVICE_GRANT> {}

export type DeviceSettings = ReturnType<typeof deviceSettings>

export const deviceSettings = (given: DeviceGrantOptions) => filled(DEVICE_GRANT, given)

export const DEVICE_OPTIONS = {
  /**
   * The device grant (RFC 8628), for clients that list `urn:ietf:params:oauth:grant-type:device_code`: a person enters
   * a short code on a page and allows the access. Requires `pages`. See the guide on the device grant.
   */
  deviceGrant: option<boolean | DeviceGrantOptions>(
    Type.Union([Type.Boolean(), section(DEVICE_GRANT, { takes: '{ expiresIn, interval, path }' })], {
      takes: 'true, false or { expiresIn, interval, path }',
      otherwise: '`false`'
    })
  )
}

export interface DeviceOption extends Given<typeof DEVICE_OPTIONS> {}

/** The models of the page of the device grant. */
export interface DeviceModels {
  /**
   * If `request` is `null`, the form has the field `user_code`. Otherwise the form has two submit buttons `decision`
   * with the values `allow` and `deny`, and `user_code` in a hidden field. `username`: the signed-in person, or `null`.
   * `otherUrl`: the sign-in page for another account. `null` if nobody is signed in, or if `request` is set.
   */
  device: FormModel & {
    userCode: string
    username: string | null
    otherUrl: string | null
    request: {
      client: { name: string; id: string }
      clientUri: string | null
      scopes: ShownScope[]
      /** The lifetime of the access, in seconds. */
      lifetimeSeconds: number
      /**
       * Milliseconds since the epoch at which the device asked. `ip` and `userAgent` are those of the device's request.
       */
      askedAt: number
      ip: string | null
      userAgent: string | null
    } | null
  }
  /** The page after the person has allowed or denied the access. */
  device_done: CommonModel & { allowed: boolean; homeUrl: string }
}
