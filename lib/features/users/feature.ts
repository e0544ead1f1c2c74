import type { Feature } from '../../feature.ts'

/** `app.authority.users`. Always on, because the methods of the user store decide on each call. */
export const users: Feature<true> = {
  name: 'users',
  options: {},
  resolve: () => true,
  load: async () => await import('./create.ts')
}
