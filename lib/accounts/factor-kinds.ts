import type { PasskeyFactor, TotpFactor, UserFactors } from '../ports/factor-store.ts'
import type { User } from '../ports/user-store.ts'
import type { AuthenticationProof } from '../protocol/authentication.ts'
import type { PasskeyCreationOptions, PasskeyRequestOptions } from '../protocol/webauthn-options.ts'
import type { StayingSignIn } from '../sessions/sessions.ts'
import type { MessageCause } from './outbox.ts'
import type { ImportedTotp } from '../protocol/totp.ts'

/**
 * The credential that `navigator.credentials` gave, handed in by a page or a program as JSON text or as an object, with
 * binary members as base64url. Of a new one `id`, `type`, `response.clientDataJSON`, `response.attestationObject`,
 * `response.transports`; of a sign-in `id`, `type`, `response.clientDataJSON`, `response.authenticatorData`,
 * `response.signature`, `response.userHandle`. Other members are ignored.
 * @see W3C WebAuthn Level 3 §5.1, RegistrationResponseJSON and AuthenticationResponseJSON
 */
export type GivenCredential = string | object

/** `security_key`: it need not verify who holds it, so it counts as a second factor alone. */
export type PasskeyKind = 'passkey' | 'security_key'

/**
 * The person who sets a factor up: a sign-in, or the holder of a ticket for a given first factor. `isInvited`: a link
 * of the host's leads them here. The host has vouched for them, so the address of the account need not be confirmed
 * before.
 */
export type Enroller = (
  | { user: User; sid: string }
  | { user: User; sid: null; ticket: string; holds(): Promise<boolean> }
) & { isInvited?: boolean | undefined }

/**
 * The sign-in that stays where two-step sign-in is turned on, which ends all others; `null`: nobody is signed in yet.
 */
export interface Staying {
  stays: StayingSignIn | null
}

/** The request to a known user: after the first factor, or again while they are signed in. */
export type PasskeyPurpose = { purpose: 'second_factor' } | { purpose: 'reauthentication'; sid: string }

/**
 * `turnsOn`: a passkey that is set up as the second factor, so that two-step sign-in is on from now on. All other
 * sign-ins end then.
 */
export type PasskeyAddition = Enroller &
  MessageCause & { credential: GivenCredential; name: string; turnsOn?: Staying | undefined }

/** The new factor: a passkey or an app. */
export interface PasskeyAdded {
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
   * To be called after the commit. Resolves to the user as they are now; to `null`, with an event, where they may not
   * sign in any more.
   */
  confirm(): Promise<User | null>
}

/**
 * Passkeys and security keys. Challenges are not stored: each carries a MAC, and is remembered as used only once its
 * answer was verified.
 */
export interface Passkeys {
  /** The passkeys among these by which the user can sign in without anything else. */
  alone(found: UserFactors): PasskeyFactor[]
  /** The Relying Party ID of the passkeys of this server. Pages also name it in the signals to the browser. */
  rpId: string
  /** True if a page may propose to make one after a sign-in by password. */
  prompt: boolean

  /**
   * For a fresh sign-in, or one that must set up a factor first. Claims the user's handle. The answer is good for ten
   * minutes, for this sign-in, and only while the factors of the user stay the same.
   * @throws OAuthError `not_found` where passkeys are not set up here; `access_denied` where the address of the account
   * is still to be confirmed
   */
  creationOptions(of: Enroller & { kind?: PasskeyKind | undefined }): Promise<PasskeyCreationOptions>
  /**
   * Stores the passkey. It ends other sign-ins and brings recovery codes only where it turns two-step sign-in on.
   * @throws OAuthError `access_denied` likewise; `invalid_credential`, `duplicate_factor`, `factor_limit`,
   * `temporarily_unavailable`
   */
  add(addition: PasskeyAddition): Promise<PasskeyAdded>

  /** Options for a sign-in by any user's passkey. They depend on no user, cost one HMAC and work for ten minutes. */
  signInOptions(): PasskeyRequestOptions
  /**
   * The user who answered `signInOptions`. The passkey has verified them, so it is both factors.
   * @throws OAuthError `invalid_grant`, one text for all causes; its `reason`, for pages alone, is `unknown_passkey` if
   * the server does not know it, so that the page can tell the browser (`signalUnknownCredential`), `passkey_copied` if
   * its counter did not grow, and else `passkey_refused`
   */
  proveAlone(given: { credential: GivenCredential; clientId: string | null } & MessageCause): Promise<ProvedByPasskey>

  /** For a known user. `null`: they have no passkey. */
  optionsFor(of: { user: User; found: UserFactors } & PasskeyPurpose): PasskeyRequestOptions | null
  /**
   * Proves that the person has answered `optionsFor` by a passkey of theirs. `method`: `passkey`, or `security_key` if
   * it did not verify them.
   * @throws OAuthError `invalid_grant`, with the reasons of `proveAlone`
   */
  prove(
    given: { credential: GivenCredential; user: User; found: UserFactors; clientId: string | null } & PasskeyPurpose &
      MessageCause
  ): Promise<AuthenticationProof>
}

/** An authenticator app that is about to be added. Nothing of it is stored. */
export interface Enrolment {
  /** The enrolment, sealed for the user and the sign-in that began it. It comes back with the first code. */
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
   * A new key. It is stored after a right code, so an enrolment that is given up changes nothing. The caller must have
   * had a fresh sign-in. The sealed enrolment proves that for ten minutes, but only while the factors of the user stay
   * the same, because a sign-in without a factor that was added meanwhile is not enough.
   */
  start(of: Enroller): Promise<Enrolment>
  /**
   * Opens a sealed enrolment, for a page that is shown again. `null` if another sign-in began it, or if it is too old.
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
