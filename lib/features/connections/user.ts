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
 * The limit of a sign-up. If anybody can have any number of identities at the provider, it counts like a registration
 * by password. A provider that decides on the mailbox, or that serves people of certain domains, bounds sign-ups by
 * itself.
 */
export function signUpCheck({ domains }: { domains: readonly string[] }, authoritative: boolean): SignUpCheck {
  return domains.length === 0 && !authoritative ? { rule: 'register' } : { rule: 'connect', kept: true }
}

/** A person with a checked sign-in at another provider, for whom the decision is due. */
export interface FederatedArrival {
  connection: Connection
  person: FederatedPerson
  /** True if the provider decides on the mailbox. */
  authoritative: boolean
  origin: Origin
  /** The id of the one user to whom it may lead; `undefined`: any user. With an id, no user is registered or linked. */
  only?: string | undefined
  /** The language of what the person is sent. */
  locale: string | undefined
  /**
   * Counts a sign-up, just before the account is made.
   * @throws OAuthError where there were too many
   */
  reserveSignUp(check: SignUpCheck): Promise<void>
  /**
   * The fields of a new account, from the person's profile. A field that does not fit the host's schema is left out.
   * `null`: required fields are missing, and the person has to fill them in.
   */
  complete(profile: Readonly<Record<string, unknown>>): Record<string, unknown> | null
}

/**
 * The user here. `confirm`: the person signs in as `userId` and then links. `ask`: they fill in the missing fields of a
 * new account.
 */
type FederatedUser =
  | { to: 'user'; user: User; isNew: boolean; writes?: SignInWrites | undefined }
  | { to: 'confirm'; userId: string }
  | { to: 'ask' }

/** The person who signed in there is not the one who must prove their identity, or is unknown here. */
export class OtherPersonError extends UpstreamError {
  constructor() {
    super('mismatch', 'Another person has signed in at the provider than the one who was asked to.')
  }
}

/** The number of decisions if other requests were faster. */
const ATTEMPTS = 4

/**
 * The user of a person who has signed in at another provider, registered if the decision is to do so; or the person's
 * next step. An existing account is not changed: `writes` is written once the last factor is proved. One of parallel
 * calls with one identity makes a user, and all of them get that user. The caller that signs the user in checks again
 * by `stillFederated`, and notes it by `noteFederatedUse`.
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
 * The user as they are now, if the identity still leads to them. `null`: the user was disabled or removed meanwhile, or
 * the link was.
 */
export async function stillFederated(
  { person, connection: { id } }: Pick<FederatedArrival, 'person' | 'connection'>,
  user: User,
  deps: Pick<AccountsDeps, 'users' | 'connections'>
): Promise<User | null> {
  const now = (await deps.users.findByIdentity?.(person)) ?? null
  return isActive(now) && now.id === user.id && !isManagedElsewhere(now, id, deps) ? now : null
}

/** The owner of the identity; if nobody has it, the account with its address. */
async function lookUp(
  { connection, person }: Pick<FederatedArrival, 'connection' | 'person'>,
  users: UserStore
): Promise<{ owner: User | null; account: User | null }> {
  const ownerOf = async (): Promise<User | null> => (await users.findByIdentity?.(person)) ?? null
  const owner = await ownerOf()
  if (owner !== null || person.email === undefined) return { owner, account: null }
  const named = await users.findByUsername(person.email)
  const account = named === null && managesAddress(connection, person.email) ? await soleOf(person.email, users) : named
  // A parallel callback may have made the account with this identity between the two looks.
  const nowOf = account === null ? null : await ownerOf()
  return nowOf === null ? { owner: null, account } : { owner: nowOf, account: null }
}

/** True if the connection manages the address, and takes over accounts that were there before. */
const managesAddress = (connection: Connection, email: string | undefined): boolean =>
  connection.enforce && acceptsEmail(connection, email)

/**
 * The account with this address whose username is of another kind. If several accounts have the address, it is the one
 * that has confirmed it. `null`: there is no such account, or several.
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
      // If an account must have a confirmed address, a new one without an address could get no message.
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

/** `null`: the name or the identity was taken meanwhile. */
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

/** The provider's present values that differ from the account's, if the host wants the account to follow them. */
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
