import { storeLink } from '../../accounts/sign-in-writes.ts'
import { UpstreamError } from '../../errors.ts'
import type { Browser, BrowserSessions } from '../../sessions/browser-sessions.ts'
import { beginSession } from '../../accounts/begin-session.ts'
import { type SessionBegun, type StepNeeded, slotOf } from '../../accounts/slots.ts'
import type { AccountsDeps } from '../../accounts/deps.ts'
import { keepsFactor, makesProvisional } from '../../accounts/address-proof.ts'
import { endProvisional, linkOf } from '../../accounts/identities.ts'
import { type FederatedArrival, federatedUser, stillFederated } from './user.ts'
import { withoutSecrets } from '../../ports/log.ts'
import type { Connection, ConnectionSignIn } from '../../ports/upstream.ts'
import type { User } from '../../ports/user-store.ts'
import { isActive } from '../../sessions/active-user.ts'
import type { Origin, StayingSignIn } from '../../sessions/sessions.ts'
import { acceptsEmail, allowed, decideFederated, type FederatedPerson } from './person.ts'
import { isManagedElsewhere } from '../../accounts/ways-in.ts'
import { invalidLink } from '../../accounts/message-codes.ts'
import { addressOf, type MessageCause } from '../../accounts/outbox.ts'
import { normalizeUsername } from '../../accounts/username.ts'

/** A checked sign-in at another provider, and the browser in which it happened. */
interface FederatedSignIn extends Omit<FederatedArrival, 'origin'> {
  browser: Browser
  clientId: string | null
}

/**
 * The result. `confirm`: the person signs in as `userId` and then links the identity. `ask`: they fill in the missing
 * fields of a new account.
 */
type FederatedOutcome =
  | { to: 'session'; begun: SessionBegun | StepNeeded; isNew: boolean }
  | { to: 'confirm'; userId: string }
  | { to: 'ask' }

interface FederatedDeps {
  accounts: AccountsDeps
  browserSessions: BrowserSessions
}

/**
 * Signs in a person who has signed in at another provider, registers them, or returns the step that they must take
 * first. Begins the session, and checks after the commit that the identity still leads to the user.
 * @throws UpstreamError with the reason
 */
export async function federatedSignIn(
  { browser, clientId, ...arrival }: FederatedSignIn,
  deps: FederatedDeps
): Promise<FederatedOutcome> {
  const { connection, person } = arrival
  const found = await federatedUser({ ...arrival, origin: browser.origin }, deps.accounts)
  if (found.to !== 'user') return found
  const { user, isNew, writes } = found
  // Ends provisional factors before the session begins, because the take-over ends them anyway. Otherwise the user
  // would have to prove a factor of another person, who registered the address first.
  if (writes?.takesOver === true && !(await keepsFactor(user, deps.accounts)))
    await endProvisional(user, { by: 'identity_linked', locale: arrival.locale, origin: browser.origin }, deps.accounts)
  const begun = await beginSession(
    {
      user,
      by: 'connection',
      connection: connection.id,
      identity: { issuer: person.issuer, subject: person.subject, email: person.email },
      writes,
      methods: [person.proof],
      clientId,
      isNew,
      confirm: async () => await stillFederated(arrival, user, deps.accounts)
    },
    browser,
    deps
  )
  if (begun === null)
    throw new UpstreamError('disabled', 'The account was disabled or removed, or the link taken away, meanwhile.')
  return { to: 'session', begun, isNew }
}

/**
 * Calls the host's `onSignIn`, if there is one, after a completed sign-in. No reply waits for the function. An error of
 * the function is logged without the tokens that it got.
 */
export function tellHost(
  { id, onSignIn }: Pick<Connection, 'id' | 'onSignIn'>,
  signIn: ConnectionSignIn,
  { onError }: Pick<AccountsDeps, 'onError'>
): void {
  if (onSignIn === null) return
  const { passwordHash: _hash, ...user } = signIn.user
  Promise.resolve()
    .then(async () => {
      await onSignIn({ ...signIn, user: user as ConnectionSignIn['user'] })
    })
    .catch((error: unknown) => {
      const { accessToken, refreshToken, idToken } = signIn.tokens
      onError(withoutSecrets(error, [accessToken, refreshToken, idToken]), `onSignIn of the connection "${id}" failed`)
    })
}

interface Link {
  connection: Connection
  person: FederatedPerson
  /** The signed-in user, whose sign-in is fresh. */
  user: User
  stays: StayingSignIn
  /**
   * `by_sign_in`: the account has the address of the identity, so another person may have signed up with that address
   * first. All other sessions and tokens of the account end.
   */
  contested: 'by_sign_in' | null
  origin: Origin
  locale: string | undefined
}

/**
 * Links the identity to the signed-in user. Does nothing if it is linked to that user already. The caller must check
 * that the user's sign-in is fresh, and that the request comes from a form of this service.
 * @throws UpstreamError `taken`, `disabled`, `email`
 */
export async function linkToAccount(
  { connection, person, user, stays, contested, origin, locale }: Link,
  deps: AccountsDeps
): Promise<void> {
  const owner = (await deps.users.findByIdentity?.(person)) ?? null
  const decision = allowed(
    decideFederated({
      mode: 'link',
      enabled: await connection.enabled(),
      emailAccepted: acceptsEmail(connection, person.email),
      identity: owner === null ? 'unknown' : owner.id === user.id ? 'theirs' : 'anothers',
      elsewhere: [user, person.email].some((of) => of !== undefined && isManagedElsewhere(of, connection.id, deps)),
      disabled: !isActive(user),
      account: false,
      accountVerified: false,
      authoritative: false,
      linking: connection.linking,
      takesOver: false,
      registers: false,
      complete: true
    })
  )
  if (decision === 'already_linked') return
  const link = linkOf(person, {
    connection: connection.id,
    now: deps.clock.now(),
    isProvisional: makesProvisional(user)
  })
  const stored = await storeLink({ user, link, contested, stays, origin, locale }, deps)
  if (stored === 'taken') throw new UpstreamError('taken', 'The identity was linked to another user meanwhile.')
  if (stored === 'unknown_user') throw new UpstreamError('disabled', 'The account was removed meanwhile.')
}

interface Accepting extends MessageCause {
  token: string
  connection: Connection
  person: FederatedPerson
}

/**
 * Accepts an invitation: links the identity to the invited user. The address that the provider verified must be the
 * invited one. The token proves the mailbox, so all existing sessions and tokens of the account end.
 * @throws OAuthError as `Invitations.accept` does; UpstreamError `email`, `taken`, `disabled`
 */
export async function acceptByConnection(
  { token, connection, person, locale, origin }: Accepting,
  deps: AccountsDeps
): Promise<User> {
  const invitations = slotOf(deps, 'invitations')
  if (invitations === null) throw invalidLink()
  const user = await invitations.find(token)
  const isInvited = person.email !== undefined && person.email === normalizeUsername(addressOf(user))
  if (!isInvited || !acceptsEmail(connection, person.email) || isManagedElsewhere(user, connection.id, deps))
    throw new UpstreamError('email', 'The provider did not verify the invited address, or may not open the account.')
  const owner = (await deps.users.findByIdentity?.(person)) ?? null
  if (owner !== null && owner.id !== user.id)
    throw new UpstreamError('taken', 'The identity is linked to another user.')
  return await invitations.accept({ token, connection: connection.id, origin }, async (now) => {
    const link = linkOf(person, { connection: connection.id, now: deps.clock.now(), isProvisional: false })
    const stored = await storeLink({ user: now, link, contested: 'by_sign_in', locale, origin }, deps)
    if (stored === 'taken') throw new UpstreamError('taken', 'The identity was linked to another user meanwhile.')
    if (stored === 'unknown_user') throw new UpstreamError('disabled', 'The account was removed meanwhile.')
  })
}
