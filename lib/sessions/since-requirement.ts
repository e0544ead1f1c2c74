import type { Clock } from '../ports/clock.ts'
import type { User } from '../ports/user-store.ts'
import { type AuthenticationProof, hasProvedSecond } from '../protocol/authentication.ts'

/** Tells if the host requires a second factor of this user without a client; `null`: it requires one of no user. */
type Requirement = ((user: User, clientId: null) => Promise<boolean>) | null

/**
 * True if a browser session with these proofs began before the host required a second factor of its user. A session
 * that could begin without one in spite of that is marked by `exempt`. An outage of the host's hook rejects.
 */
export async function isFromBeforeRequirement(
  user: User,
  methods: readonly AuthenticationProof[],
  required: Requirement,
  { clock }: { clock: Clock }
): Promise<boolean> {
  if (required === null || methods.some((proof) => proof.exempt)) return false
  return !hasProvedSecond({ methods, authenticatedAt: clock.now() }) && (await required(user, null))
}

/** The proofs of a sign-in of which no second factor is required, whatever the host requires of others. */
export const exempt = (methods: readonly AuthenticationProof[]): AuthenticationProof[] =>
  methods.map((proof) => ({ ...proof, exempt: true }))
