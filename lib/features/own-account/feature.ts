import type { Feature } from '../../feature.ts'

/** The account of a signed-in user, as endpoints and as pages. Always on, because stores decide on each part of it. */
export const account: Feature<true> = {
  name: 'account',
  options: {},
  resolve: () => true,
  load: async () => await import('./pages/routes.ts')
}
