import type { Feature } from '../../feature.ts'
import { invalid, requireAssertions } from '../../settings/option-error.ts'
import { SECRET_TAKES } from '../../settings/schema-words.ts'
import { DPOP_OPTIONS, type DpopSettings, dpopSettings } from './options.ts'

/** DPoP: access and refresh tokens that are bound to a key of their client. @see RFC 9449 */
export const dpop: Feature<DpopSettings> = {
  name: 'dpop',
  options: DPOP_OPTIONS,
  resolve({ dpop: given = false, secret, state }) {
    if (given === false) return null
    const settings = dpopSettings(given === true ? {} : given)
    if (settings.requireNonce && secret === undefined)
      throw invalid('secret', undefined, `${SECRET_TAKES}, where dpop.requireNonce is true: the nonces come from it`)
    requireAssertions(state, 'dpop is on', 'a proof is accepted only once')
    return settings
  },
  load: async () => await import('./create.ts')
}
