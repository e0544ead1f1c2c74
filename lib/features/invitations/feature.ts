import type { Feature } from '../../feature.ts'

/**
 * Invitation links for accounts that an administrator made. On if `sendMessage` is set, `pages` is not `false`, and the
 * user store has `setPasswordHash` and `setEmailVerified`.
 */
export const invitations: Feature<true> = {
  name: 'invitations',
  options: {},
  resolve: ({ sendMessage, pages, users }) =>
    sendMessage !== undefined &&
    pages !== false &&
    users.setPasswordHash !== undefined &&
    users.setEmailVerified !== undefined
      ? true
      : null,
  load: async () => await import('./create.ts')
}
