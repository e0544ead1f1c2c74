import type { Feature } from '../../feature.ts'
import { invalid } from '../../settings/option-error.ts'
import { PAR_OPTIONS } from './options.ts'

/** Pushed authorization requests. @see RFC 9126 */
export const par: Feature<{ isRequired: boolean }> = {
  name: 'par',
  options: PAR_OPTIONS,
  resolve({ par: given = false, pages, clients, state }) {
    if (given === false) return null
    if (pages === false || clients === undefined)
      throw invalid('par', given, 'false where no client can send people here: it needs pages and clients')
    if (state !== undefined && state.assertions === undefined)
      throw invalid(
        'state.assertions',
        undefined,
        'an AssertionStore where par is set, as the states of this package have: a pushed request counts once'
      )
    return { isRequired: given === 'required' }
  },
  load: async () => await import('./create.ts')
}
