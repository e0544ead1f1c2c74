import type { Kernel, Parts } from '../../feature.ts'
import { grant } from '../../oauth/deps.ts'
import { deviceEndpoint } from './endpoints.ts'
import type { DeviceSettings } from './options.ts'
import { DEVICE_CODE } from './grants.ts'
import { devicePage } from './pages/device.ts'
import { RENDERERS } from './pages/renderers.ts'
import { redeemDeviceCode } from './requests.ts'

export function create(on: DeviceSettings, { devices, url }: Kernel): Parts {
  // Never happens: every state of this package has `devices`, and `resolve` rejects any other state without it.
  if (devices === undefined) return {}
  return {
    grants: [
      grant({
        ...DEVICE_CODE,
        handle: async (params, call, deps) => await redeemDeviceCode(params, call, { ...deps, devices })
      })
    ],
    endpoints: [deviceEndpoint(on, { devices, pageUrl: url('devicePage') })],
    metadata: { device_authorization_endpoint: url('device') },
    pages: {
      renderers: RENDERERS,
      routes(child, deps) {
        devicePage(child, deps, devices)
      }
    }
  }
}
