import type { Feature } from '../../feature.ts'
import { canHavePasskeys } from '../../settings/sections/passkeys.ts'
import { PASSKEY_GRANT } from './options.ts'

/** Passkeys and security keys. On with second factors, if browsers have passkeys for the issuer. */
export const passkeys: Feature<true> = {
  name: 'passkeys',
  needs: ['secondFactors'],
  options: {},
  grants: [PASSKEY_GRANT],
  resolve: ({ factors, issuer, passkeys: given }) =>
    factors === undefined || given === false || !canHavePasskeys(issuer) ? null : true,
  load: async () => await import('./create.ts')
}
