/** What messages carry. */
export type MessageTokenPurpose = 'password_reset' | 'verify_email' | 'email_change'

/**
 * Besides those of messages, what is kept for a user likewise. `password_change`: the digest of the hash that a change which has not
 * ended everything yet has set. `kept_session`: the sign-in that stayed when the password was changed.
 * `resend_verification`: what the sign-in page gives to who knew the password of an account that is not confirmed.
 * `contested_sign_up`: the password of an account that is not confirmed, and that somebody else wanted to sign up for.
 */
export type OneTimeTokenPurpose = MessageTokenPurpose | 'password_change' | 'kept_session' | 'resend_verification' | 'contested_sign_up'

/** A token that a message carries. Only its digest is kept, after the user's partition (see protocol/partition). Times are milliseconds since the epoch. */
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
}
