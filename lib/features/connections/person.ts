import type { Connection, Linking, UpstreamResult } from '../../ports/upstream.ts'
import type { Identity, NewUser, User } from '../../ports/user-store.ts'
import type { AuthenticationProof } from '../../protocol/authentication.ts'
import { MAX_CLAIM } from '../../protocol/bounds.ts'
import { digest } from '../../protocol/digest.ts'
import { isProved } from '../../accounts/address-proof.ts'
import { addressOf } from '../../accounts/outbox.ts'
import { holdsUnstorable, profileFields } from '../../accounts/register.ts'
import { checkNewUsername, emailOf, normalizeUsername } from '../../accounts/username.ts'
import { domainOf } from '../../accounts/ways-in.ts'
import { UpstreamError, type UpstreamFailure } from '../../errors.ts'

/**
 * The facts about a person who has signed in at another provider. A sealed cookie keeps them while the person completes
 * the sign-in.
 */
export interface FederatedPerson extends Identity {
  /** The address in the normal form of usernames. Set only if the provider verified it. */
  email?: string
  /** The fields from the provider that an account may take. */
  profile: Record<string, unknown>
  proof: AuthenticationProof
  /** The provider's refresh token, sealed. A link stores it, so that removing the link can revoke it. */
  sealed?: string
}

/**
 * The person of a checked sign-in at another provider. An address that the provider did not verify, or that can't be a
 * username here, is left out. `askedFresh`: the provider was asked to authenticate the person again.
 */
export function personOf(
  { assertion, claims, tokens }: Pick<UpstreamResult, 'assertion' | 'claims'> & Partial<Pick<UpstreamResult, 'tokens'>>,
  connection: Pick<Connection, 'profile' | 'assurance' | 'keep' | 'provesFreshness'>,
  { now, askedFresh }: { now: number; askedFresh: boolean }
): FederatedPerson {
  const { issuer, subject, authenticatedAt } = assertion
  const at = Math.min(now, authenticatedAt ?? now)
  const email = usable(assertion.email)
  const sealed = tokens === undefined ? undefined : connection.keep(tokens)
  return {
    issuer,
    subject,
    ...(email === undefined ? {} : { email }),
    ...(sealed === undefined ? {} : { sealed }),
    profile: withoutOddValues(profileFields(connection.profile(claims))),
    proof: proofOf(connection.assurance(claims), {
      at,
      here: now,
      ...(connection.provesFreshness && !askedFresh ? { freshFrom: at } : {})
    })
  }
}

/** The claims that apps use as links and pictures. @see OpenID Connect Core 1.0 §5.1 */
const LINKS = ['picture', 'profile', 'website']

/**
 * Drops links with a scheme other than `https:` and `http:`, such as `javascript:`, which would run code. Drops values
 * that some databases can't store, and texts that are too long. Does not throw, because people fill in their profile at
 * the provider, and a sign-in must not fail because of a name.
 */
function withoutOddValues(profile: Record<string, unknown>): Record<string, unknown> {
  const isOddLink = (value: unknown): boolean =>
    typeof value === 'string' && URL.canParse(value) && !['https:', 'http:'].includes(new URL(value).protocol)
  return Object.fromEntries(
    Object.entries(profile).filter(
      ([name, value]) =>
        !(LINKS.includes(name) && isOddLink(value)) &&
        !holdsUnstorable(value) &&
        !(typeof value === 'string' && value.length > MAX_CLAIM)
    )
  )
}

function usable(email: unknown): string | undefined {
  const name = typeof email === 'string' ? normalizeUsername(email) : null
  return name === null || checkNewUsername(name) !== null ? undefined : (emailOf(name) ?? undefined)
}

function proofOf(
  { amr = [], acr }: ReturnType<Connection['assurance']>,
  times: { at: number; here: number; freshFrom?: number }
): AuthenticationProof {
  return { method: 'connection', ...times, ...(amr.length === 0 ? {} : { amr }), ...(acr === undefined ? {} : { acr }) }
}

/** True if the connection accepts people with this address. A connection without `domains` accepts everybody. */
export function acceptsEmail({ domains }: Pick<Connection, 'domains'>, email: string | undefined): boolean {
  return domains.length === 0 || (email !== undefined && domains.includes(domainOf(email)))
}

/** True if the user's address is this one and was proved. */
export function hasConfirmed(user: User, email: string | undefined): boolean {
  return isProved(user) && email !== undefined && normalizeUsername(addressOf(user)) === email
}

/**
 * A new account without a password. Without an address, the account gets a made-up username, never the person's name at
 * the provider, which may be the name of another person here. `attempt`: how many made-up names were taken already.
 * `provedAt`: the time at which the connection proved the address, or 0 if the provider does not control the mailbox.
 */
export function newAccount(
  { issuer, subject, email }: Identity & { email?: string },
  {
    connection,
    fields,
    attempt,
    provedAt
  }: { connection: string; fields: Readonly<Record<string, unknown>>; attempt: number; provedAt: number }
): NewUser {
  const given = profileFields(fields)
  if (email !== undefined)
    return { ...given, username: email, passwordHash: null, email, emailVerified: true, emailProvedAt: provedAt }
  const name = digest(`username ${JSON.stringify([issuer, subject])}`)
    .toLowerCase()
    .replaceAll(/[^a-z0-9]/g, '')
    .slice(0, 8 * (attempt + 1))
  return { ...given, username: `${connection}-${name}`, passwordHash: null }
}

/** The facts that decide on a sign-in at another provider, looked up beforehand. */
interface FederatedFacts {
  /** `link`: a signed-in user adds the identity to their account. */
  mode: 'signin' | 'link'
  /** True if the connection is on now. */
  enabled: boolean
  /** True if the connection accepts the person's address, or accepts the person without an address. */
  emailAccepted: boolean
  /** True if another connection manages the account or the address. */
  elsewhere: boolean
  /** The user to whom the identity is linked. `theirs`: the user who signs in, or who adds the identity. */
  identity: 'unknown' | 'theirs' | 'anothers'
  /** True if the user to sign in, or to link, is disabled. */
  disabled: boolean
  /** True if an account here has the address that the provider verified. */
  account: boolean
  /** True if the address of that account is confirmed here. */
  accountVerified: boolean
  /** True if the provider controls the mailbox. */
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
 * before, and then link the identity.
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
 * The rules for a sign-in at another provider: the first row that fits. An equal email address alone links an identity
 * to an account in two cases only. `take_over`: the connection manages the address. `link_by_email`: the host allows
 * it, the provider controls the mailbox, and both sides have verified the address.
 */
const ROWS: readonly Row[] = [
  { when: { enabled: false }, outcome: { refused: 'disabled' } },
  { when: { emailAccepted: false }, outcome: { refused: 'email' } },
  { when: { elsewhere: true }, outcome: { refused: 'email' } },
  { when: { disabled: true }, outcome: { refused: 'disabled' } },

  { when: { mode: 'link', identity: 'anothers' }, outcome: { refused: 'taken' } },
  { when: { mode: 'link', identity: 'theirs' }, outcome: 'already_linked' },
  { when: { mode: 'link' }, outcome: 'link' },

  // A linked identity signs in its user, even if another account has the address that the provider sends now.
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

/** Returns the decision, unless it is a refusal. @throws UpstreamError with the reason of the refusal */
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
