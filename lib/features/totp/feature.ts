import type { Feature } from '../../feature.ts'
import { secondFactors } from '../second-factors/feature.ts'
import type { FactorSettings } from '../second-factors/options.ts'

/** Authenticator apps as second factors. They are on wherever second factors are, since earlier apps go on counting. */
export const totp: Feature<FactorSettings> = {
  name: 'totp',
  needs: ['secondFactors'],
  options: {},
  resolve: (given) => secondFactors.resolve(given),
  load: async () => await import('./create.ts')
}
