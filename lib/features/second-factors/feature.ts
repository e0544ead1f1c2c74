import type { Feature } from '../../feature.ts'
import { MFA_GRANT } from './options.ts'

/** Second factors. The option `factors` turns them on. */
export const secondFactors: Feature<true> = {
  name: 'secondFactors',
  options: {},
  grants: [MFA_GRANT],
  resolve: ({ factors }) => (factors === undefined ? null : true),
  load: async () => await import('./create.ts')
}
