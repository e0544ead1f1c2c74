import type { Feature } from '../../feature.ts'
import { invalid, requireAssertions } from '../../settings/option-error.ts'
import { PAR_OPTIONS } from './options.ts'

/** Pushed authorization requests. @see RFC 9126 */
export const par: Feature<{ isRequired: boolean }> = {
  name: 'par',
  options: PAR_OPTIONS,
  resolve({ par: given = false, pages, clients, state }) {
    if (given === false) return null
    if (pages === false || clients === undefined)
      throw invalid('par', given, 'false where no client can send people here: it needs pages and clients')
    requireAssertions(state, 'par is set', 'a pushed request is used only once')
    return { isRequired: given === 'required' }
  },
  load: async () => await import('./create.ts')
}
