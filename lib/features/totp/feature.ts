import type { Feature } from '../../feature.ts'

/** Authenticator apps as second factors. They are on wherever second factors are, since earlier apps go on counting. */
export const totp: Feature<true> = {
  name: 'totp',
  needs: ['secondFactors'],
  options: {},
  resolve: ({ factors }) => (factors === undefined ? null : true),
  load: async () => await import('./create.ts')
}
