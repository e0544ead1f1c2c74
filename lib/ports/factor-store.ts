/**
 * An authenticator app (TOTP) of a user. Times are milliseconds since the epoch.
 * @see RFC 6238
 */
export interface TotpFactor {
  /** Names the factor to its user. Unique among the user's factors, and no credential. */
  id: string
  /** Sealed under the option `secret`, for this user and this factor alone. */
  sealedSecret: string
  /** The time step of the newest accepted code. Codes of this step and of earlier ones are refused. RFC 6238 §5.2 */
  lastStep: number
  /** Wrong codes from unknown browsers since the last right code from an unknown browser. See `knownFailures`. */
  failures: number
  /**
   * Wrong codes from known browsers since the last right code from a known browser. A browser is known if the user gave
   * the second factor there before.
   */
  knownFailures: number
  /** After too many `failures` the app works only in known browsers, until the user removes it and adds it again. */
  disabled: boolean
  /** The user's name for it. */
  name: string | null
  createdAt: number
  lastUsedAt: number | null
  /** The user set it up before the address of the account was proved, so it may be another person's. */
  provisional: boolean
}

/**
 * A passkey or security key of a user: the credential record of WebAuthn. Times are milliseconds since the epoch.
 * @see W3C WebAuthn Level 3 §4, credential record
 */
export interface PasskeyFactor {
  /** Names the factor to its user. Unique among the user's factors, and no credential. */
  id: string
  /**
   * base64url. Unique among the user's passkeys only: another user may have the same one, because anybody who knows an
   * id can claim it.
   */
  credentialId: string
  /** SubjectPublicKeyInfo in DER, as base64url. */
  publicKey: string
  /** The COSE number of its algorithm: -7, -8, -257. */
  alg: number
  /** The counter of the last use. 0: the authenticator does not count. */
  signCount: number
  /** The transports that the browser reported: `internal`, `hybrid`, `usb`, … */
  transports: string[]
  /** True if the authenticator may copy the passkey to other devices. Never changes. */
  backupEligible: boolean
  /** True if the passkey is copied to other devices. */
  backedUp: boolean
  /**
   * True if the authenticator verified its user at registration. `false`: a security key, which is a second factor and
   * never the first.
   */
  uvInitialized: boolean
  /** The model of the authenticator, as the UUID it claims. For display only. */
  aaguid: string | null
  /** The Relying Party ID of its registration. */
  rpId: string
  /** The user's name for it. */
  name: string | null
  createdAt: number
  lastUsedAt: number | null
  /** The user set it up before the address of the account was proved, so it may be another person's. */
  provisional: boolean
}

/** All factors of one user besides the password. */
export interface UserFactors {
  /** The WebAuthn user handle. `null`: none was claimed. */
  handle: string | null
  /** In the order of their addition, here and below. */
  totp: TotpFactor[]
  passkeys: PasskeyFactor[]
  recoveryCodesLeft: number
  /**
   * True if the user turned two-step sign-in on. An app or the option `mfa.required` also turns it on, without this
   * flag.
   */
  twoStepChosen: boolean
  /** Changes with the set of factors, `setTwoStep`, `forgetDevices` and the outcome `forgotten`. 0: no change yet. */
  deviceEpoch: number
}

export interface FactorsByHandle {
  userId: string
  /** The requested passkey; it is among `factors` too. */
  passkey: PasskeyFactor
  factors: UserFactors
}

export interface FactorAddition<Factor extends TotpFactor | PasskeyFactor> {
  userId: string
  factor: Factor
  /** The maximum number of factors of this kind. */
  limit: number
  /** Digests of new recovery codes, each once: 43 characters of base64url. */
  recoveryDigests?: readonly string[] | undefined
  /** Adds the factor only if the user has none of either kind. */
  onlyIfFirst?: boolean | undefined
  /** Sets `twoStepChosen` in the same step. */
  turnsOn?: boolean | undefined
}

/**
 * `codesStored`: the recovery codes of this call are the valid ones. `duplicate`: the user has a factor of this id, or
 * this credential. `not_first`: the user has a factor, and the addition was `onlyIfFirst`. `full`: the user has `limit`
 * factors of this kind. Only `added` writes. Of the other outcomes, the first that applies is returned.
 */
export type AddedFactor =
  | { outcome: 'added'; codesStored: boolean }
  | { outcome: 'duplicate' }
  | { outcome: 'not_first' }
  | { outcome: 'full' }

export interface RemovedFactor {
  id: string
  kind: 'totp' | 'passkey'
}

export interface TotpUse {
  userId: string
  factorId: string
  /** The time step of the code. */
  step: number
  /** The new `lastUsedAt`. */
  now: number
  /** The TOTP secret, sealed again under the newest `secret`. Replaces the stored one. */
  sealedSecret?: string | undefined
  /** True for a known browser (see `knownFailures`). Default `false`. */
  isKnown?: boolean | undefined
}

export interface TwoStepChange {
  userId: string
  on: boolean
  /** With `on`: digests of recovery codes that replace all others. Without them, the codes stay. */
  recoveryDigests?: readonly string[] | undefined
}

export interface PasskeyUse {
  userId: string
  credentialId: string
  /** Digest of the answered challenge: 43 characters of base64url. */
  claim: string
  /** The time at which the challenge expires, after which its claim can be forgotten. */
  claimExpiresAt: number
  signCount: number
  backedUp: boolean
  /** The new `lastUsedAt`. */
  now: number
}

/**
 * `regressed`: the counter did not grow, and the stored counter is not 0. A passkey that may be copied
 * (`backupEligible`) is accepted nevertheless, because copies can count separately. Any other passkey is refused as a
 * possible copy.
 */
export type UsedPasskey =
  | { outcome: 'used'; regressed: boolean }
  | { outcome: 'replayed' }
  | { outcome: 'regressed' }
  | { outcome: 'unknown' }

/**
 * Second factors and passkeys. A user whose factors are lost has only a password, so keep factors with the users and
 * not in a cache. Every method is a transaction, atomic across all instances: of parallel calls on one user, each sees
 * the results of those before it. A method rejects during an outage and never reports "none" instead. Strings are
 * stored byte for byte, or the call rejects. Removing the last factor removes the recovery codes too. A call that turns
 * two-step sign-in on (an app, `turnsOn` or `setTwoStep`) adds the codes.
 */
export interface FactorStore {
  /** The store's name in messages. `memory` means that the contents end with the process. */
  kind: string
  /** True if the contents outlive the process. Then `secret` must do so too. */
  durable: boolean

  /** All factors of the user, in one trip; an empty set if nothing is stored. */
  findFactors(userId: string): Promise<UserFactors>
  /**
   * The passkey of the user with this handle, and all of that user's factors, in one trip. `null`: no user has the
   * handle, or that user does not have the credential.
   */
  findByHandle(handle: string, credentialId: string): Promise<FactorsByHandle | null>
  /**
   * The user's handle. Without one, stores `candidate` as the handle for good. A candidate begins with the user's
   * partition (see protocol/digest), so that a handle leads to the user's factors. 43 random characters of base64url
   * follow.
   */
  claimHandle(userId: string, candidate: string): Promise<string>

  /**
   * Adds an authenticator app. If the user has no recovery codes, adds `recoveryDigests` in the same step.
   */
  addTotp(addition: FactorAddition<TotpFactor>): Promise<AddedFactor>
  /**
   * Adds a passkey. In the same step adds `recoveryDigests` if the user has no recovery codes, and then has an app or
   * `twoStepChosen`.
   */
  addPasskey(addition: FactorAddition<PasskeyFactor>): Promise<AddedFactor>

  /**
   * Records a right code. `used` only if its step is newer than `lastStep`. Then the failures of this kind of browser
   * (`isKnown`) are reset for all apps of the user, except that a disabled app keeps its `failures`. `replayed`: the
   * step is not newer. `disabled`: the app is disabled and the browser is not known. Only `used` writes.
   */
  useTotp(use: TotpUse): Promise<'used' | 'replayed' | 'disabled' | 'unknown'>
  /**
   * Records a right answer to a challenge. `used`: claims the challenge, and stores the given counter and `backedUp`,
   * in one step. `replayed`: a passkey of the user answered it before; this is checked before `regressed`. Only `used`
   * writes.
   */
  usePasskey(use: PasskeyUse): Promise<UsedPasskey>
  /** Uses a recovery code up, by its digest. `left`: how many codes remain. */
  useRecoveryCode(use: {
    userId: string
    digest: string
  }): Promise<{ outcome: 'used'; left: number } | { outcome: 'unknown' }>
  /** Replaces all recovery codes of the user. `false`, and nothing is written, if the user has no factor. */
  replaceRecoveryCodes(userId: string, digests: readonly string[]): Promise<boolean>
  /**
   * Turns `twoStepChosen` on or off and changes the epoch. `refused`: turning it on needs a factor, and an app forbids
   * turning it off. `unchanged`: it is on already (an app counts), or off with no recovery codes left. Turning it off
   * ends the recovery codes.
   */
  setTwoStep(change: TwoStepChange): Promise<'changed' | 'unchanged' | 'refused'>
  /**
   * Records a code that is wrong for each authenticator app of the user. Without `isKnown` it adds to the `failures` of
   * each enabled app, and disables an app that reaches `max`. `disabled`: this call has disabled an app. `unknown`: the
   * user has no enabled app. With `isKnown` it adds to the `knownFailures` of every app. `forgotten`: an app reached
   * `max`, so all `knownFailures` are 0, and a new epoch makes every browser unknown. `unknown`: the user has no app.
   */
  countFailure(failure: {
    userId: string
    max: number
    isKnown?: boolean | undefined
  }): Promise<'counted' | 'disabled' | 'forgotten' | 'unknown'>

  /**
   * Removes a factor of either kind. `last`: nothing is removed, because `keepOne` is set and no other factor is
   * enabled. The last factor ends `twoStepChosen`. The recovery codes go if neither an app nor `twoStepChosen` is left.
   * With `keepOne` they stay as long as another factor is left.
   */
  removeFactor(removal: { userId: string; factorId: string; keepOne: boolean }): Promise<'removed' | 'last' | 'unknown'>
  /**
   * Removes the provisional factors, and with them all recovery codes, and resolves to those that it removed.
   * `twoStepChosen` ends with the last factor.
   */
  removeProvisional(userId: string): Promise<RemovedFactor[]>
  /** `false` if the user has no such factor. */
  renameFactor(naming: { userId: string; factorId: string; name: string | null }): Promise<boolean>
  /** Changes the device epoch and resolves to the new one, so that no browser is remembered any more. */
  forgetDevices(userId: string): Promise<number>
  /**
   * Removes every factor and recovery code, and ends `twoStepChosen`. Resolves to the former number of factors. The
   * handle stays. The epoch changes, unless nothing was stored for the user.
   */
  removeFactorsOfUser(userId: string): Promise<number>

  /**
   * Keeps one sealed text for the whole store, so that a start can find out whether `secret` opens the stored secrets.
   * Writes `next` if the stored text is `former` (`null`: none). Resolves to the text stored afterwards, or to `next`
   * if there is none. Without this method, a wrong `secret` shows only when a user enters a code.
   */
  keepSeal?(next: string, former: string | null): Promise<string>

  /**
   * Prepares tables or a connection and checks that they can be used. Called once at start. Rejects with a `StartError`
   * if an operator must fix the cause; an outage rejects with another error.
   */
  prepare?(): Promise<void>
  /** The migrations that `prepare` would make, one text each. Changes nothing. */
  pending?(): Promise<string[]>
  /** Removes claims that have expired, in small slices. Called about once a minute. */
  sweep?(now: number): void | Promise<void>
}
