import type { DeviceStore } from './device-store.ts'
import type { SessionStore } from './session-store.ts'
import type { TokenStore } from './token-store.ts'

/**
 * The value of the option `state`: the stores of one engine. A call rejects if it could not do its work. If the server
 * was out of reach, the error has `isOutage: true`. The service then extends the grace period of replaced tokens by the
 * time of the outage, up to an hour.
 */
export interface State {
  /** The state's name in messages: `sqlite`, `redis`, … `memory` means that the contents end with the process. */
  kind: string
  /** True if several processes share the contents. */
  shared: boolean
  tokens: TokenStore
  oneTimeTokens: OneTimeTokenStore
  browserSessions: SessionStore
  consents: ConsentStore
  keys: KeyStore
  /** Required only for connections, the options `dpop` and `par`, and clients with keys. */
  assertions?: AssertionStore
  /** Required only for the device grant. */
  devices?: DeviceStore
  /**
   * Creates tables or a connection and checks that they are usable. Called once at start, before any other method.
   * Rejects with a `StartError` if an operator must fix the cause; an outage rejects with another error.
   */
  prepare?(): Promise<void>
  /** The migrations that `prepare` would make, one text each. Changes nothing. */
  pending?(): Promise<string[]>
  /**
   * Claims the state for a service. The first service that calls this becomes the owner, for good. `issuer`: a digest
   * of the issuer and prefix of the service. Resolves to the digest of the owner. Atomic: of any number of services
   * that call at once, one becomes the owner. Called before any other method except `prepare`.
   */
  claimFor?(issuer: string): Promise<string>
  /** Writes a record that nobody reads. Rejects if writes fail now, even if reads still work. */
  tryWrite(): Promise<void>
  /**
   * The clock of the server that holds the state, in milliseconds since the epoch: one clock for all instances. Absent
   * if the server uses this machine's clock.
   */
  time?(): Promise<number>
  /** Removes expired records, in small slices. Called about once a minute. */
  sweep(now: number): void | Promise<void>
}

type NoStore = string | boolean | ((...given: never[]) => unknown)

/** The stores of a state, each with its name in traces. */
const STATE_STORES = {
  tokens: 'tokens',
  oneTimeTokens: 'one_time_tokens',
  browserSessions: 'browser_sessions',
  consents: 'consents',
  keys: 'keys',
  assertions: 'assertions',
  devices: 'devices'
} as const satisfies {
  [Name in keyof State as NonNullable<State[Name]> extends NoStore ? never : Name]-?: string
}

type StoreOfState = keyof typeof STATE_STORES

/** Applies `change` to each store of the state. A store that the state lacks stays absent. */
export function changedStores(
  state: State,
  change: <Store extends object>(store: Store, traced: (typeof STATE_STORES)[StoreOfState]) => Store
): Pick<State, StoreOfState> {
  const names = Object.keys(STATE_STORES) as StoreOfState[]
  return Object.fromEntries(
    names.flatMap((name) => {
      const store = state[name]
      return store === undefined ? [] : [[name, change(store, STATE_STORES[name])]]
    })
  ) as unknown as Pick<State, StoreOfState>
}

/**
 * Assertions of other parties that may be used only once, such as an ID token that an app exchanges. A method rejects
 * during an outage.
 */
export interface AssertionStore {
  /**
   * Claims the assertion for the first caller: of parallel calls with one digest, one is `fresh` and all others are
   * `replayed`, across all instances. The store keeps only `digest` (43 characters of base64url) until `expiresAt`
   * (whole milliseconds since the epoch). It may forget the digest then, because the assertion has expired.
   */
  claim(digest: string, expiresAt: number): Promise<'fresh' | 'replayed'>
}

/** Scopes that a user allowed a third-party client. Times are milliseconds since the epoch. */
export interface Consent {
  userId: string
  clientId: string
  /** Every scope, and every API by its `resource`, that was allowed and not revoked. */
  scopes: string[]
  /**
   * A digest of the client's description that the user saw. Absent for a registered client, because the host vouches
   * for it.
   */
  client?: string
  grantedAt: number
  expiresAt: number
}

/**
 * Consents. Every operation is atomic across all instances. A method rejects during an outage. An expired consent
 * counts as missing.
 */
export interface ConsentStore {
  findConsent(userId: string, clientId: string, now: number): Promise<Consent | null>
  /**
   * Adds the scopes to those of the present consent and replaces its times. Replaces the scopes if `client` differs.
   */
  grantConsent(consent: Consent): Promise<void>
  /** `true` if there was a consent. Idempotent. */
  revokeConsent(userId: string, clientId: string): Promise<boolean>
  /** The consents that are valid at `now`, newest first. */
  listConsents(userId: string, now: number): Promise<Consent[]>
}

/**
 * A managed signing key as it is stored: the private half sealed, the public half as a JWK. Times are milliseconds
 * since the epoch.
 */
export interface StoredKey {
  /** RFC 7638 thumbprint. */
  kid: string
  alg: string
  /** 1, 2, 3 … per algorithm. Two instances that make the next key at the same time try the same number. */
  sequence: number
  /** The time from which the key signs. The key is published from the moment it is stored. */
  signsFrom: number
  createdAt: number
  publicJwk: Record<string, unknown>
  /** The private JWK, sealed with the option `secret`; `null`: retired, so that it signs nothing any more. */
  sealed: string | null
}

export interface KeyStore {
  list(): Promise<StoredKey[]>
  /** `false`, and nothing is written, if a key with this `kid`, or with this algorithm and sequence, exists. */
  addIfAbsent(key: StoredKey): Promise<boolean>
  /** Deletes the private half and keeps the public half. Idempotent. */
  retire(kid: string): Promise<void>
  /** Idempotent. */
  remove(kid: string): Promise<void>
}

/** Purposes of the tokens in messages. */
export type MessageTokenPurpose = 'password_reset' | 'verify_email' | 'email_change' | 'invitation'

/**
 * Purposes of one-time tokens: those of messages, and these. Some are only marks, and nobody holds such a token.
 * `password_change`: the new hash of a password change that has not yet ended the user's other sign-ins.
 * `kept_session`: the sign-in that stayed when the password was changed. `contested_sign_up`: the password of an
 * unconfirmed account that another person wanted to sign up for. `enrolment`: the link that the host hands to a user
 * who has lost every second factor. `enrolment_open`: a used link of this kind, whose browser may set up a factor.
 * `sign_in_code`: the short code sent to an address. Its `userId` names the address, with or without a user, and only
 * `redeemCode` uses it up. `factor_undo`, `email_undo`: a link in a message that undoes a change of the factors or of
 * the address. `undo_done`: such a link was just used. `email_undo_open`: an earlier change of the address can still be
 * undone. `factor_reset`: a reset of all second factors that no message has reported to the user yet. `blocked_client`:
 * a block of an unregistered client. Its `userId` names the client. `invitation_done`: an accepted invitation, so that
 * its link can still report the acceptance.
 */
export type OneTimeTokenPurpose =
  | MessageTokenPurpose
  | 'password_change'
  | 'kept_session'
  | 'contested_sign_up'
  | 'enrolment'
  | 'enrolment_open'
  | 'sign_in_code'
  | 'factor_undo'
  | 'email_undo'
  | 'email_undo_open'
  | 'undo_done'
  | 'factor_reset'
  | 'blocked_client'
  | 'invitation_done'

/**
 * The maximum number of wrong guesses at the codes of one owner. No option changes it, because a code is short.
 * @see NIST SP 800-63B-4 §3.2.2
 */
export const MAX_CODE_FAILURES = 5

/** A guess at the code that was `put` for `owner` (the `userId` of the token). */
export interface CodeGuess {
  purpose: 'sign_in_code'
  owner: string
  /** The digest of the typed code, after the owner's partition, as in `put`. */
  codeDigest: string
  now: number
}

/**
 * `redeemed`: the code was right, and is used up. `wrong`: the code was wrong, and the failure is counted. `spent`:
 * five failures were counted before, so the code was not checked. `unknown`: there is no code, or it has expired.
 */
export type CodeOutcome = 'redeemed' | 'wrong' | 'spent' | 'unknown'

/**
 * A one-time token. `digest`: the user's partition, then a digest of the token (see protocol/digest). The token itself
 * is not stored. Times are milliseconds since the epoch.
 */
export interface OneTimeToken {
  purpose: OneTimeTokenPurpose
  digest: string
  userId: string
  expiresAt: number
}

/** One-time tokens. A token that was put for one purpose never works for another. A method rejects during an outage. */
export interface OneTimeTokenStore {
  /** Stores the token and replaces the user's former token for this purpose, so that only the newest message works. */
  put(token: OneTimeToken): Promise<void>
  /** Finds the token without using it up. `null`: unknown, used, replaced or expired at `now`. */
  find(purpose: OneTimeTokenPurpose, digest: string, now: number): Promise<OneTimeToken | null>
  /** Uses the token up. One of any number of parallel calls gets it; the others get `null`. */
  consume(purpose: OneTimeTokenPurpose, digest: string, now: number): Promise<OneTimeToken | null>
  /** Ends all tokens of the user for this purpose. */
  discard(purpose: OneTimeTokenPurpose, userId: string): Promise<void>
  /**
   * Uses up the owner's code, or counts a failure, in one step. Of parallel guesses, at most five wrong guesses are
   * compared, and one right guess is `redeemed`. The count survives a `put` that replaces the code. It starts again
   * when a code is redeemed or discarded, and at the end of the code for which the first wrong guess was made. Without
   * this method there is no sign-in by email, and messages that confirm an address have no code.
   */
  redeemCode?(guess: CodeGuess): Promise<CodeOutcome>
}
