import { type FactorDeps, hasFactor } from '../accounts/factors/deps.ts'
import { isRememberedIn } from '../accounts/factors/remembered-devices.ts'
import { isRecentEnough } from '../accounts/fresh-sign-in.ts'
import type { AccountsDeps } from '../accounts/deps.ts'
import type { Client } from '../ports/client-store.ts'
import {
  type AuthenticationContext,
  contextOf,
  hasProvedSecond,
  MFA_ACR,
  provedSince,
  withCode
} from '../protocol/authentication.ts'
import type { AuthorizationRequest } from '../protocol/authorization-request.ts'
import type { SignedInPerson } from '../sessions/browser-sessions.ts'
import type { RequiredAcr } from './requested-context.ts'

/**
 * What somebody who is signed in has to do before a client gets a code: give their second factor, set one up, or sign
 * in anew for one of these.
 */
export type MissingStep = 'second_factor' | 'enrolment' | 'sign_in' | null

type WithFactors = Pick<AccountsDeps, 'clock'> & { factors: FactorDeps }

interface Asked {
  request: Pick<AuthorizationRequest, 'maxAge'>
  client: Client
  /** Of what is required, what this configuration can give. */
  possible: RequiredAcr
  /** `null`: the session does not show it. */
  authentication: AuthenticationContext | null
  /** What the browser has where it was to be remembered. */
  remembered: string | undefined
  now: number
}

/**
 * What is missing by the client's requirement or by the host's policy. It is asked of the person who is signed in, in
 * the session that they have: no other name is taken, and a host's own sign-in page needs no second factor of its own.
 * What a hook or a store can't say rejects.
 */
export async function missingStep(
  { session, user }: SignedInPerson,
  { request: { maxAge }, client, possible, authentication, remembered, now }: Asked,
  { clock, factors }: WithFactors
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
  // The host has them set up, and lets people have browsers remembered in which they are not asked.
  if (!byClient && isRememberedIn(user, found, { remembered }, { clock, factors })) return null
  const isTooOld = maxAge !== undefined && now - provedSince(session) > maxAge * 1000
  const isEnough = !byClient || contextOf(withCode(session, now), possible ?? []) !== null
  return isEnough && !isTooOld ? 'second_factor' : byHost ? 'sign_in' : null
}
