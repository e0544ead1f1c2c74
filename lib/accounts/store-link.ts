import type { LinkedIdentity, User, UserStore } from '../ports/user-store.ts'
import type { Origin, StayingSignIn } from '../sessions/sessions.ts'
import type { AccountsDeps } from './deps.ts'
import { isPasswordOlder } from './address-proof.ts'
import { lookLater } from './background.ts'
import { identityLinked, linkIdOf, listLinks } from './identities.ts'
import { endAll, endPassword, type NewPassword } from './new-password.ts'

interface StoredLink {
  user: User
  link: LinkedIdentity
  /**
   * The person who first named the address made the account, and need not be its owner: then provisional factors,
   * sign-ins, tokens and consents end, except the sign-in `stays`. `by_address`: no user has signed in to the account
   * meanwhile, so a password from before the proof of the address ends too. `by_owner`: the connection manages the
   * address and takes the account over; the password has ended before. `null`: the account belongs to the person who
   * links.
   */
  contested: 'by_address' | 'by_sign_in' | 'by_owner' | null
  /** Runs after the sign-ins have ended and before the link is stored. */
  before?: () => Promise<void>
  stays?: StayingSignIn
  origin: Origin
  locale: string | undefined
}

/** Links an identity to a user and tells them. */
export async function storeLink(
  { user, link, contested, before, stays, locale, origin }: StoredLink,
  deps: AccountsDeps
): Promise<Awaited<ReturnType<NonNullable<UserStore['linkIdentity']>>>> {
  const { users, oneTimeTokens } = deps
  if (users.linkIdentity === undefined) return 'unknown_user'
  // Before the link, so that where this fails, nothing was linked and the person tries again.
  if (contested !== null) {
    const given: NewPassword = { by: 'identity_linked', stays, locale, origin }
    if (contested === 'by_address' && users.setPasswordHash !== undefined && isPasswordOlder(user))
      await endPassword(user, given, deps)
    else await endAll(user, given, deps)
    for (const purpose of ['password_reset', 'email_change', 'verify_email'] as const)
      await oneTimeTokens.discard(purpose, user.id)
  }
  await before?.()
  const tell = (): void => {
    identityLinked(user, link, { by: 'user', tookOver: contested === 'by_owner', locale, origin }, deps)
  }
  const outcome = await users.linkIdentity(user.id, link).catch((error: unknown) => {
    // A repeat finds the link and tells nobody. A link that a repeat made has the time of the repeat.
    lookLater(
      deps.background,
      `link ${linkIdOf(link)}`,
      'a link that may be stored could not be looked at',
      async () => {
        const found = (await listLinks(user.id, deps)).find((one) => linkIdOf(one) === linkIdOf(link))
        if (found?.linkedAt !== link.linkedAt) return false
        tell()
        return true
      }
    )
    throw error
  })
  if (outcome === 'linked') tell()
  return outcome
}
