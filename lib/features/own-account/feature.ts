import type { Feature } from '../../feature.ts'

/**
 * The account of a signed-in user, as endpoints and pages. Always on: the options and the stores decide on each part.
 */
export const account: Feature<true> = {
  name: 'account',
  options: {},
  resolve: () => true,
  load: async () => await import('./pages/routes.ts')
}
