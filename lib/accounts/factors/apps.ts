import type { TotpFactor } from '../../ports/factor-store.ts'
import type { User } from '../../ports/user-store.ts'
import type { AuthenticationProof } from '../../protocol/authentication.ts'
import type { ImportedTotp } from '../../protocol/totp.ts'
import type { MessageCause } from '../outbox.ts'
import type { Enroller, PasskeyAdded, Staying } from './passkeys.ts'

/** An authenticator app that is about to be added. Nothing of it is stored. */
export interface Enrolment {
  /** The whole of it, sealed for the user and the sign-in that began it. Comes back with the first code. */
  enrolment: string
  /** base32, for people who type it. */
  secret: string
  /** The text in the QR code. @see https://github.com/google/google-authenticator/wiki/Key-Uri-Format */
  uri: string
}

/** The place at which a second factor is given. */
export interface GivenAt extends MessageCause {
  clientId: string | null
  /** True if the user has given a second factor in this browser before. */
  isKnown: boolean
}

/** Authenticator apps. The slot `apps` of a feature has them. */
export interface Apps {
  /**
   * Reads a typed code. A text that can't be a code is a slip, and no guess.
   * @throws OAuthError `invalid_code`
   */
  read(code: string, field: string): string
  /** The apps whose codes count in this browser. */
  counting(apps: readonly TotpFactor[], isKnown: boolean): TotpFactor[]
  /** See `proveFactor`. */
  prove(code: string, user: User, apps: readonly TotpFactor[], at: GivenAt): Promise<AuthenticationProof>
  /**
   * A new key. It is stored only once a code of it was right, so an enrolment that is given up changes nothing. Its
   * caller must have had a fresh sign-in; the sealed enrolment proves that for ten minutes, and no longer once the
   * user's factors have changed, since a sign-in without a factor that was added meanwhile is not enough.
   */
  start(of: Enroller): Promise<Enrolment>
  /**
   * The enrolment of this sealed text, for a page that is shown again. `null` where it was begun by another sign-in, or
   * is too old.
   */
  reopen(enrolment: string, of: Enroller): Promise<Enrolment | null>
  /**
   * Stores the app once a code of it is right. If it turns two-step sign-in on, all other sign-ins of the user end, so
   * that a thief who got in by the password alone is out. `recoveryCodes`: the codes made with it; `null` if there were
   * some already.
   * @throws OAuthError `invalid_token` (the enrolment), `invalid_code`, `factor_limit`, `temporarily_unavailable`
   */
  confirm(given: Confirmation): Promise<PasskeyAdded>
  /**
   * Adds an app that the user has set up with another system, and whose key the host knows. Sends no message and makes
   * no recovery codes. If it turns two-step sign-in on, all sign-ins of the user end. `already_added`: the user has an
   * app with this key. Of parallel calls with one key, one adds it.
   * @throws OAuthError `invalid_request` if the key can't be one, the name is none, or the app is of another kind;
   * `invalid_grant` if the user was removed meanwhile; `factor_limit`
   */
  import(user: User, app: ImportedTotp): Promise<'added' | 'already_added'>
}

export type Confirmation = Enroller & Staying & MessageCause & { enrolment: string; code: string; name: string }
