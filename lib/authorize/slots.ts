import type { Client } from '../ports/client-store.ts'
import type { AuthenticationContext } from '../protocol/authentication.ts'
import type { AuthorizationRequest } from '../protocol/authorization-request.ts'
import type { SignedInPerson } from '../sessions/browser-sessions.ts'
import type { RequiredAcr } from './requested-context.ts'

/**
 * The step that a signed-in person owes before a client gets a code: give the second factor, set one up, or sign in
 * again for one of these.
 */
export type MissingStep = 'second_factor' | 'enrolment' | 'sign_in' | null

/** The part of an authorization request that decides which step is missing. */
export interface AskedOf {
  request: Pick<AuthorizationRequest, 'maxAge'>
  client: Client
  /** The required values that this configuration can give. */
  possible: RequiredAcr
  /** `null`: the session does not show it. */
  authentication: AuthenticationContext | null
  /** The cookie of a remembered browser. */
  remembered: string | undefined
  now: number
}

/** Answers of a feature to questions of the authorization endpoint. */
export interface AuthorizeSlots {
  missing?(person: SignedInPerson, asked: AskedOf): Promise<MissingStep>
}

/** The first missing step of any feature. */
export async function missingStepOf(
  person: SignedInPerson,
  asked: AskedOf,
  slots: readonly AuthorizeSlots[]
): Promise<MissingStep> {
  for (const { missing } of slots) {
    const step = (await missing?.(person, asked)) ?? null
    if (step !== null) return step
  }
  return null
}
