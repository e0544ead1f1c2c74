import { type ProvingDeps, tellOfFailure } from '../second-factors/deps.ts'
import { addressed } from '../../accounts/outbox.ts'
import type { AuthenticationProof } from '../../protocol/authentication.ts'
import type { User } from '../../ports/user-store.ts'
import type { TotpFactor } from '../../ports/factor-store.ts'
import { OAuthError } from '../../errors.ts'
import { matchTotp, readTotpCode } from '../../protocol/totp.ts'
import type { GivenAt } from '../../accounts/factor-kinds.ts'
import type { Sealer } from '../../ports/cryptography.ts'

/**
 * Number of wrong codes in a row from unknown browsers that disables an app there, besides the rate limits. The same
 * number from known browsers makes these browsers unknown. @see NIST SP 800-63B-4 §3.2.2
 */
const MAX_FAILURES = 100

/** Reads a typed code of six digits. @throws OAuthError `invalid_code` */
export function readCode(code: string, field: string): string {
  const digits = readTotpCode(code)
  if (digits === null) throw new OAuthError('invalid_code', 'A code has six digits.', { field, reason: 'code_form' })
  return digits
}

const UNOPENED =
  'The key of an authenticator app does not open: it was sealed under another issuer, or under a secret that is not ' +
  'among those of the option secret.'

/** The apps whose codes work in this browser. A disabled app still works in known browsers. */
export function appsFor(apps: readonly TotpFactor[], isKnown: boolean): TotpFactor[] {
  return apps.filter(({ disabled }) => isKnown || !disabled)
}

/**
 * Verifies a code of one of the user's apps and uses it up.
 * @throws OAuthError as `proveFactor` describes; `temporarily_unavailable` if the key of no app opens
 */
export async function proveByCode(
  code: string,
  user: User,
  apps: readonly TotpFactor[],
  { origin, locale, clientId, isKnown }: GivenAt,
  deps: ProvingDeps
): Promise<AuthenticationProof> {
  const {
    issuer,
    clock,
    events,
    outbox,
    factors: { store, sealer }
  } = deps
  const userId = user.id
  const now = clock.now()
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
  // No key opens, so the code may be right. It does not count as a wrong code, and the user gets no message.
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
    if (used === 'used') return { method: 'otp', at: now }
    // The app was removed meanwhile, or a parallel guess has disabled it.
    if (used !== 'replayed') return fail('disabled')
    events.emit('factor_replayed', { userId, factorId: app.id }, origin)
    return fail('replayed')
  }
  if ((await store.countFailure({ userId, max: MAX_FAILURES, isKnown })) === 'disabled') {
    events.emit('factor_disabled', { userId, kind: 'totp' }, origin)
    outbox?.post({ kind: 'factor_disabled', user: addressed(user), locale, origin })
  }
  await tellOfFailure(user, { origin, locale }, deps)
  return fail('wrong')
}

/** Binds a sealed secret to its user and factor. In the row of another user or factor, the secret does not open. */
const contextOf = (issuer: string, userId: string, factorId: string): string =>
  JSON.stringify(['totp', issuer, userId, factorId])

export function sealTotpSecret(
  secret: Uint8Array,
  { issuer, userId, factorId }: { issuer: string; userId: string; factorId: string },
  sealer: Sealer
): string {
  return sealer.seal(Buffer.from(secret).toString('base64url'), contextOf(issuer, userId, factorId))
}

/** Opens the sealed key of an app. `null`: no value of the option `secret` opens it. */
export function openTotpSecret(
  { id, sealedSecret }: Pick<TotpFactor, 'id' | 'sealedSecret'>,
  { issuer, userId }: { issuer: string; userId: string },
  sealer: Sealer
): Buffer | null {
  const opened = sealer.open(sealedSecret, contextOf(issuer, userId, id))
  return opened === null ? null : Buffer.from(opened, 'base64url')
}
