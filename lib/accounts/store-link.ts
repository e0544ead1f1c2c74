import type { LinkedIdentity, User, UserStore } from '../ports/user-store.ts'
import type { Origin, StayingSignIn } from '../sessions/sessions.ts'
import type { AccountsDeps } from './deps.ts'
import { identityLinked } from './identities.ts'

interface StoredLink {
  user: User
  link: LinkedIdentity
  /**
   * Whether the account was made by whoever first named the address, who need not be its owner: then whatever was
   * opened before ends, but the sign-in `stays`.
   */
  contested: boolean
  stays?: StayingSignIn
  origin: Origin
  locale: string | undefined
}

/** Links an identity to a user and tells them. */
export async function storeLink(
  { user, link, contested, stays, locale, origin }: StoredLink,
  deps: AccountsDeps
): Promise<Awaited<ReturnType<NonNullable<UserStore['linkIdentity']>>>> {
  const { users, sessions, oneTimeTokens } = deps
  if (users.linkIdentity === undefined) return 'unknown_user'
  // Before the link, so that where this fails, nothing was linked and the person tries again.
  if (contested) {
    await sessions.revokeAll(user.id, 'identity_linked', { stays, origin })
    for (const purpose of ['password_reset', 'email_change', 'verify_email'] as const)
      await oneTimeTokens.discard(purpose, user.id)
  }
  const outcome = await users.linkIdentity(user.id, link)
  if (outcome === 'linked') identityLinked(user, link, { by: 'user', locale, origin }, deps)
  return outcome
}
