import { nameOf } from './manage-factors.ts'
import { hasFactor } from '../../protocol/second-factors.ts'
import { OAuthError } from '../../errors.ts'
import { type NewCredential, readRegistration, verifyRegistration } from '../../protocol/webauthn.ts'
import { WebauthnError } from '../../protocol/webauthn-key.ts'
import { makesProvisional } from '../address-proof.ts'
import { makeUndoLink } from '../undo.ts'
import { addressed } from '../outbox.ts'
import { refuseUnconfirmed } from './confirmed-address.ts'
import { storeFactor } from './addition.ts'
import { additionBy, isChallengeOf, type PasskeyConfig } from './passkey-options.ts'
import type { GivenCredential, PasskeyAdded, PasskeyAddition, PasskeyDeps, PasskeyKind } from './passkeys.ts'
import { newRecoveryCodes } from './recovery-codes.ts'

const KINDS: readonly PasskeyKind[] = ['passkey', 'security_key']

/** See `Passkeys.add`. */
export async function addPasskey(
  { credential, name, turnsOn, locale, origin, ...of }: PasskeyAddition,
  config: PasskeyConfig,
  deps: PasskeyDeps
): Promise<PasskeyAdded> {
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
  // An account whose address was never confirmed may belong to another person: see `awaitsConfirmation`.
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
  // Made first, because the owner of the mailbox must learn how to undo a factor that another person set up.
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
