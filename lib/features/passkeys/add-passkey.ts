import type { ProvingDeps } from '../second-factors/deps.ts'
import { nameOf } from '../second-factors/manage-factors.ts'
import { hasFactor } from '../../protocol/second-factors.ts'
import { OAuthError } from '../../errors.ts'
import { type NewCredential, readRegistration, verifyRegistration } from '../../protocol/webauthn.ts'
import { WebauthnError } from '../../protocol/webauthn-key.ts'
import { makesProvisional } from '../../accounts/address-proof.ts'
import { makeUndoLink } from '../../accounts/undo.ts'
import { addressed } from '../../accounts/outbox.ts'
import { refuseUnconfirmed, storeFactor } from '../second-factors/addition.ts'
import {
  additionBy,
  isChallengeOf,
  optionsForCreation,
  optionsForKnown,
  optionsForSignIn,
  type PasskeyConfig
} from './challenges.ts'
import type {
  GivenCredential,
  FactorAdded,
  PasskeyAddition,
  PasskeyKind,
  Passkeys
} from '../../accounts/factor-kinds.ts'
import { newRecoveryCodes } from '../second-factors/two-step.ts'
import { proveAlone, provePasskey } from './prove.ts'

const KINDS: readonly PasskeyKind[] = ['passkey', 'security_key']

/** Verifies and stores a new passkey. @throws OAuthError as `Passkeys.add` describes */
async function addPasskey(
  { credential, name, turnsOn, locale, origin, ...of }: PasskeyAddition,
  config: PasskeyConfig,
  deps: ProvingDeps
): Promise<FactorAdded> {
  const { user } = of
  const {
    clock,
    events,
    outbox,
    random,
    factors: { store, policy }
  } = deps
  const found = await store.findFactors(user.id)
  const made = verified(
    credential,
    (challenge) => {
      const kind = KINDS.find((one) => isChallengeOf(additionBy(of, one, found.deviceEpoch), challenge, config, deps))
      return kind === undefined ? null : { requiresVerification: kind === 'passkey' }
    },
    config
  )
  // An account with an unconfirmed address may be another person's. A factor would lock out the owner of the address.
  if (of.isInvited !== true) refuseUnconfirmed(user, deps)
  const now = clock.now()
  const { codes, digests } = newRecoveryCodes(user, deps)
  const factor = {
    id: random.id(),
    ...made,
    rpId: config.rpId,
    name: nameOf(name),
    createdAt: now,
    lastUsedAt: null,
    provisional: of.isInvited !== true && makesProvisional(user)
  }
  // Makes the undo link before storing the factor. If the link can't be made, no factor is stored that the owner of the
  // mailbox could not undo.
  const undo = of.isInvited === true || hasFactor(found) ? null : await makeUndoLink(user, { what: 'factor' }, deps)
  const added = await storeFactor(
    of,
    {
      factorId: factor.id,
      turnsOn: turnsOn ?? null,
      origin,
      isStored: ({ passkeys }) => passkeys.some(({ id }) => id === factor.id),
      store: async () =>
        await store.addPasskey({
          userId: user.id,
          factor,
          limit: config.maxPerUser,
          onlyIfFirst: !hasFactor(found),
          turnsOn: turnsOn !== undefined,
          recoveryDigests: turnsOn !== undefined && policy.methods.includes('recovery_code') ? digests : undefined
        }),
      tell() {
        events.emit('factor_added', { userId: user.id, factorId: factor.id, kind: 'passkey', sid: of.sid }, origin)
        outbox?.post({ kind: 'factor_added', factor: 'passkey', user: addressed(user), locale, origin, ...undo })
      }
    },
    deps
  )
  if (added.outcome === 'full')
    throw new OAuthError('factor_limit', `An account may have ${config.maxPerUser} passkeys.`, {
      reason: 'passkey_limit'
    })
  if (added.outcome === 'duplicate') throw new OAuthError('duplicate_factor', 'The account has this passkey already.')
  return {
    factorId: factor.id,
    recoveryCodes: added.codesStored ? codes : null,
    proof: { method: made.uvInitialized ? 'passkey' : 'security_key', at: now }
  }
}

function verified(
  credential: GivenCredential,
  askedWith: (challenge: string) => { requiresVerification: boolean } | null,
  { origins, rpId }: PasskeyConfig
): NewCredential {
  try {
    return verifyRegistration(readRegistration(credential), { askedWith, origins, rpId })
  } catch (error) {
    if (!(error instanceof WebauthnError)) throw error
    throw new OAuthError('invalid_credential', 'The passkey was not accepted. Begin again.', {
      field: 'credential',
      reason: 'passkey_refused',
      detail: error.message,
      withoutStack: true
    })
  }
}

export function createPasskeys(config: PasskeyConfig, deps: ProvingDeps): Passkeys {
  const { rpId } = config
  const areNew = deps.factors.policy.methods.includes('passkey')
  return {
    rpId,
    prompt: config.prompt && areNew,
    alone: ({ passkeys }) => passkeys.filter((one) => one.uvInitialized && one.rpId === rpId),
    async creationOptions(of) {
      if (!areNew) throw new OAuthError('not_found', 'Passkeys are not set up here.')
      if (of.isInvited !== true) refuseUnconfirmed(of.user, deps)
      return await optionsForCreation(of, config, deps)
    },
    add: async (addition) => await addPasskey(addition, config, deps),
    signInOptions: () => optionsForSignIn(config, deps),
    proveAlone: async (given) => await proveAlone(given, config, deps),
    optionsFor: (of) => optionsForKnown(of, config, deps),
    prove: async (given) => await provePasskey(given, config, deps)
  }
}
