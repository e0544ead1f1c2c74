import type { Feature } from '../../feature.ts'
import { ADMIN_OPTIONS, type AdminOptions } from './options.ts'

/** Administration of users by people whom the host lets in. */
export const admin: Feature<AdminOptions> = {
  name: 'admin',
  options: ADMIN_OPTIONS,
  resolve: ({ admin: given }) => given ?? null,
  load: async () => await import('./create.ts')
}
