import { UpstreamError } from '../errors.ts'
import type { Connection } from '../ports/upstream.ts'
import type { User } from '../ports/user-store.ts'
import { isActive } from '../sessions/active-user.ts'
import type { Origin, StayingSignIn } from '../sessions/sessions.ts'
import { makesProvisional } from './address-proof.ts'
import type { AccountsDeps } from './deps.ts'
import { acceptsEmail, type FederatedPerson } from './federated-account.ts'
import { allowed, decideFederated } from './federated-decision.ts'
import { linkOf } from './identities.ts'
import { storeLink } from './store-link.ts'
import { isManagedElsewhere } from './ways-in.ts'

interface Link {
  connection: Connection
  person: FederatedPerson
  /** The signed-in user, after a sign-in of the last minutes. */
  user: User
  stays: StayingSignIn
  /**
   * `by_sign_in`: the account has the address of the identity. So its owner may not have been the first to sign up with
   * it: what others opened ends.
   */
  contested: 'by_sign_in' | null
  origin: Origin
  locale: string | undefined
}

/**
 * Links the identity to the signed-in user. The caller checks that they may do so, by a sign-in of the last minutes and
 * a form of ours.
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
