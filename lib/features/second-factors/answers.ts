import { newKindsOf, passkeysOf, type ProvingDeps } from './deps.ts'
import { lookLater } from '../../accounts/background.ts'
import { addressed, type MessageCause } from '../../accounts/outbox.ts'
import type { AccountSlots, Ending } from '../../accounts/slots.ts'
import type { RemovedFactor, UserFactors } from '../../ports/factor-store.ts'
import type { User } from '../../ports/user-store.ts'
import {
  type AuthenticationContext,
  contextOf,
  covers,
  EMAIL_ACR,
  hasProvedSecond,
  lacksSecondFactor,
  MFA_ACR,
  PASSKEY_ACR,
  provedSince,
  withCode
} from '../../protocol/authentication.ts'
import { hasFactor } from '../../protocol/second-factors.ts'
import { isRememberedIn } from './second-step.ts'
import { isRecentEnough } from '../../accounts/fresh-sign-in.ts'
import { waysIn } from '../../accounts/ways-in.ts'
import type { AskedOf, SignInPageKind, AuthorizeSlots, MissingStep, StepTowards } from '../../authorize/deps.ts'
import type { SignedInPerson } from '../../sessions/browser-sessions.ts'

/** The account slots of second factors. They answer questions about a user's factors, and end factors. */
export function accountSlots(
  accounts: ProvingDeps
): Required<Pick<AccountSlots, 'factors' | 'proof' | 'end' | 'endRest' | 'keepsAgainstMailbox'>> {
  const { store } = accounts.factors
  return {
    factors: async (userId) => await store.findFactors(userId),
    async proof(user) {
      const found = await store.findFactors(user.id)
      return hasFactor(found) ? (signIn) => covers(signIn.acr, MFA_ACR) || isAllByEmail(user, found, signIn) : null
    },
    end: async (user, ending, cause) => {
      await end(user, ending, cause, accounts)
    },
    async endRest(userId) {
      await store.removeFactorsOfUser(userId)
    },
    keepsAgainstMailbox: async (user) =>
      factorsIn(await store.findFactors(user.id)).some(({ provisional }) => !provisional)
  }
}

/**
 * True if a user without a password has signed in with an emailed code and a recovery code, or with an emailed code and
 * an authenticator app. An authenticator app is not enough for a user with a passkey.
 */
function isAllByEmail({ passwordHash }: User, { passkeys }: UserFactors, { acr, amr }: AuthenticationContext): boolean {
  return (
    passwordHash === null &&
    acr === EMAIL_ACR &&
    (amr.includes('recovery') || (passkeys.length === 0 && amr.includes('otp')))
  )
}

type EndingFactor = RemovedFactor & { createdAt: number; provisional: boolean }

/** Lists the user's factors with the facts that decide whether a factor ends, and those that report its end. */
const factorsIn = ({ totp, passkeys }: UserFactors): EndingFactor[] => [
  ...totp.map(({ id, createdAt, provisional }) => ({ id, createdAt, provisional, kind: 'totp' as const })),
  ...passkeys.map(({ id, createdAt, provisional }) => ({ id, createdAt, provisional, kind: 'passkey' as const }))
]

async function end(user: User, ending: Ending, cause: MessageCause, deps: ProvingDeps): Promise<void> {
  const { store } = deps.factors
  const userId = user.id
  const found = factorsIn(await store.findFactors(userId))
  switch (ending.what) {
    case 'provisional': {
      const ended = found.filter(({ provisional }) => provisional)
      // The owner of the address did not set up these factors. A message about their end would only puzzle the owner.
      const outbox = ending.by === 'disowned' ? null : deps.outbox
      await endFactors(user, ended, async () => await store.removeProvisional(userId), cause, { ...deps, outbox })
      return
    }
    case 'taken_over': {
      // Authenticator apps stay, because an app alone is no way to sign in.
      const ended = found.filter(({ id, kind }) => kind === 'passkey' && id !== ending.keeps)
      // The message of the new link tells the user that all other ways to sign in have ended.
      await endEach(user, ended, cause, { ...deps, outbox: null })
      return
    }
    case 'since': {
      const ended = found.filter(({ createdAt }) => createdAt >= ending.since)
      await endEach(user, ended, cause, deps)
      return
    }
    case 'all':
      await endFactors(
        user,
        found,
        async () => ((await store.removeFactorsOfUser(userId)) > 0 ? found : []),
        cause,
        deps
      )
  }
}

async function endEach(
  user: User,
  ended: readonly EndingFactor[],
  cause: MessageCause,
  deps: ProvingDeps
): Promise<void> {
  const { store } = deps.factors
  for (const factor of ended) {
    const removal = { userId: user.id, factorId: factor.id, keepOne: false }
    const remove = async () => ((await store.removeFactor(removal)) === 'removed' ? [factor] : [])
    await endFactors(user, [factor], remove, cause, deps)
  }
}

/**
 * Ends factors of a user by `remove`, which resolves to the removed ones, and reports each. If the answer of `remove`
 * is lost, a repeated request would find no factor to report. So background work reports all of `found` once they are
 * gone.
 */
async function endFactors(
  user: User,
  found: readonly EndingFactor[],
  remove: () => Promise<readonly RemovedFactor[]>,
  { locale, origin }: MessageCause,
  { background, events, factors: { store }, outbox }: ProvingDeps
): Promise<void> {
  const tell = ({ id, kind }: RemovedFactor): void => {
    events.emit('factor_removed', { userId: user.id, factorId: id, kind, by: 'mailbox' }, origin)
    outbox?.post({ kind: 'factor_removed', factor: kind, by: 'user', user: addressed(user), locale, origin })
  }
  const removed = await remove().catch((error: unknown) => {
    const what = 'second factors that may have ended could not be looked at'
    lookLater(background, `ending ${user.id}`, what, async () => {
      const left = factorsIn(await store.findFactors(user.id))
      if (left.some(({ id }) => found.some((one) => one.id === id))) return false
      found.forEach(tell)
      return true
    })
    throw error
  })
  removed.forEach(tell)
}

/** The slots of second factors for the authorization endpoint: the step that a session lacks or needs for a level. */
export function authorizeSlots(accounts: ProvingDeps): Required<AuthorizeSlots> {
  const { store } = accounts.factors
  return {
    missing: async (person, asked) => await missingStep(person, asked, accounts),
    reaches: async (acr, user, asking) => await reaches(acr, user, await store.findFactors(user.id), asking, accounts),
    towards: async (...asked) => await stepTowards(...asked, accounts)
  }
}

/**
 * Returns the step that a session lacks by the client's requirement or by the host's policy. The user gives a missing
 * second factor in the same session, so that a host's own sign-in page need not ask for it. Rejects if a hook or a
 * store fails.
 */
async function missingStep(
  { session, user }: SignedInPerson,
  { request: { maxAge }, client, possible, authentication, remembered, now }: AskedOf,
  { clock, factors }: ProvingDeps
): Promise<MissingStep> {
  const byClient = authentication === null && possible?.includes(MFA_ACR) === true
  const byHost =
    factors.policy.required !== null &&
    !hasProvedSecond(session) &&
    (await factors.policy.required(user, client.clientId))
  if (!byClient && !byHost) return null
  const found = await factors.store.findFactors(user.id)
  if (!hasFactor(found)) {
    if (!byHost) return null
    return isRecentEnough(session, now) ? 'enrolment' : 'sign_in'
  }
  // A remembered browser is exempt from the host's requirement, but not from that of the client.
  if (!byClient && isRememberedIn(user, found, { remembered }, { clock, factors })) return null
  const isTooOld = maxAge !== undefined && now - provedSince(session) > maxAge * 1000
  const isEnough = !byClient || contextOf(withCode(session, now), possible ?? []) !== null
  return isEnough && !isTooOld ? 'second_factor' : byHost ? 'sign_in' : null
}

/**
 * True if the user can reach the level `acr` by a new sign-in. An emailed code does not reach `mfa`, not even with a
 * second factor. So on the hosted sign-in page, a user with neither password nor connection needs a passkey for it.
 */
async function reaches(
  acr: string,
  user: User,
  found: UserFactors,
  { hostedSignIn }: SignInPageKind,
  accounts: ProvingDeps
): Promise<boolean> {
  const { links, others, password } = await waysIn(user, accounts)
  if (others.includes('passkey')) return true
  const canGivePassword = !hostedSignIn || password
  // A security key reaches this level only together with a password.
  if (acr === PASSKEY_ACR)
    return canGivePassword && found.passkeys.some(({ rpId }) => rpId === passkeysOf(accounts)?.rpId)
  const hasSecond = hasFactor(found)
  if (acr === MFA_ACR && !hasSecond) return false
  return canGivePassword || (hasSecond && links.length > 0)
}

/**
 * Returns the step by which a signed-in user can reach the level `acr`. A user without a fitting factor has to set one
 * up, because proving the existing ones again would change nothing.
 */
async function stepTowards(
  acr: string,
  { session, user }: SignedInPerson,
  { hostedSignIn, accountPages }: SignInPageKind & { accountPages: boolean },
  accounts: ProvingDeps
): Promise<StepTowards | null> {
  const { clock, factors } = accounts
  const now = clock.now()
  const found = await factors.store.findFactors(user.id)
  const lacksCode = lacksSecondFactor(session, now)
  const hasSecond = hasFactor(found)
  if (acr === MFA_ACR && hasSecond && lacksCode) return 'second_factor'
  if (await reaches(acr, user, found, { hostedSignIn }, accounts)) {
    if (hostedSignIn) return 'reauthenticate'
    // The host's own sign-in page asks for no passkey of this service. The page of the second factor asks for it.
    return acr === PASSKEY_ACR ? (lacksCode ? 'second_factor' : 'never') : null
  }
  const { apps, passkeys } = newKindsOf(accounts)
  // True if setting up a second factor would bring the sign-in to this level.
  const helps = acr === MFA_ACR && !hasSecond && (lacksCode || user.passwordHash !== null)
  if (!helps) return accountPages && passkeys !== null ? 'passkey' : 'never'
  if (passkeys === null && apps === null) return 'never'
  // Setting up the first factor requires a recent sign-in.
  return isRecentEnough(session, now) ? 'enrolment' : null
}
