import { appsOf, passkeysOf, type ProvingDeps } from './deps.ts'
import type { GivenAt, GivenCredential } from '../../accounts/factor-kinds.ts'
import { OAuthError } from '../../errors.ts'
import type { UserFactors } from '../../ports/factor-store.ts'
import type { User } from '../../ports/user-store.ts'
import type { AuthenticationProof } from '../../protocol/authentication.ts'
import { readRecoveryCode, recoveryDigests } from '../../protocol/second-factors.ts'
import type { AccountsDeps } from '../../accounts/deps.ts'
import { addressed } from '../../accounts/outbox.ts'
import { tellOfFailure } from './deps.ts'

/** A given second factor, after reading: six digits, a recovery code, or the answer of a passkey. */
export type GivenFactor =
  | { kind: 'totp'; code: string }
  | { kind: 'recovery_code'; code: string }
  | { kind: 'passkey'; credential: GivenCredential }

/**
 * Reads a given factor. A text that can't be a code is a slip, and no guess.
 * @throws OAuthError `invalid_code`, or `invalid_request` if there is neither
 */
export function readFactor(
  {
    code = '',
    recoveryCode = '',
    credential = ''
  }: { code?: string | undefined; recoveryCode?: string | undefined; credential?: string | undefined },
  deps: Pick<AccountsDeps, 'slots'>,
  fields = { code: 'code', recoveryCode: 'recovery_code' }
): GivenFactor {
  if (credential !== '') return { kind: 'passkey', credential }
  if (recoveryCode.trim() !== '') {
    const read = readRecoveryCode(recoveryCode)
    if (read === null)
      throw new OAuthError('invalid_code', 'This is no recovery code.', {
        field: fields.recoveryCode,
        reason: 'wrong_recovery_code'
      })
    return { kind: 'recovery_code', code: read }
  }
  if (code.trim() === '')
    throw new OAuthError('invalid_request', `${fields.code}: it is required.`, {
      field: fields.code,
      reason: 'required'
    })
  const apps = appsOf(deps)
  if (apps === null) throw new OAuthError('invalid_code', 'No app gives codes here.', { field: fields.code })
  return { kind: 'totp', code: apps.read(code, fields.code) }
}

/**
 * Proves a second factor and uses it up: one of any number of parallel calls with one code succeeds. The caller limits
 * it by the rule `secondFactor`.
 * @throws OAuthError `invalid_grant` with the reason
 */
export async function proveFactor(
  given: GivenFactor,
  user: User,
  found: UserFactors,
  cause: GivenAt,
  deps: ProvingDeps
): Promise<AuthenticationProof> {
  const now = deps.clock.now()
  if (given.kind === 'recovery_code') {
    await useRecoveryCode(given.code, user, cause, deps)
    return { method: 'recovery_code', at: now }
  }
  if (given.kind === 'passkey') {
    const passkeys = passkeysOf(deps)
    if (passkeys === null)
      throw new OAuthError('invalid_grant', 'Passkeys are off here.', {
        field: 'credential',
        reason: 'passkey_refused'
      })
    return await passkeys.prove({ ...cause, user, found, credential: given.credential, purpose: 'second_factor' })
  }
  const apps = appsOf(deps)
  if (apps === null)
    throw new OAuthError('invalid_grant', 'Authenticator apps are off here.', {
      field: 'code',
      reason: 'factor_disabled'
    })
  return await apps.prove(given.code, user, found.totp, cause)
}

async function useRecoveryCode(
  code: string,
  user: User,
  { origin, locale, clientId }: GivenAt,
  deps: ProvingDeps
): Promise<void> {
  const { events, outbox, factors } = deps
  for (const digest of recoveryDigests(code, user.id, factors.recoveryKeys)) {
    const used = await factors.store.useRecoveryCode({ userId: user.id, digest })
    if (used.outcome !== 'used') continue
    events.emit('recovery_code_used', { userId: user.id, left: used.left }, origin)
    outbox?.post({ kind: 'recovery_code_used', user: addressed(user), locale, origin })
    return
  }
  events.emit('second_factor_failed', { userId: user.id, kind: 'recovery_code', reason: 'wrong', clientId }, origin)
  await tellOfFailure(user, { origin, locale }, deps)
  throw new OAuthError('invalid_grant', 'The recovery code is wrong.', {
    field: 'recovery_code',
    reason: 'wrong_recovery_code'
  })
}
