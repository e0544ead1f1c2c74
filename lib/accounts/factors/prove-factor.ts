import { OAuthError } from '../../errors.ts'
import type { TotpFactor, UserFactors } from '../../ports/factor-store.ts'
import type { User } from '../../ports/user-store.ts'
import type { AuthenticationProof } from '../../protocol/authentication.ts'
import { readRecoveryCode, recoveryDigests } from '../../protocol/second-factors.ts'
import { matchTotp, readTotpCode } from '../../protocol/totp.ts'
import type { AccountsDeps } from '../deps.ts'
import { addressed, type MessageCause } from '../outbox.ts'
import type { FactorDeps } from './deps.ts'
import type { GivenCredential } from './passkeys.ts'
import { tellOfFailure } from './tell-of-failure.ts'
import { openTotpSecret, sealTotpSecret } from './totp-secret.ts'

/** A given second factor, after reading: six digits, a recovery code, or the answer of a passkey. */
export type GivenFactor =
  | { kind: 'totp'; code: string }
  | { kind: 'recovery_code'; code: string }
  | { kind: 'passkey'; credential: GivenCredential }

/** The place at which a second factor is given. */
interface Given extends MessageCause {
  clientId: string | null
  /** True if the user has given a second factor in this browser before. */
  isKnown: boolean
}

export type ProvingDeps = AccountsDeps & { factors: FactorDeps }

/**
 * Wrong codes in a row after which an app is disabled where the browser is not known, whatever the limits say. After as
 * many in known browsers, these are known no longer. @see NIST SP 800-63B-4 §3.2.2
 */
const MAX_FAILURES = 100

/**
 * Reads a typed code. A text that can't be a code is a slip, and no guess.
 * @throws OAuthError `invalid_code`, or `invalid_request` if there is neither
 */
export function readFactor(
  {
    code = '',
    recoveryCode = '',
    credential = ''
  }: { code?: string | undefined; recoveryCode?: string | undefined; credential?: string | undefined },
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
  const digits = readTotpCode(code)
  if (digits === null)
    throw new OAuthError('invalid_code', 'A code has six digits.', { field: fields.code, reason: 'code_form' })
  return { kind: 'totp', code: digits }
}

/**
 * Proves a second factor and uses it up: of any number of parallel calls with one code, one succeeds. To be limited by
 * the rule `secondFactor`.
 * @throws OAuthError `invalid_grant` with the reason
 */
export async function proveFactor(
  given: GivenFactor,
  user: User,
  found: UserFactors,
  cause: Given,
  deps: ProvingDeps
): Promise<AuthenticationProof> {
  const now = deps.clock.now()
  if (given.kind === 'recovery_code') {
    await useRecoveryCode(given.code, user, cause, deps)
    return { method: 'recovery_code', at: now }
  }
  if (given.kind === 'passkey') {
    const { passkeys } = deps.factors
    if (passkeys === null)
      throw new OAuthError('invalid_grant', 'Passkeys are off here.', {
        field: 'credential',
        reason: 'passkey_refused'
      })
    return await passkeys.prove({ ...cause, user, found, credential: given.credential, purpose: 'second_factor' }, deps)
  }
  await useTotpCode(given.code, user, found.totp, now, cause, deps)
  return { method: 'otp', at: now }
}

const UNOPENED =
  'The key of an authenticator app does not open: it was sealed under another issuer, or under a secret that is not ' +
  'among those of the option secret.'

/** The apps whose codes count in this browser: a disabled app has been guessed at in browsers that are not known. */
export function appsFor(apps: readonly TotpFactor[], isKnown: boolean): TotpFactor[] {
  return apps.filter(({ disabled }) => isKnown || !disabled)
}

async function useTotpCode(
  code: string,
  user: User,
  apps: readonly TotpFactor[],
  now: number,
  { origin, locale, clientId, isKnown }: Given,
  deps: ProvingDeps
): Promise<void> {
  const {
    issuer,
    events,
    outbox,
    factors: { store, sealer }
  } = deps
  const userId = user.id
  const fail = (reason: 'wrong' | 'replayed' | 'disabled'): never => {
    events.emit('second_factor_failed', { userId, kind: 'totp', reason, clientId }, origin)
    if (reason === 'replayed')
      throw new OAuthError('invalid_grant', 'This code was used already. Wait for the next one.', {
        field: 'code',
        reason: 'used_code'
      })
    if (reason === 'disabled')
      throw new OAuthError('invalid_grant', 'Authenticator apps do not work for this account any more.', {
        field: 'code',
        reason: 'factor_disabled'
      })
    throw new OAuthError('invalid_grant', 'The code is wrong.', { field: 'code', reason: 'wrong_code' })
  }
  const enabled = appsFor(apps, isKnown)
  if (enabled.length === 0) return fail('disabled')
  const opened = enabled.flatMap((app) => {
    const secret = openTotpSecret(app, { issuer, userId }, sealer)
    return secret === null ? [] : [{ app, secret }]
  })
  if (opened.length < enabled.length)
    deps.advise({ code: 'FST_AUTHORITY_KEYS_FAILED', cause: 'an app', text: UNOPENED })
  // The code may be right. That is no guess, so nothing counts it and nobody is told of it.
  if (opened.length === 0)
    throw new OAuthError('temporarily_unavailable', 'Codes of authenticator apps cannot be checked now.', {
      detail: UNOPENED
    })
  for (const { app, secret } of opened) {
    const step = matchTotp(secret, code, now)
    if (step === null) continue
    const used = await store.useTotp({
      userId,
      factorId: app.id,
      step,
      now,
      isKnown,
      sealedSecret: sealTotpSecret(secret, { issuer, userId, factorId: app.id }, sealer)
    })
    if (used === 'used') return
    // It was removed meanwhile, or a parallel guess has disabled it.
    if (used !== 'replayed') return fail('disabled')
    events.emit('factor_replayed', { userId, factorId: app.id }, origin)
    return fail('replayed')
  }
  if ((await store.countFailure({ userId, max: MAX_FAILURES, isKnown })) === 'disabled') {
    events.emit('factor_disabled', { userId, kind: 'totp' }, origin)
    outbox?.post({ kind: 'factor_disabled', user: addressed(user), locale, origin })
  }
  await tellOfFailure(user, { origin, locale }, deps)
  fail('wrong')
}

async function useRecoveryCode(
  code: string,
  user: User,
  { origin, locale, clientId }: Given,
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
