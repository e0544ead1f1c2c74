import type { Feature } from '../../feature.ts'
import { badOption, invalid } from '../../settings/option-error.ts'
import { DEVICE_CODE } from './grants.ts'
import { DEVICE_OPTIONS, deviceSettings, type DeviceSettings } from './options.ts'

/** The device authorization grant, for devices and programs without a browser. @see RFC 8628 */
export const deviceGrant: Feature<DeviceSettings> = {
  name: 'deviceGrant',
  options: DEVICE_OPTIONS,
  grants: [DEVICE_CODE],
  resolve(given) {
    const { deviceGrant: on = false, pages, paths = {}, prefix = '/auth', state } = given
    if (on === false) return null
    const settings = deviceSettings(on === true ? {} : on)
    if (pages === false) throw invalid('deviceGrant', on, 'false, where there are no hosted pages to enter a code on')
    if (state !== undefined && state.devices === undefined)
      throw badOption('state', 'it has no devices, which deviceGrant needs: those of this package have them')
    if ([`${prefix}/device`, ...Object.values(paths)].includes(settings.path))
      throw invalid('deviceGrant.path', settings.path, 'a path that no other endpoint has')
    return settings
  },
  shares: ({ path }) => ({ paths: { devicePage: path } }),
  load: async () => await import('./create.ts')
}
