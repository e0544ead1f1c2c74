import { OAuthError } from '../../errors.ts'
import { addPasskey } from './add-passkey.ts'
import { refuseUnconfirmed } from './confirmed-address.ts'
import { optionsForCreation, optionsForKnown, optionsForSignIn, type PasskeyConfig } from './passkey-options.ts'
import type { Passkeys } from './passkeys.ts'
import { proveAlone, provePasskey } from './prove-passkey.ts'

/** Loaded where passkeys are on, and there alone. */
export function createPasskeys(config: PasskeyConfig): Passkeys {
  const { rpId, relatedOrigins, prompt } = config
  return {
    rpId,
    relatedOrigins,
    prompt,
    async creationOptions(of, deps) {
      if (!deps.factors.policy.methods.includes('passkey'))
        throw new OAuthError('not_found', 'Passkeys are not set up here.')
      if (of.isInvited !== true) refuseUnconfirmed(of.user, deps)
      return await optionsForCreation(of, config, deps)
    },
    add: async (addition, deps) => await addPasskey(addition, config, deps),
    signInOptions: (deps) => optionsForSignIn(config, deps),
    proveAlone: async (given, deps) => await proveAlone(given, config, deps),
    optionsFor: (of, deps) => optionsForKnown(of, config, deps),
    prove: async (given, deps) => await provePasskey(given, config, deps)
  }
}
