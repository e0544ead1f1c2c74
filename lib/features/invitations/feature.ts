import type { Feature } from '../../feature.ts'

/** Links with which people begin to use an account that was made for them. On where there are mails and pages. */
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
