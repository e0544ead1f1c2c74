import type { Feature } from '../../feature.ts'

/** Second factors. The option `factors` turns them on. */
export const secondFactors: Feature<true> = {
  name: 'secondFactors',
  options: {},
  resolve: ({ factors }) => (factors === undefined ? null : true),
  load: async () => await import('./create.ts')
}
