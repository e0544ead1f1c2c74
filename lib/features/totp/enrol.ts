import { type ProvingDeps } from '../second-factors/deps.ts'
import { nameOf } from '../second-factors/manage-factors.ts'
import type { Confirmation, Enroller, Enrolment, FactorAdded } from '../../accounts/factor-kinds.ts'
import { appEndsOthers, hasFactor } from '../../protocol/second-factors.ts'
import { OAuthError } from '../../errors.ts'
import type { UserFactors } from '../../ports/factor-store.ts'
import { digest } from '../../protocol/digest.ts'
import { matchTotp, readTotpCode, toBase32, TOTP_SECRET_BYTES, totpUri } from '../../protocol/totp.ts'
import { makesProvisional } from '../../accounts/address-proof.ts'
import { makeUndoLink } from '../../accounts/undo.ts'
import { addressed } from '../../accounts/outbox.ts'
import { requireConfirmedAddress, storeFactor } from '../second-factors/addition.ts'
import { newRecoveryCodes } from '../second-factors/two-step.ts'
import { sealTotpSecret } from './prove.ts'

const LIFETIME_MS = 10 * 60 * 1000
/** Maximum number of authenticator apps of one user. */
export const MAX_APPS = 3

const contextOf = (of: Enroller, service: string): string =>
  JSON.stringify(['totp enrolment', service, of.user.id, ...(of.sid === null ? ['step', digest(of.ticket)] : [of.sid])])

/** Makes a new key and seals the enrolment. Stores nothing. @throws OAuthError `not_found` if apps are not offered */
export async function startEnrolment(of: Enroller, deps: ProvingDeps): Promise<Enrolment> {
  const {
    service,
    random,
    clock,
    factors: { sealer, store, policy }
  } = deps
  if (!policy.methods.includes('totp')) throw new OAuthError('not_found', 'Authenticator apps are not set up here.')
  const { deviceEpoch: epoch } = await store.findFactors(of.user.id)
  const secret = Buffer.from(random.secret(), 'base64url').subarray(0, TOTP_SECRET_BYTES)
  return shown(
    secret,
    sealer.seal(
      JSON.stringify({ factorId: random.id(), secret: secret.toString('base64url'), at: clock.now(), epoch }),
      contextOf(of, service)
    ),
    of,
    deps
  )
}

/** Opens a sealed enrolment again. `null`: it is too old, of another sign-in, or the user's factors have changed. */
export async function reopenEnrolment(enrolment: string, of: Enroller, deps: ProvingDeps): Promise<Enrolment | null> {
  const opened = open(enrolment, of, await deps.factors.store.findFactors(of.user.id), deps)
  return opened === null ? null : shown(opened.secret, enrolment, of, deps)
}

function shown(
  secret: Buffer,
  enrolment: string,
  { user }: Enroller,
  { factors: { totpIssuer } }: ProvingDeps
): Enrolment {
  return { enrolment, secret: toBase32(secret), uri: totpUri({ issuer: totpIssuer, account: user.username, secret }) }
}

function open(
  enrolment: string,
  of: Enroller,
  { deviceEpoch }: UserFactors,
  { service, clock, factors: { sealer } }: ProvingDeps
): { factorId: string; secret: Buffer } | null {
  const opened = enrolment.length > 4096 ? null : sealer.open(enrolment, contextOf(of, service))
  if (opened === null) return null
  const { factorId, secret, at, epoch } = JSON.parse(opened) as {
    factorId: string
    secret: string
    at: number
    epoch: number
  }
  return clock.now() - at < LIFETIME_MS && epoch === deviceEpoch
    ? { factorId, secret: Buffer.from(secret, 'base64url') }
    : null
}

/** Stores the app if a code of it is right. @throws OAuthError as `Apps.confirm` describes */
export async function confirmEnrolment(
  { enrolment, code, name, stays, locale, origin, ...of }: Confirmation,
  deps: ProvingDeps
): Promise<FactorAdded> {
  const {
    issuer,
    clock,
    events,
    outbox,
    factors: { store, sealer, policy }
  } = deps
  const { user } = of
  const found = await store.findFactors(user.id)
  const opened = open(enrolment, of, found, deps)
  if (opened === null)
    throw new OAuthError('invalid_token', 'The enrolment is invalid or has expired. Begin again.', { statusCode: 400 })
  const digits = readTotpCode(code)
  if (digits === null)
    throw new OAuthError('invalid_code', 'A code has six digits.', { field: 'code', reason: 'code_form' })
  const now = clock.now()
  const { factorId, secret } = opened
  const step = matchTotp(secret, digits, now)
  if (step === null) throw new OAuthError('invalid_code', 'The code is wrong.', { field: 'code', reason: 'wrong_code' })
  // An account with an unconfirmed address may be another person's. A factor would lock out the owner of the address.
  if (of.isInvited !== true) await requireConfirmedAddress(user, { locale, origin }, deps)
  const { codes, digests } = newRecoveryCodes(user, deps)
  const factor = {
    id: factorId,
    sealedSecret: sealTotpSecret(secret, { issuer, userId: user.id, factorId }, sealer),
    lastStep: step,
    failures: 0,
    knownFailures: 0,
    disabled: false,
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
      factorId,
      turnsOn: appEndsOthers(found) ? { stays } : null,
      origin,
      // Compares the sealed text too: an earlier confirmation of the same enrolment has the same id, but another sealed
      // text.
      isStored: ({ totp }) =>
        totp.some(({ id, sealedSecret }) => id === factorId && sealedSecret === factor.sealedSecret),
      store: async () =>
        await store.addTotp({
          userId: user.id,
          factor,
          limit: MAX_APPS,
          onlyIfFirst: !hasFactor(found),
          recoveryDigests: policy.methods.includes('recovery_code') ? digests : undefined
        }),
      tell() {
        events.emit('factor_added', { userId: user.id, factorId, kind: 'totp', sid: of.sid }, origin)
        outbox?.post({ kind: 'factor_added', factor: 'totp', user: addressed(user), locale, origin, ...undo })
      }
    },
    deps
  )
  if (added.outcome === 'full')
    throw new OAuthError('factor_limit', `An account may have ${MAX_APPS} authenticator apps.`)
  if (added.outcome === 'duplicate')
    throw new OAuthError('invalid_token', 'The enrolment was used already.', { statusCode: 400 })
  return { factorId, recoveryCodes: added.codesStored ? codes : null, proof: { method: 'otp', at: now } }
}
