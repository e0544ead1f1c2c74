import { type ProvingDeps, tellOfFailure } from '../second-factors/deps.ts'
import { OAuthError } from '../../errors.ts'
import type { LoginFailure } from '../../events.ts'
import type { PasskeyFactor, UserFactors } from '../../ports/factor-store.ts'
import type { User } from '../../ports/user-store.ts'
import type { AuthenticationProof } from '../../protocol/authentication.ts'
import { digest } from '../../protocol/digest.ts'
import { type Assertion, type GivenAssertion, readAssertion, verifyAssertion } from '../../protocol/webauthn.ts'
import { CLAIM_LIFETIME_MS } from '../../protocol/webauthn-options.ts'
import { WebauthnError } from '../../protocol/webauthn-key.ts'
import { failureOf } from '../../accounts/authenticate-password.ts'
import type { MessageCause } from '../../accounts/outbox.ts'
import { type ChallengePurpose, isChallengeOf, type PasskeyConfig, purposeOf } from './challenges.ts'
import type { GivenCredential, PasskeyPurpose, ProvedByPasskey } from '../../accounts/factor-kinds.ts'

/**
 * Makes the error for a refused passkey, with one text for every cause. `reason` is for pages, `detail` for the log.
 */
export function refusedPasskey(
  detail: string,
  reason: 'passkey_refused' | 'unknown_passkey' | 'passkey_copied' = 'passkey_refused'
): OAuthError {
  return new OAuthError('invalid_grant', 'The passkey was not accepted.', {
    field: 'credential',
    reason,
    detail,
    withoutStack: true
  })
}

/** Finds and verifies the user who answered `signInOptions`. @throws OAuthError as `Passkeys.proveAlone` describes */
export async function proveAlone(
  { credential, clientId, origin, locale }: { credential: GivenCredential; clientId: string | null } & MessageCause,
  config: PasskeyConfig,
  deps: ProvingDeps
): Promise<ProvedByPasskey> {
  const {
    users,
    events,
    factors: { store }
  } = deps
  const fail = (
    reason: LoginFailure,
    detail: string,
    user: User | null = null,
    forPages: Parameters<typeof refusedPasskey>[1] = reason === 'unknown_passkey' ? reason : 'passkey_refused'
  ): never => {
    events.emit(
      'login_failed',
      { reason, sid: null, clientId, ...(user === null ? {} : { userId: user.id, username: user.username }) },
      origin
    )
    throw refusedPasskey(detail, forPages)
  }
  const unless = <Result>(act: () => Result, user: User | null = null): Result => {
    try {
      return act()
    } catch (error) {
      if (error instanceof WebauthnError) return fail('passkey_refused', error.message, user)
      throw error
    }
  }
  const given = unless(() => readAssertion(credential))
  const { userHandle } = given
  if (userHandle === null) return fail('passkey_refused', 'the authenticator named no user')
  const owned = await store.findByHandle(handleIn(userHandle), given.id)
  if (owned === null) return fail('unknown_passkey', 'nobody has this handle and this credential')
  const user = await users.findById(owned.userId)
  const { passkey } = owned
  // Verifies the passkey first. Only then checks that the account may sign in, and refuses with the same text if not.
  const assertion = unless(() => verified(given, passkey, { to: 'sign_in' }, true, config, deps), user)
  const reason = passkey.uvInitialized ? failureOf(user, null, deps) : 'passkey_refused'
  if (user === null || reason !== null)
    return fail(
      reason ?? 'unknown_user',
      reason === 'passkey_refused' ? 'a security key is no first factor' : (reason ?? 'unknown_user'),
      user
    )
  const outcome = await use(assertion, passkey, { user, origin, locale }, deps)
  if (outcome !== 'used')
    return fail('passkey_refused', outcome, user, outcome === 'regressed' ? 'passkey_copied' : undefined)
  return {
    user,
    proof: { method: 'passkey', at: deps.clock.now() },
    async confirm() {
      const [now, factors] = await Promise.all([users.findById(user.id), store.findFactors(user.id)])
      const isThere = factors.passkeys.some(({ credentialId }) => credentialId === passkey.credentialId)
      if (now !== null && isThere && failureOf(now, null, deps) === null) return now
      events.emit(
        'login_failed',
        { reason: 'changed_meanwhile', userId: user.id, username: user.username, sid: null, clientId },
        origin
      )
      return null
    }
  }
}

type Proof = { credential: GivenCredential; user: User; found: UserFactors; clientId: string | null } & PasskeyPurpose &
  MessageCause

/** Verifies a known user's answer to `optionsFor`. @throws OAuthError as `Passkeys.prove` describes */
export async function provePasskey(
  { credential, user, found, clientId, origin, locale, ...of }: Proof,
  config: PasskeyConfig,
  deps: ProvingDeps
): Promise<AuthenticationProof> {
  const fail = async (reason: 'wrong' | 'replayed', error: OAuthError): Promise<never> => {
    deps.events.emit('second_factor_failed', { userId: user.id, kind: 'passkey', reason, clientId }, origin)
    if (of.purpose === 'second_factor' && reason === 'wrong' && error.reason !== 'passkey_copied')
      await tellOfFailure(user, { origin, locale }, deps)
    throw error
  }
  try {
    const given = readAssertion(credential)
    // Searches this user's passkeys alone, because another user may have a credential with the same id.
    const passkey = found.passkeys.find(({ credentialId }) => credentialId === given.id)
    if (passkey === undefined)
      return await fail('wrong', refusedPasskey('the user has no such credential', 'unknown_passkey'))
    if (given.userHandle !== null && handleIn(given.userHandle) !== found.handle)
      return await fail('wrong', refusedPasskey("the handle is another user's"))
    const assertion = verified(given, passkey, purposeOf(user.id, of), passkey.uvInitialized, config, deps)
    const outcome = await use(assertion, passkey, { user, origin, locale }, deps)
    if (outcome !== 'used')
      return await fail(
        outcome === 'replayed' ? 'replayed' : 'wrong',
        refusedPasskey(outcome, outcome === 'regressed' ? 'passkey_copied' : undefined)
      )
    return {
      method: assertion.userVerified && passkey.uvInitialized ? 'passkey' : 'security_key',
      at: deps.clock.now()
    }
  } catch (error) {
    if (error instanceof WebauthnError) return await fail('wrong', refusedPasskey(error.message))
    throw error
  }
}

/** Decodes the stored handle of a user from the user handle that the browser sends, which is base64url. */
const handleIn = (userHandle: string): string => Buffer.from(userHandle, 'base64url').toString('latin1')

function verified(
  given: GivenAssertion,
  passkey: PasskeyFactor,
  purpose: ChallengePurpose,
  requiresVerification: boolean,
  config: PasskeyConfig,
  deps: ProvingDeps
): Assertion {
  return verifyAssertion(given, passkey, {
    askedWith: (challenge) => (isChallengeOf(purpose, challenge, config, deps) ? { requiresVerification } : null),
    origins: config.origins,
    rpId: config.rpId
  })
}

/**
 * Uses up the challenge in the store. Of parallel calls with the same answer, only one succeeds. If the store refuses
 * the passkey because of its counter, `tellOfFailure` sends the user a message.
 */
async function use(
  { challenge, signCount, backedUp }: Assertion,
  { id: factorId, credentialId }: PasskeyFactor,
  { user, origin, locale }: { user: User } & MessageCause,
  deps: ProvingDeps
): Promise<'used' | 'replayed' | 'regressed' | 'unknown'> {
  const {
    clock,
    events,
    factors: { store }
  } = deps
  const now = clock.now()
  const used = await store.usePasskey({
    userId: user.id,
    credentialId,
    claim: digest(`passkey challenge ${challenge}`),
    claimExpiresAt: now + CLAIM_LIFETIME_MS,
    signCount,
    backedUp,
    now
  })
  const isRefused = used.outcome === 'regressed'
  if (isRefused || (used.outcome === 'used' && used.regressed))
    events.emit('passkey_counter_regressed', { userId: user.id, factorId, refused: isRefused }, origin)
  if (isRefused) await tellOfFailure(user, { origin, locale }, deps, 'passkey_counter_regressed')
  return used.outcome
}
