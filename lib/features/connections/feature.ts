import type { Feature } from '../../feature.ts'
import { TOKEN_EXCHANGE } from './grants.ts'

/** Sign-in at other providers. The option `connections` turns it on. */
export const connections: Feature<true> = {
  name: 'connections',
  options: {},
  grants: [TOKEN_EXCHANGE],
  resolve: ({ connections: given = [] }) => (given.length === 0 ? null : true),
  load: async () => await import('./create.ts')
}
