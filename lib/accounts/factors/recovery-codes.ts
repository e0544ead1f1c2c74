import { OAuthError } from '../../errors.ts'
import type { User } from '../../ports/user-store.ts'
import { readRecoveryCode, RECOVERY_CODES, recoveryCode, recoveryDigests } from '../../protocol/second-factors.ts'
import { addressed, type MessageCause } from '../outbox.ts'
import type { FactorDeps } from './deps.ts'
import type { ProvingDeps } from './prove-factor.ts'
import { twoStepNow } from './policy.ts'

/** New codes as they are shown, and the digests that are stored of them. */
export function newRecoveryCodes(
  { id }: Pick<User, 'id'>,
  { random, factors }: Pick<ProvingDeps, 'random'> & { factors: Pick<FactorDeps, 'recoveryKeys'> }
): { codes: string[]; digests: string[] } {
  const codes = Array.from({ length: RECOVERY_CODES }, () => recoveryCode(Buffer.from(random.secret(), 'base64url')))
  return {
    codes,
    digests: codes.flatMap((code) =>
      recoveryDigests(readRecoveryCode(code) ?? '', id, factors.recoveryKeys.slice(0, 1))
    )
  }
}

/**
 * Replaces all recovery codes of the user, and resolves to the new ones. Stores have their HMACs alone.
 * @throws OAuthError `invalid_request` where no second step is asked for, for which they could stand in
 */
export async function replaceRecoveryCodes(
  { user, sid, locale, origin }: MessageCause & { user: User; sid: string },
  deps: ProvingDeps
): Promise<string[]> {
  const found = await deps.factors.store.findFactors(user.id)
  const { codes, digests } = newRecoveryCodes(user, deps)
  if (!(await twoStepNow(user, found, deps)).on || !(await deps.factors.store.replaceRecoveryCodes(user.id, digests)))
    throw new OAuthError('invalid_request', 'Recovery codes go with two-step sign-in, which is off.', {
      statusCode: 409
    })
  deps.events.emit('recovery_codes_replaced', { userId: user.id, sid }, origin)
  deps.outbox?.post({ kind: 'factor_added', factor: 'recovery_codes', user: addressed(user), locale, origin })
  return codes
}
