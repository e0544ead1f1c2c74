import type { OneTimeTokenPurpose } from '../ports/state.ts'
import type { AccountsDeps } from './deps.ts'

/**
 * The event that ends a token. `password`: the account gets a new password. `owner`: the account changes hands, gets
 * another address, or is disabled. `account`: the user is removed. Each event also ends the tokens of the events before
 * it in this order.
 */
type TokenEnd = 'password' | 'owner' | 'account'
const ORDER: readonly TokenEnd[] = ['password', 'owner', 'account']

/** The event that ends the tokens of each purpose. `null`: the token belongs to no user. */
const ENDED_BY: Readonly<Record<OneTimeTokenPurpose, TokenEnd | null>> = {
  // Sets a password. Bound to the password hash. But for a user without a password, that value is empty and stays so.
  password_reset: 'password',
  // Gives the account to the reader of another mailbox. Bound to the password hash too.
  email_change: 'password',
  // Lets the next sign-in set up a second factor. Bound to the password hash too.
  enrolment: 'password',
  // As `enrolment`, in the browser that opened the link. Outlives a proof of the mailbox, which that browser may give.
  enrolment_open: 'owner',
  // Marks a hash whose change is unfinished.
  password_change: 'password',
  // Confirms the address of the user. A new user may change the password before, so a new password does not end it.
  verify_email: 'owner',
  // Sets the first password or links an identity. For a user who has set a password, the link changes nothing.
  invitation: 'owner',
  // Only reports that the invitation was accepted.
  invitation_done: 'account',
  // Marks an account that a stranger may have made with another person's address, while its password stays the same.
  contested_sign_up: 'account',
  // Notes the sign-in that outlived the last change of the password. Each later change replaces or removes the note.
  kept_session: 'account',
  // Give the account back to the reader of the mailbox that got the link. A thief must not be able to end them.
  factor_undo: 'account',
  email_undo: 'account',
  email_undo_open: 'account',
  // Reports the result of a used undo link.
  undo_done: 'account',
  // Notes a message that is still to be sent.
  factor_reset: 'account',
  // Kept under no user id: its owner is a digest that names the browser and the account, or the typed username.
  sign_in_code: null,
  // Its owner is a client.
  blocked_client: null
}

/** Ends the tokens of the user that end with this event, except those for the purpose `except`. Idempotent. */
export async function endOpenTokens(
  userId: string,
  end: TokenEnd,
  { oneTimeTokens }: Pick<AccountsDeps, 'oneTimeTokens'>,
  except?: OneTimeTokenPurpose
): Promise<void> {
  const ended = ORDER.slice(0, ORDER.indexOf(end) + 1)
  await Promise.all(
    (Object.keys(ENDED_BY) as OneTimeTokenPurpose[]).map(async (purpose) => {
      const by = ENDED_BY[purpose]
      if (by !== null && ended.includes(by) && purpose !== except) await oneTimeTokens.discard(purpose, userId)
    })
  )
}
