import { isIdentityTaken, isUsernameTaken, UpstreamError } from '../../errors.ts'
import type { Connection } from '../../ports/upstream.ts'
import type { User, UserStore } from '../../ports/user-store.ts'
import { isActive } from '../../sessions/active-user.ts'
import type { Origin } from '../../sessions/sessions.ts'
import { makesProvisional } from '../../accounts/address-proof.ts'
import { createAndTell, profileFields } from '../../accounts/register.ts'
import type { AccountsDeps } from '../../accounts/deps.ts'
import {
  acceptsEmail,
  allowed,
  decideFederated,
  type FederatedDecision,
  type FederatedPerson,
  hasConfirmed,
  newAccount
} from './person.ts'
import type { SignInWrites } from '../../accounts/slots.ts'
import { linkOf } from '../../accounts/identities.ts'
import type { SignUpCheck } from '../../oauth/deps.ts'
import { normalizeUsername } from '../../accounts/username.ts'
import { isManagedElsewhere } from '../../accounts/ways-in.ts'

/**
 * The rate limit of a sign-up. If anybody can have any number of identities at the provider, the sign-up counts like a
 * registration by password. Otherwise the rule `connect` applies, because each sign-up needs a mailbox of its own.
 */
export function signUpCheck({ domains }: { domains: readonly string[] }, authoritative: boolean): SignUpCheck {
  return domains.length === 0 && !authoritative ? { rule: 'register' } : { rule: 'connect', kept: true }
}

/** A checked sign-in at another provider, for which `federatedUser` finds the user. */
export interface FederatedArrival {
  connection: Connection
  person: FederatedPerson
  /** True if the provider controls the mailbox. */
  authoritative: boolean
  origin: Origin
  /** The id of the only user who may sign in. `undefined`: any user. With an id, no user is registered or linked. */
  only?: string | undefined
  /** The language of messages to the person. */
  locale: string | undefined
  /**
   * Counts a sign-up, just before the account is made.
   * @throws OAuthError if there were too many sign-ups
   */
  reserveSignUp(check: SignUpCheck): Promise<void>
  /**
   * The fields of a new account, from the person's profile. A field that does not fit the host's schema is left out.
   * `null`: required fields are missing, and the person has to fill them in.
   */
  complete(profile: Readonly<Record<string, unknown>>): Record<string, unknown> | null
}

/**
 * The user of this service. `confirm`: the person signs in as `userId` and then links the identity. `ask`: they fill in
 * the missing fields of a new account.
 */
type FederatedUser =
  | { to: 'user'; user: User; isNew: boolean; writes?: SignInWrites | undefined }
  | { to: 'confirm'; userId: string }
  | { to: 'ask' }

/** The identity at the provider does not belong to the user who must prove their identity again. */
export class OtherPersonError extends UpstreamError {
  constructor() {
    super('mismatch', 'Another person has signed in at the provider than the one who was asked to.')
  }
}

/** Maximum number of tries. Another try follows if a parallel request has taken the name or the identity first. */
const ATTEMPTS = 4

/**
 * Finds the user of a person who has signed in at another provider, registers a new user, or returns the person's next
 * step. Does not change an existing account: the caller stores `writes` once the last factor is proved (`settled`). Of
 * parallel calls with one identity, one makes the user, and all of them get that user. A caller that signs the user in
 * must check again by `stillFederated`.
 * @throws UpstreamError with the reason
 */
export async function federatedUser(arrival: FederatedArrival, deps: AccountsDeps): Promise<FederatedUser> {
  const { connection, person, origin, complete } = arrival
  const { users, clock, events } = deps
  let counted = false
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const { owner, account } = await lookUp(arrival, users)
    if (arrival.only !== undefined && owner?.id !== arrival.only) throw new OtherPersonError()
    const fields = complete(person.profile)
    const decision = await decide(arrival, { owner, account, isComplete: fields !== null }, deps)
    if (decision === 'ask') return { to: 'ask' }
    if (decision === 'confirm' && account !== null) {
      events.emit('link_required', { connection: connection.id, userId: account.id }, origin)
      return { to: 'confirm', userId: account.id }
    }
    if (decision === 'signed_in' && owner !== null)
      return { to: 'user', user: owner, isNew: false, writes: profileOf(owner, arrival, deps) }
    if ((decision === 'link_by_email' || decision === 'take_over') && account !== null) {
      const link = linkOf(person, {
        connection: connection.id,
        now: clock.now(),
        isProvisional: makesProvisional(account)
      })
      return { to: 'user', user: account, isNew: false, writes: { link, takesOver: decision === 'take_over' } }
    }
    if (decision === 'register' && fields !== null) {
      if (!counted) await arrival.reserveSignUp(signUpCheck(connection, arrival.authoritative))
      counted = true
      const user = await registered(arrival, fields, attempt, deps)
      if (user !== null) return { to: 'user', user, isNew: true }
    }
  }
  throw new UpstreamError('taken', 'Another request was faster each time.')
}

/**
 * Reads the user again, if the identity still belongs to them. `null`: the user was disabled or removed meanwhile, the
 * link was removed, or another connection manages the account now.
 */
export async function stillFederated(
  { person, connection: { id } }: Pick<FederatedArrival, 'person' | 'connection'>,
  user: User,
  deps: Pick<AccountsDeps, 'users' | 'connections'>
): Promise<User | null> {
  const now = (await deps.users.findByIdentity?.(person)) ?? null
  return isActive(now) && now.id === user.id && !isManagedElsewhere(now, id, deps) ? now : null
}

/** Finds the owner of the identity. If nobody owns it, finds the account with the person's email address. */
async function lookUp(
  { connection, person }: Pick<FederatedArrival, 'connection' | 'person'>,
  users: UserStore
): Promise<{ owner: User | null; account: User | null }> {
  const ownerOf = async (): Promise<User | null> => (await users.findByIdentity?.(person)) ?? null
  const owner = await ownerOf()
  if (owner !== null || person.email === undefined) return { owner, account: null }
  const named = await users.findByUsername(person.email)
  const account = named === null && managesAddress(connection, person.email) ? await soleOf(person.email, users) : named
  // A parallel callback may have made the account with this identity between the two queries.
  const nowOf = account === null ? null : await ownerOf()
  return nowOf === null ? { owner: null, account } : { owner: nowOf, account: null }
}

/** True if the connection manages the address, and takes over accounts that were there before. */
const managesAddress = (connection: Connection, email: string | undefined): boolean =>
  connection.enforce && acceptsEmail(connection, email)

/**
 * Finds the only account with this email address. If some of several accounts have confirmed the address, ignores the
 * others. `null`: there is no such account, or more than one.
 */
async function soleOf(email: string, users: UserStore): Promise<User | null> {
  const found = ((await users.findByEmail?.(email)) ?? []).filter(
    (user) => normalizeUsername(user.email ?? '') === email
  )
  const confirmed = found.filter((user) => hasConfirmed(user, email))
  const [only = null, ...others] = confirmed.length > 0 ? confirmed : found
  return others.length === 0 ? only : null
}

async function decide(
  { connection, person: { email }, authoritative }: FederatedArrival,
  { owner, account, isComplete }: { owner: User | null; account: User | null; isComplete: boolean },
  deps: AccountsDeps
): Promise<Exclude<FederatedDecision, object>> {
  const { users, verifyEmail } = deps
  const user = owner ?? account
  return allowed(
    decideFederated({
      mode: 'signin',
      enabled: await connection.enabled(),
      // With `verifyEmail`, a new account needs an address to which the confirmation can be sent.
      emailAccepted: acceptsEmail(connection, email) && (owner !== null || email !== undefined || !verifyEmail),
      elsewhere: [user, email].some(
        (of) => of !== null && of !== undefined && isManagedElsewhere(of, connection.id, deps)
      ),
      identity: owner === null ? 'unknown' : 'theirs',
      disabled: user !== null && !isActive(user),
      account: account !== null,
      accountVerified: account !== null && hasConfirmed(account, email),
      authoritative,
      linking: connection.linking,
      takesOver: managesAddress(connection, email),
      registers: connection.registration && users.createWithIdentity !== undefined,
      complete: isComplete
    })
  )
}

/** Creates the account with its link to the identity. `null`: the name or the identity was taken meanwhile. */
async function registered(
  { connection, person, authoritative, origin }: FederatedArrival,
  fields: Record<string, unknown>,
  attempt: number,
  deps: AccountsDeps
): Promise<User | null> {
  const { users, clock } = deps
  const { createWithIdentity } = users
  if (createWithIdentity === undefined) return null
  const now = clock.now()
  const created = newAccount(person, { connection: connection.id, fields, attempt, provedAt: authoritative ? now : 0 })
  const isProvisional = person.email !== undefined && !authoritative
  const link = linkOf(person, { connection: connection.id, now, isProvisional })
  try {
    return await createAndTell(
      {
        username: created.username,
        create: async () => await createWithIdentity(created, link),
        find: async () => (await users.findByIdentity?.(person)) ?? null
      },
      origin,
      deps
    )
  } catch (error) {
    if (isUsernameTaken(error) || isIdentityTaken(error)) return null
    throw error
  }
}

/** With `sync: 'always'`, returns the provider's profile values that differ from those of the account. */
function profileOf(
  user: User,
  { connection, person }: FederatedArrival,
  { users }: AccountsDeps
): SignInWrites | undefined {
  if (connection.sync === 'create' || users.update === undefined) return undefined
  const changed = Object.entries(profileFields(person.profile)).filter(
    ([name, value]) => JSON.stringify(user[name]) !== JSON.stringify(value)
  )
  return changed.length === 0 ? undefined : { profile: Object.fromEntries(changed) }
}
