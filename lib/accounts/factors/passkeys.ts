import type { OneTimeTokenStore } from '../../ports/state.ts'
import type { Events } from '../../events.ts'
import type { MessageBound } from '../../limits/attempt.ts'
import type { Clock } from '../../ports/clock.ts'
import type { FactorStore, UserFactors } from '../../ports/factor-store.ts'
import type { Random } from '../../ports/cryptography.ts'
import type { ConnectionWay } from '../../ports/upstream.ts'
import type { User, UserStore } from '../../ports/user-store.ts'
import type { AuthenticationProof } from '../../protocol/authentication.ts'
import type { PasskeyCreationOptions, PasskeyRequestOptions } from '../../protocol/webauthn-options.ts'
import type { Sessions, StayingSignIn } from '../../sessions/sessions.ts'
import type { Background } from '../background.ts'
import type { MessageCause, Outbox } from '../outbox.ts'
import type { FactorPolicy } from './factor-policy.ts'

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
  /** Those that were made with it; `null`: none were. */
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

export interface ChallengeDeps {
  service: string
  clock: Clock
  random: Random
}

/** The account use cases that passkeys need. */
export interface PasskeyDeps extends ChallengeDeps {
  users: UserStore
  factors: { store: FactorStore; policy: FactorPolicy; recoveryKeys: readonly Uint8Array[] }
  sessions: Sessions
  background: Background
  outbox: Outbox | null
  messageBound: MessageBound
  oneTimeTokens: OneTimeTokenStore
  undoUrl: ((token: string) => string) | null
  verifyEmail: boolean
  connections: ReadonlyMap<string, ConnectionWay>
  events: Events
  onError(error: unknown, what: string): void
}

/**
 * Passkeys and security keys. Challenges are not stored: each carries a MAC, and is remembered as used only once its
 * answer was verified.
 */
export interface Passkeys {
  /** The Relying Party ID of the passkeys of this server. Pages also name it in the signals to the browser. */
  rpId: string
  /** Other origins that may use them; empty: none. */
  relatedOrigins: readonly string[]
  /** True if a page may propose to make one after a sign-in by password. */
  prompt: boolean

  /**
   * For a fresh sign-in, or one that must have a factor first. Claims the user's handle; the answer is good for ten
   * minutes, for this sign-in, and until their factors are others.
   * @throws OAuthError `not_found` where passkeys are not set up here; `access_denied` where the address of the account
   * is still to be confirmed
   */
  creationOptions(of: Enroller & { kind?: PasskeyKind | undefined }, deps: PasskeyDeps): Promise<PasskeyCreationOptions>
  /**
   * Stores the passkey. It ends other sign-ins and brings recovery codes only where it turns two-step sign-in on.
   * @throws OAuthError `access_denied` likewise; `invalid_credential`, `duplicate_factor`, `factor_limit`,
   * `temporarily_unavailable`
   */
  add(addition: PasskeyAddition, deps: PasskeyDeps): Promise<PasskeyAdded>

  /** Alike for everybody, and costs one HMAC. Good for ten minutes. */
  signInOptions(deps: ChallengeDeps): PasskeyRequestOptions
  /**
   * The user who answered `signInOptions`. The passkey has verified them, so it is both factors.
   * @throws OAuthError `invalid_grant`, one text for all causes; its `reason`, for pages alone, is `unknown_passkey` if
   * the server does not know it, so that the page can tell the browser (`signalUnknownCredential`), `passkey_copied` if
   * its counter did not grow, and else `passkey_refused`
   */
  proveAlone(
    given: { credential: GivenCredential; clientId: string | null } & MessageCause,
    deps: PasskeyDeps
  ): Promise<ProvedByPasskey>

  /** For a known user. `null`: they have no passkey. */
  optionsFor(of: { user: User; found: UserFactors } & PasskeyPurpose, deps: ChallengeDeps): PasskeyRequestOptions | null
  /**
   * That the person has answered `optionsFor`, by one of their own. `method`: `passkey`, or `security_key` where it did
   * not verify them.
   * @throws OAuthError `invalid_grant`, likewise
   */
  prove(
    given: { credential: GivenCredential; user: User; found: UserFactors; clientId: string | null } & PasskeyPurpose &
      MessageCause,
    deps: PasskeyDeps
  ): Promise<AuthenticationProof>
}
