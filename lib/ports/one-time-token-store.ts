/** Tokens that messages contain. */
export type MessageTokenPurpose = 'password_reset' | 'verify_email' | 'email_change'

/**
 * Purposes of one-time tokens: those of messages, and these. `password_change`: the digest of the hash set by a change
 * that has not ended everything yet. `kept_session`: the sign-in that stayed when the password was changed.
 * `resend_verification`: the sign-in page gives it to a person who knew the password of an unconfirmed account.
 * `contested_sign_up`: the password of an unconfirmed account that another person wanted to sign up for. `enrolment`:
 * the link that the host hands to a user who has lost every second factor. `sign_in_code`: the short code sent to an
 * address. Its owner stands for the address, with or without a user, and only `redeemCode` uses it up. `factor_undo`,
 * `email_undo`: the change that "that was not me" in a message takes back. `undo_done`: such a link was just used.
 * `email_undo_open`: an earlier change of the address can still be taken back. `factor_reset`: a reset of all second
 * factors that no message has told the user yet.
 */
export type OneTimeTokenPurpose =
  | MessageTokenPurpose
  | 'password_change'
  | 'kept_session'
  | 'resend_verification'
  | 'contested_sign_up'
  | 'enrolment'
  | 'sign_in_code'
  | 'factor_undo'
  | 'email_undo'
  | 'email_undo_open'
  | 'undo_done'
  | 'factor_reset'

/**
 * How many wrong guesses at the codes of one owner are looked at. No option changes it, for a code is short. @see NIST
 * SP 800-63B-4 §3.2.2
 */
export const MAX_CODE_FAILURES = 5

/** A guess at the code that was `put` for this owner (its `userId`). */
export interface CodeGuess {
  purpose: 'sign_in_code'
  owner: string
  /** Of the code that was typed, after the owner's partition, as in `put`. */
  codeDigest: string
  now: number
}

/**
 * `redeemed`: it was the code, and is used up. `wrong`: it was not, and that is counted. `spent`: five wrong ones were
 * counted, and the code was not looked at. `unknown`: there is no code, or none any more.
 */
export type CodeOutcome = 'redeemed' | 'wrong' | 'spent' | 'unknown'

/**
 * A token that a message carries. Only its digest is kept, after the user's partition (see protocol/digest). Times
 * are milliseconds since the epoch.
 */
export interface OneTimeToken {
  purpose: OneTimeTokenPurpose
  digest: string
  userId: string
  expiresAt: number
}

/** One-time tokens of mails. A token put for one purpose never counts for another. Outages reject. */
export interface OneTimeTokenStore {
  /** Replaces what the user had for this purpose: only the newest message works. */
  put(token: OneTimeToken): Promise<void>
  /** Looks without using up. `null`: unknown, used, replaced or expired at `now`. */
  find(purpose: OneTimeTokenPurpose, digest: string, now: number): Promise<OneTimeToken | null>
  /** Uses the token up. Of any number of parallel calls, one gets it; the others get `null`. */
  consume(purpose: OneTimeTokenPurpose, digest: string, now: number): Promise<OneTimeToken | null>
  /** Ends all tokens of the user for this purpose. */
  discard(purpose: OneTimeTokenPurpose, userId: string): Promise<void>
  /**
   * Uses up the owner's code, or counts a wrong one, in one step: of parallel guesses at most five wrong ones are
   * compared, and of parallel right ones one is `redeemed`. The count outlives a `put` that replaces the code: it stays
   * until the code expires that the first wrong guess was for. Without this method there is no sign-in by email.
   */
  redeemCode?(guess: CodeGuess): Promise<CodeOutcome>
}
