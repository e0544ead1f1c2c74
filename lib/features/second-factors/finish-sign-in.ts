import { commitSession } from '../../accounts/begin-session.ts'
import type { SessionBegun, SignIn } from '../../accounts/slots.ts'
import { appsOf, type FactorDeps, passkeysOf, type ProvingDeps, tellOfFailure } from './deps.ts'
import type { PendingStep } from './second-step.ts'
import { settled } from '../../accounts/sign-in-writes.ts'
import { firstFactorHolds } from '../../accounts/first-factor.ts'
import { OAuthError } from '../../errors.ts'
import type { UserFactors } from '../../ports/factor-store.ts'
import type { Browser, SignedInPerson } from '../../sessions/browser-sessions.ts'
import type { AuthorizeDeps } from '../../authorize/deps.ts'
import { userOf } from '../../sessions/active-user.ts'
import type { GivenAt, GivenCredential, FactorAdded } from '../../accounts/factor-kinds.ts'
import type { User } from '../../ports/user-store.ts'
import type { AuthenticationProof } from '../../protocol/authentication.ts'
import { readRecoveryCode, recoveryDigests } from '../../protocol/second-factors.ts'
import type { AccountsDeps } from '../../accounts/deps.ts'
import { addressed } from '../../accounts/outbox.ts'

interface SecondFactor {
  /** The content of the opened ticket. */
  step: PendingStep
  /** The user's factors when the ticket was opened. */
  found: UserFactors
  given: GivenFactor
  locale: string | undefined
  /** True if a second factor was given or set up in this browser after the last change of password and factors. */
  isKnown: boolean
}

/**
 * Signs in a user who has given the first factor before and gives the second now. Uses up the second factor before the
 * session begins.
 * @throws OAuthError `invalid_grant` with the reason; `login_required` if the first factor does not hold any more
 */
export async function finishSignIn(
  { step, found, given, locale, isKnown }: SecondFactor,
  browser: Browser,
  deps: AuthorizeDeps & { accounts: { factors: FactorDeps } }
): Promise<SessionBegun> {
  const { by, connection, clientId } = step
  const at = { clientId, origin: browser.origin, locale, isKnown }
  const proved = await proveSecond({ step, found, given }, at, deps.accounts)
  const begun = proved === null ? null : await commitSession({ ...proved, by, connection, clientId }, browser, deps)
  if (begun === null) throw signInAgain()
  return begun
}

/**
 * Verifies the second factor of a sign-in and makes the writes of the sign-in. Call `confirm` after the commit.
 * @returns `null` if the first factor does not hold any more
 * @throws OAuthError `invalid_grant` with the reason
 */
export async function proveSecond(
  { step, found, given }: Pick<SecondFactor, 'step' | 'found' | 'given'>,
  at: GivenAt,
  accounts: ProvingDeps
): Promise<Pick<SignIn, 'user' | 'methods' | 'confirm'> | null> {
  const { store } = accounts.factors
  const { clientId, locale, origin } = at
  const proof = await proveFactor(given, step.user, found, at, accounts)
  const done = await settled(step, { locale, origin }, accounts)
  if (done === null) return null
  const { user } = done
  const { deviceEpoch } = step.writes === undefined ? found : await store.findFactors(user.id)
  return {
    user,
    methods: [...step.methods, proof],
    async confirm() {
      const [now, factors] = await Promise.all([firstFactorHolds(done, accounts), store.findFactors(user.id)])
      // The epoch changes with the factors: they may have been reset, or a new factor may have ended all other
      // sign-ins.
      if (now !== null && factors.deviceEpoch === deviceEpoch) return now
      accounts.events.emit(
        'login_failed',
        { reason: 'changed_meanwhile', userId: user.id, username: user.username, sid: null, clientId },
        origin
      )
      return null
    }
  }
}

interface StepUp {
  person: SignedInPerson
  /** The user's factors when the page was asked for. */
  found: UserFactors
  given: GivenFactor
  clientId: string | null
  locale: string | undefined
  /** True if a second factor was given or set up in this browser after the last change of password and factors. */
  isKnown: boolean
}

/**
 * Adds a second factor to the browser's session. The user signed in without a second factor, for example on the host's
 * own page, in a remembered browser, or before a factor was required. The session keeps its id and its user, and gets a
 * new secret. Earlier proofs keep their age.
 * @throws OAuthError `invalid_grant` with the reason; `login_required` if the session has ended or the factors have
 * changed meanwhile
 */
export async function stepUp(
  { person: { session, user }, found, given, clientId, locale, isKnown }: StepUp,
  browser: Browser,
  { accounts, browserSessions, sessions }: AuthorizeDeps & { accounts: { factors: FactorDeps } }
): Promise<SessionBegun> {
  const { origin } = browser
  const proof = await proveFactor(given, user, found, { clientId, origin, locale, isKnown }, accounts)
  const methods = [...session.methods.filter(({ method }) => method !== proof.method), proof]
  const renewed = await browserSessions.renew(methods, browser)
  // The session has ended meanwhile, or another tab has replaced its secret.
  if (renewed === null) throw signInAgain()
  let now = null
  try {
    const [active, factors] = await Promise.all([
      userOf(renewed.session, { users: accounts.users, sessions }),
      accounts.factors.store.findFactors(user.id)
    ])
    // The epoch changes with the factors, which may have been reset.
    if (factors.deviceEpoch === found.deviceEpoch) now = active
  } finally {
    if (now === null) await sessions.revokeBrowserSession(user.id, renewed.session.sid, 'undone', { origin })
  }
  if (now === null) throw signInAgain()
  accounts.events.emit(
    'step_up',
    { userId: user.id, sid: session.sid, methods: methods.map(({ method }) => method) },
    origin
  )
  return { ...renewed, user: now }
}

const signInAgain = (): OAuthError => new OAuthError('login_required', 'Sign in again.')

/**
 * Signs in a user who had to set up a second factor first. The app or passkey is already stored. `null`: there is no
 * session, because the account changed meanwhile, or because a store failed. The caller must show the recovery codes in
 * that case too.
 */
export async function signInEnrolled(
  step: PendingStep,
  { factorId, proof }: FactorAdded,
  browser: Browser,
  deps: AuthorizeDeps & { accounts: { factors: FactorDeps } }
): Promise<SessionBegun | null> {
  const { accounts } = deps
  const begin = async (): Promise<SessionBegun | null> => {
    const done = await settled(step, { keeps: factorId, locale: undefined, origin: browser.origin }, accounts)
    if (done === null) return null
    const { user, by, connection, methods, clientId } = done
    return await commitSession(
      {
        user,
        by,
        connection,
        methods: [...methods, proof],
        clientId,
        async confirm() {
          const [now, { totp, passkeys }] = await Promise.all([
            firstFactorHolds(done, accounts),
            accounts.factors.store.findFactors(user.id)
          ])
          // No session if the factor was removed meanwhile, or if the first factor is no longer valid.
          return [...totp, ...passkeys].some(({ id }) => id === factorId) ? now : null
        }
      },
      browser,
      deps
    )
  }
  return await begin().catch((error: unknown) => {
    accounts.onError(error, 'a user who has just set up a second factor could not be signed in')
    return null
  })
}

/** A second factor that a user gives, as `readFactor` returns it. */
type GivenFactor =
  | { kind: 'totp'; code: string }
  | { kind: 'recovery_code'; code: string }
  | { kind: 'passkey'; credential: GivenCredential }

/**
 * Reads a given factor. A text that can't be a code is `invalid_code` and does not count as a guess.
 * @throws OAuthError `invalid_code`, or `invalid_request` if no factor is given
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
 * Verifies a second factor and uses it up: of parallel calls with the same code, only one succeeds. The caller must
 * apply the rate limit `secondFactor`.
 * @throws OAuthError `invalid_grant` with the reason
 */
async function proveFactor(
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
