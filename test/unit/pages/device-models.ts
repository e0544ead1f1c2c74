import type { DeviceModels } from '../../../lib/features/device-grant/options.ts'
import type { CommonModel, FormModel } from '../../../lib/pages/common-model.ts'

export const deviceModels = (common: CommonModel, form: Pick<FormModel, 'action' | 'error'>): DeviceModels => ({
  device: {
    ...common,
    ...form,
    userCode: 'WDJB-MJHT',
    username: 'ann@mail.example',
    otherUrl: null,
    request: {
      client: { name: 'Acme TV', id: 'tv' },
      clientUri: null,
      scopes: [
        { name: 'openid', description: 'scopeOpenid', own: null },
        { name: 'films', description: null, own: { text: 'see your films', lang: 'en' } }
      ],
      lifetimeSeconds: 900,
      askedAt: 1_767_225_600_000,
      ip: '203.0.113.9',
      userAgent: 'acme-tv/1.0'
    }
  },
  device_done: { ...common, allowed: true, homeUrl: '/' }
})
