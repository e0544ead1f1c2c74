import { newKindsOf, passkeysOf, type ProvingDeps } from './deps.ts'
import { isRememberedIn } from './remembered-devices.ts'
import { isRecentEnough } from '../../accounts/fresh-sign-in.ts'
import { waysIn } from '../../accounts/ways-in.ts'
import type { AskedOf, Asking, AuthorizeSlots, MissingStep, StepTowards } from '../../authorize/deps.ts'
import type { UserFactors } from '../../ports/factor-store.ts'
import type { User } from '../../ports/user-store.ts'
import {
  contextOf,
  hasProvedSecond,
  lacksSecondFactor,
  MFA_ACR,
  PASSKEY_ACR,
  provedSince,
  withCode
} from '../../protocol/authentication.ts'
import { hasFactor } from '../../protocol/second-factors.ts'
import type { SignedInPerson } from '../../sessions/browser-sessions.ts'

/** The answers of second factors to questions of the authorization endpoint. */
export function authorizeSlots(accounts: ProvingDeps): Required<AuthorizeSlots> {
  const { store } = accounts.factors
  return {
    missing: async (person, asked) => await missingStep(person, asked, accounts),
    reaches: async (acr, user, asking) => await reaches(acr, user, await store.findFactors(user.id), asking, accounts),
    towards: async (...asked) => await stepTowards(...asked, accounts)
  }
}

/**
 * The missing step by the client's requirement or by the host's policy. It is asked of the person in their present
 * session: no other name is accepted, and a host's own sign-in page needs no second factor of its own. Rejects if a
 * hook or a store fails.
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
  // The host requires the factor, and a remembered browser is exempt from that.
  if (!byClient && isRememberedIn(user, found, { remembered }, { clock, factors })) return null
  const isTooOld = maxAge !== undefined && now - provedSince(session) > maxAge * 1000
  const isEnough = !byClient || contextOf(withCode(session, now), possible ?? []) !== null
  return isEnough && !isTooOld ? 'second_factor' : byHost ? 'sign_in' : null
}

/**
 * An emailed code does not reach a higher level with a second factor: a user with neither password nor connection
 * reaches `mfa` by a passkey alone.
 */
async function reaches(
  acr: string,
  user: User,
  found: UserFactors,
  { hostedSignIn }: Asking,
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

/** Leads a user without a fitting factor to its set-up, not to a proof that would change nothing. */
async function stepTowards(
  acr: string,
  { session, user }: SignedInPerson,
  { hostedSignIn, accountPages }: Asking & { accountPages: boolean },
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
    // A sign-in page of the host's own asks for no passkey of ours. Ours asks for it as the second factor.
    return acr === PASSKEY_ACR ? (lacksCode ? 'second_factor' : 'never') : null
  }
  const { apps, passkeys } = newKindsOf(accounts)
  // True if a second factor, now or after its set-up, would bring the sign-in to this level.
  const helps = acr === MFA_ACR && !hasSecond && (lacksCode || user.passwordHash !== null)
  if (!helps) return accountPages && passkeys !== null ? 'passkey' : 'never'
  if (passkeys === null && apps === null) return 'never'
  // The first one is set up after a sign-in of the last minutes.
  return isRecentEnough(session, now) ? 'enrolment' : null
}
