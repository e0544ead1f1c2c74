import { UpstreamError, type UpstreamFailure } from '../errors.ts'
import type { Linking } from '../ports/upstream.ts'

/** All that decides what becomes of a sign-in at another provider, looked up beforehand. */
interface FederatedFacts {
  /** `link`: somebody who is signed in here adds the identity to their account. */
  mode: 'signin' | 'link'
  /** Whether the connection is on, asked again now. */
  enabled: boolean
  /** Whether the connection takes people with such an address, or without one. */
  emailAccepted: boolean
  /** Whether another connection manages the account or the address. */
  elsewhere: boolean
  /** To whom the identity is linked. `theirs`: in a sign-in its owner, whoever that is; in a link who adds it. */
  identity: 'unknown' | 'theirs' | 'anothers'
  /** Of the user to whom this would lead. */
  disabled: boolean
  /** Whether an account here has the address that the provider verified. */
  account: boolean
  /** Whether that account has confirmed the address, too. */
  accountVerified: boolean
  /** Whether the provider is the one who decides on the mailbox. */
  authoritative: boolean
  linking: Linking
  /** Whether the connection manages the address. Then its first sign-in takes an account over that was there before. */
  takesOver: boolean
  /** Whether the connection may make accounts. */
  registers: boolean
  /** Whether all that a new account needs is known. */
  complete: boolean
}

/**
 * What is done. `ask`: the person fills in what a new account needs. `confirm`: they sign in the way they did before,
 * and link then.
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
 * What becomes of a sign-in at another provider: the first row that fits. An e-mail address alone never links two
 * accounts by itself, but where the host says so, the provider decides on the mailbox, and both sides have verified it.
 */
const ROWS: readonly Row[] = [
  { when: { enabled: false }, outcome: { refused: 'disabled' } },
  { when: { emailAccepted: false }, outcome: { refused: 'email' } },
  { when: { elsewhere: true }, outcome: { refused: 'email' } },
  { when: { disabled: true }, outcome: { refused: 'disabled' } },

  { when: { mode: 'link', identity: 'anothers' }, outcome: { refused: 'taken' } },
  { when: { mode: 'link', identity: 'theirs' }, outcome: 'already_linked' },
  { when: { mode: 'link' }, outcome: 'link' },

  // Whatever the address says by now.
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
