import type { Feature } from '../../feature.ts'
import { secondFactors } from '../second-factors/feature.ts'
import type { FactorSettings } from '../second-factors/options.ts'

/** Authenticator apps. On with second factors, even if `mfa.methods` omits `totp`, because existing apps still work. */
export const totp: Feature<FactorSettings> = {
  name: 'totp',
  needs: ['secondFactors'],
  options: {},
  resolve: (given) => secondFactors.resolve(given),
  load: async () => await import('./create.ts')
}
