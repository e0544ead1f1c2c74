import type { PasskeyFactor, TotpFactor, UserFactors } from '../ports/factor-store.ts'
import type { User } from '../ports/user-store.ts'
import type { AuthenticationProof } from '../protocol/authentication.ts'
import type { PasskeyCreationOptions, PasskeyRequestOptions } from '../protocol/webauthn-options.ts'
import type { StayingSignIn } from '../sessions/sessions.ts'
import type { MessageCause } from './outbox.ts'
import type { ImportedTotp } from '../protocol/totp.ts'

/**
 * A credential from `navigator.credentials`, as JSON text or as an object, with binary members in base64url. The
 * members that are read of a new credential: `id`, `type`, `response.clientDataJSON`, `response.attestationObject`,
 * `response.transports`. Those of a sign-in: `id`, `type`, `response.clientDataJSON`, `response.authenticatorData`,
 * `response.signature`, `response.userHandle`. Other members are ignored.
 * @see W3C WebAuthn Level 3 §5.1, RegistrationResponseJSON and AuthenticationResponseJSON
 */
export type GivenCredential = string | object

/** A `security_key` need not verify its holder, so it is only a second factor. */
export type PasskeyKind = 'passkey' | 'security_key'

/**
 * The user who sets up a factor: signed in (`sid`), or with a `ticket` for a proved first factor. `holds` resolves to
 * `false` once that first factor is no longer valid. `isInvited`: a link of the host led the user here. The host
 * vouches for this user, so the address of the account need not be confirmed first.
 */
export type Enroller = (
  | { user: User; sid: string }
  | { user: User; sid: null; ticket: string; holds(): Promise<boolean> }
) & { isInvited?: boolean | undefined }

/** The sign-in that stays when two-step sign-in is turned on and all others end. `null`: nobody is signed in yet. */
export interface Staying {
  stays: StayingSignIn | null
}

/** The reason to ask a known user for a passkey: the second factor of a sign-in, or a new proof while signed in. */
export type PasskeyPurpose = { purpose: 'second_factor' } | { purpose: 'reauthentication'; sid: string }

/**
 * A passkey to add. `turnsOn`: set if the passkey is to turn on two-step sign-in as the second factor. Then all other
 * sign-ins end.
 */
export type PasskeyAddition = Enroller &
  MessageCause & { credential: GivenCredential; name: string; turnsOn?: Staying | undefined }

/** The new factor: a passkey, a security key or an authenticator app. */
export interface FactorAdded {
  factorId: string
  /** The recovery codes that were made with the factor; `null`: none were. */
  recoveryCodes: string[] | null
  proof: AuthenticationProof
}

/** The user who signed in by a passkey alone. */
export interface ProvedByPasskey {
  user: User
  proof: AuthenticationProof
  /**
   * Call it after the commit of the session or the tokens. Resolves to the present user. If the user may not sign in
   * any more, emits `login_failed` and resolves to `null`.
   */
  confirm(): Promise<User | null>
}

/**
 * Passkeys and security keys. Challenges are not stored: each contains a MAC. Once the answer to a challenge has proved
 * a passkey, the challenge is recorded as used.
 */
export interface Passkeys {
  /** Returns the passkeys among `found` with which the user can sign in without anything else. */
  alone(found: UserFactors): PasskeyFactor[]
  /** The Relying Party ID of the passkeys of this server. Pages also name it in the signals to the browser. */
  rpId: string
  /**
   * True if a page may propose to create a passkey after a sign-in by password, or a sign-up without one. Always false
   * if users can create none.
   */
  prompt: boolean

  /**
   * Makes options to create a passkey. The user's sign-in is fresh, or the user must set up a factor before they are
   * signed in. Stores a user handle if the user has none. The answer is accepted for ten minutes, in this sign-in only,
   * and only while the factors of the user stay the same.
   * @throws OAuthError `not_found` if passkeys are not set up here; `access_denied` if the address of the account must
   * be confirmed first
   */
  creationOptions(of: Enroller & { kind?: PasskeyKind | undefined }): Promise<PasskeyCreationOptions>
  /**
   * Stores the passkey. Ends other sign-ins and makes recovery codes only if the passkey turns on two-step sign-in.
   * @throws OAuthError `access_denied` if the address of the account must be confirmed first; `invalid_credential`,
   * `duplicate_factor`, `factor_limit`, `temporarily_unavailable`
   */
  add(addition: PasskeyAddition): Promise<FactorAdded>

  /** Makes options for a sign-in by any user's passkey. They depend on no user, and work for ten minutes. */
  signInOptions(): PasskeyRequestOptions
  /**
   * Returns the user who answered `signInOptions`. The passkey has verified its holder, so it counts as both factors.
   * @throws OAuthError `invalid_grant` with one text for all causes. Its `reason` is for pages only: `unknown_passkey`
   * if the server does not know the passkey, so that the page can tell the browser (`signalUnknownCredential`),
   * `passkey_copied` if the counter of the passkey did not grow, otherwise `passkey_refused`
   */
  proveAlone(given: { credential: GivenCredential; clientId: string | null } & MessageCause): Promise<ProvedByPasskey>

  /** Makes options for a known user to prove a passkey. `null`: the user has none that works here. */
  optionsFor(of: { user: User; found: UserFactors } & PasskeyPurpose): PasskeyRequestOptions | null
  /**
   * Verifies the answer of the user to `optionsFor`. The `method` of the proof is `passkey`, or `security_key` if the
   * authenticator did not verify its holder.
   * @throws OAuthError `invalid_grant`, with the reasons of `proveAlone`
   */
  prove(
    given: { credential: GivenCredential; user: User; found: UserFactors; clientId: string | null } & PasskeyPurpose &
      MessageCause
  ): Promise<AuthenticationProof>
}

/** An authenticator app that is about to be added. The server stores nothing of it. */
export interface Enrolment {
  /**
   * The key and the time of the enrolment, sealed for the user and the sign-in that began it. The caller gives it back
   * to `confirm` with the first code.
   */
  enrolment: string
  /** The key in base32, for users who type it. */
  secret: string
  /** The text in the QR code. @see https://github.com/google/google-authenticator/wiki/Key-Uri-Format */
  uri: string
}

/** The circumstances in which a second factor is given. */
export interface GivenAt extends MessageCause {
  clientId: string | null
  /** True if the user has given a second factor in this browser since their password and factors last changed. */
  isKnown: boolean
}

/** Authenticator apps. A feature provides them in the slot `apps`. */
export interface Apps {
  /**
   * Normalizes a typed code. A text that can't be a code does not count as a guess.
   * @throws OAuthError `invalid_code`
   */
  read(code: string, field: string): string
  /**
   * Returns the apps whose codes this browser may use: all in a known browser, otherwise those that wrong codes have
   * not disabled.
   */
  counting(apps: readonly TotpFactor[], isKnown: boolean): TotpFactor[]
  /**
   * Checks the code and uses it up.
   * @throws OAuthError `invalid_grant`; `temporarily_unavailable` if the key of no app can be opened
   */
  prove(code: string, user: User, apps: readonly TotpFactor[], at: GivenAt): Promise<AuthenticationProof>
  /**
   * Makes a new key. `confirm` stores it after a correct code, so an abandoned enrolment changes nothing. The caller
   * must have checked that the sign-in is fresh. The sealed enrolment proves that for ten minutes, while the factors of
   * the user stay the same: once another factor is added, a sign-in without that factor is no longer enough.
   * @throws OAuthError `not_found` if authenticator apps are not set up here
   */
  start(of: Enroller): Promise<Enrolment>
  /**
   * Opens a sealed enrolment, for a page that is shown again. `null` if another sign-in began it, if it is older than
   * ten minutes, or if the factors of the user have changed.
   */
  reopen(enrolment: string, of: Enroller): Promise<Enrolment | null>
  /**
   * Stores the app if the code is correct. If the app turns on two-step sign-in, ends all other sign-ins of the user,
   * so that a thief with only the password is signed out. `recoveryCodes` of the result is `null` if the user had some
   * already, or if the option `mfa.methods` has no recovery codes.
   * @throws OAuthError `invalid_token` (the enrolment), `invalid_code`, `factor_limit`, `temporarily_unavailable`;
   * `access_denied` if the address of the account must be confirmed first
   */
  confirm(given: Confirmation): Promise<FactorAdded>
  /**
   * Adds an app that the user has set up with another system and whose key the host knows. Sends no message and makes
   * no recovery codes. If the app turns on two-step sign-in, ends all sign-ins of the user. `already_added`: the user
   * has an app with this key. Of parallel calls with one key, one adds it.
   * @throws OAuthError `invalid_request` if the key or the name is not valid, or for an `algorithm` other than `SHA1`,
   * `digits` other than 6 or a `period` other than 30; `invalid_grant` if the user was removed meanwhile;
   * `factor_limit`
   */
  import(user: User, app: ImportedTotp): Promise<'added' | 'already_added'>
}

export type Confirmation = Enroller & Staying & MessageCause & { enrolment: string; code: string; name: string }
