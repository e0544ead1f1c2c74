import { settingsOf } from '../../../lib/composition/compose.ts'
import type { ConnectionSettings } from '../../../lib/features/connections/options.ts'

/** The settings of the connections in these options; none where the feature is off. */
export const connectionSettings = (options: object): ConnectionSettings[] =>
  (settingsOf(options).features['connections'] as ConnectionSettings[] | undefined) ?? []
