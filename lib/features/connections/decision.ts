import { UpstreamError, type UpstreamFailure } from '../../errors.ts'
import type { Linking } from '../../ports/upstream.ts'

/** The facts that decide on a sign-in at another provider, looked up beforehand. */
interface FederatedFacts {
  /** `link`: a signed-in user adds the identity to their account. */
  mode: 'signin' | 'link'
  /** True if the connection is on, asked again now. */
  enabled: boolean
  /** True if the connection takes people with such an address, or without one. */
  emailAccepted: boolean
  /** True if another connection manages the account or the address. */
  elsewhere: boolean
  /** The user to whom the identity is linked. `theirs`: in a sign-in its owner, in a link the user who adds it. */
  identity: 'unknown' | 'theirs' | 'anothers'
  /** True if the user who would be signed in is disabled. */
  disabled: boolean
  /** True if an account here has the address that the provider verified. */
  account: boolean
  /** True if that account has confirmed the address, too. */
  accountVerified: boolean
  /** True if the provider decides on the mailbox. */
  authoritative: boolean
  linking: Linking
  /** True if the connection manages the address. Then its first sign-in takes over an account that was there before. */
  takesOver: boolean
  /** True if the connection may create accounts. */
  registers: boolean
  /** True if all required fields of a new account are known. */
  complete: boolean
}

/**
 * The result. `ask`: the person fills in the missing fields of a new account. `confirm`: they sign in the way they did
 * before, and then link.
 */
export type FederatedDecision =
  | 'signed_in'
  | 'already_linked'
  | 'link'
  | 'register'
  | 'ask'
  | 'confirm'
  | 'link_by_email'
  | 'take_over'
  | { refused: UpstreamFailure }

interface Row {
  when: Partial<FederatedFacts>
  outcome: FederatedDecision
}

/**
 * The rules for a sign-in at another provider: the first row that fits. An email address alone never links two
 * accounts, unless the host says so, the provider decides on the mailbox, and both sides have verified it.
 */
const ROWS: readonly Row[] = [
  { when: { enabled: false }, outcome: { refused: 'disabled' } },
  { when: { emailAccepted: false }, outcome: { refused: 'email' } },
  { when: { elsewhere: true }, outcome: { refused: 'email' } },
  { when: { disabled: true }, outcome: { refused: 'disabled' } },

  { when: { mode: 'link', identity: 'anothers' }, outcome: { refused: 'taken' } },
  { when: { mode: 'link', identity: 'theirs' }, outcome: 'already_linked' },
  { when: { mode: 'link' }, outcome: 'link' },

  // A linked identity signs in whatever address the provider sends now.
  { when: { identity: 'theirs' }, outcome: 'signed_in' },

  { when: { account: false, registers: false }, outcome: { refused: 'closed' } },
  { when: { account: false, complete: false }, outcome: 'ask' },
  { when: { account: false }, outcome: 'register' },

  { when: { takesOver: true }, outcome: 'take_over' },
  { when: { linking: 'never' }, outcome: { refused: 'other_way' } },
  { when: { linking: 'verified-email', authoritative: true, accountVerified: true }, outcome: 'link_by_email' },
  { when: {}, outcome: 'confirm' }
]

export function decideFederated(facts: FederatedFacts): FederatedDecision {
  const fits = ({ when }: Row): boolean =>
    (Object.keys(when) as Array<keyof FederatedFacts>).every((fact) => facts[fact] === when[fact])
  return (ROWS.find(fits) as Row).outcome
}

/** @throws UpstreamError where the decision is to refuse */
export function allowed(decision: FederatedDecision): Exclude<FederatedDecision, object> {
  if (typeof decision === 'object')
    throw new UpstreamError(decision.refused, REFUSALS[decision.refused] ?? 'It was refused.')
  return decision
}

const REFUSALS: Partial<Record<UpstreamFailure, string>> = {
  disabled: 'The connection is off, or the account is disabled.',
  email: 'The connection does not take this address, there is none, or another connection manages the account.',
  taken: 'The identity is linked to another user.',
  closed: 'The connection registers nobody.',
  other_way: 'An account has the address, and the connection links none.'
}
