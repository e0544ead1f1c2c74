import type { Feature } from '../../feature.ts'

/** `app.authority.users`. Always on: each call checks whether the user store has the required methods. */
export const users: Feature<true> = {
  name: 'users',
  options: {},
  resolve: () => true,
  load: async () => await import('./create.ts')
}
