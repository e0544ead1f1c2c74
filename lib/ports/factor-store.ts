/**
 * An authenticator app (TOTP) of a user. Times are milliseconds since the epoch.
 * @see RFC 6238
 */
export interface TotpFactor {
  /** Names the factor to its user; unique among what they have, and no credential. */
  id: string
  /** Sealed under the option `secret`, for this user and this factor alone. */
  sealedSecret: string
  /**
   * The newest time step a code of which was taken: none of it, and none of one before it, counts again. RFC 6238 §5.2
   */
  lastStep: number
  /** Wrong codes since the last right one, in browsers that are not known for the second factor of the user. */
  failures: number
  /** Wrong codes since the last right one, in browsers that are known for it. */
  knownFailures: number
  /** After too many `failures` its codes count in known browsers alone, until the user removes it and adds it again. */
  disabled: boolean
  /** What its user calls it. */
  name: string | null
  createdAt: number
  lastUsedAt: number | null
  /** Its user set it up while nobody had proved the address of the account, so it may be another person's. */
  provisional: boolean
}

/**
 * A passkey or security key of a user: the credential record of WebAuthn. Times are milliseconds since the epoch.
 * @see W3C WebAuthn Level 3 §4, credential record
 */
export interface PasskeyFactor {
  /** Names the factor to its user; unique among what they have, and no credential. */
  id: string
  /**
   * base64url. Unique among what the user has; another user may have the same, for whoever knows it can claim to have
   * it.
   */
  credentialId: string
  /** SubjectPublicKeyInfo in DER, as base64url. */
  publicKey: string
  /** The COSE number of its algorithm: -7, -8, -257. */
  alg: number
  /** Of the last use; 0: it does not count. */
  signCount: number
  /** As the browser told them: `internal`, `hybrid`, `usb`, … */
  transports: string[]
  /** Whether it may be kept in several places. Never changes. */
  backupEligible: boolean
  /** Whether it is by now. */
  backedUp: boolean
  /**
   * Whether it proved who holds it when it was made. `false`: a security key, which is a second factor and never the
   * first.
   */
  uvInitialized: boolean
  /** The model of the authenticator, as the UUID it claims. For show. */
  aaguid: string | null
  /** The Relying Party ID that it was made for. */
  rpId: string
  /** What its user calls it. */
  name: string | null
  createdAt: number
  lastUsedAt: number | null
  /** Its user set it up while nobody had proved the address of the account, so it may be another person's. */
  provisional: boolean
}

/** All that one user has beside a password. */
export interface UserFactors {
  /** The WebAuthn user handle; `null`: none was claimed. */
  handle: string | null
  /** In the order in which they were added, here and below. */
  totp: TotpFactor[]
  passkeys: PasskeyFactor[]
  recoveryCodesLeft: number
  /** Whether the user turned two-step sign-in on. An app, and the option `mfa.required`, turn it on without that. */
  twoStepChosen: boolean
  /**
   * A number that is another one after each change of what factors there are, and each `forgetDevices`. 0: there was
   * none.
   */
  deviceEpoch: number
}

export interface FactorsByHandle {
  userId: string
  /** The one that was asked for; it is among `factors` too. */
  passkey: PasskeyFactor
  factors: UserFactors
}

export interface FactorAddition<Factor extends TotpFactor | PasskeyFactor> {
  userId: string
  factor: Factor
  /** How many of this kind a user may have. */
  limit: number
  /** Digests of new recovery codes, each once: 43 characters of base64url. */
  recoveryDigests?: readonly string[] | undefined
  /** Adds it only where the user has no factor of either kind. */
  onlyIfFirst?: boolean | undefined
  /** Sets `twoStepChosen` in the same step. */
  turnsOn?: boolean | undefined
}

/**
 * `codesStored`: the recovery codes of this call are those that count. `duplicate`: the user has a factor of this id,
 * or this credential. `not_first`: they have a factor, and the addition was `onlyIfFirst`. `full`: they have as many of
 * this kind as they may. The first of these that holds is told, and nothing is written.
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
  /** The time step that the code is of. */
  step: number
  /** Becomes `lastUsedAt`. */
  now: number
  /** The secret as a newer `secret` seals it; it is stored with the use. */
  sealedSecret?: string | undefined
  /** Whether the browser is known for the second factor of the user. Default `false`. */
  isKnown?: boolean | undefined
}

export interface TwoStepChange {
  userId: string
  on: boolean
  /** With `on`: digests of recovery codes that take the place of all others. Without them, the codes stay. */
  recoveryDigests?: readonly string[] | undefined
}

export interface PasskeyUse {
  userId: string
  credentialId: string
  /** Digest of the challenge that was answered: 43 characters of base64url. */
  claim: string
  /** From when on the challenge is refused for its age, so that nobody has to remember its claim. */
  claimExpiresAt: number
  signCount: number
  backedUp: boolean
  /** Becomes `lastUsedAt`. */
  now: number
}

/**
 * `regressed`: the counter did not grow, though it counts. Of a passkey that may be in several places
 * (`backupEligible`) the use counts nevertheless, since these have been seen to count apart; of any other it is refused
 * as a copy's.
 */
export type UsedPasskey =
  | { outcome: 'used'; regressed: boolean }
  | { outcome: 'replayed' }
  | { outcome: 'regressed' }
  | { outcome: 'unknown' }

/**
 * Second factors and passkeys: what a sign-in takes beside a password, or instead of one. What is lost here is a user
 * with a password alone, so it belongs where the users are, and in no cache.
 *
 * Every method is a transaction, atomic across all instances: of any number of parallel calls on one user, each finds
 * what those before it left. Outages reject; no method takes one for "there is none". Strings are kept as they are,
 * whatever is in them, or the call rejects.
 *
 * A user has recovery codes only as long as they have a factor: those that are left go with the last one. Codes are
 * added by what turns two-step sign-in on: an app, `turnsOn` or `setTwoStep`.
 */
export interface FactorStore {
  /** What messages call it: `memory`, `sqlite`, … Nothing is decided by it. */
  kind: string
  /** Whether what is in it outlives the process. Then `secret` has to as well. */
  durable: boolean

  /** What the user has, in one trip; an empty set where there is nothing. */
  findFactors(userId: string): Promise<UserFactors>
  /**
   * The passkey of whoever has this handle, with all that they have, in one trip. `null`: nobody has the handle, or not
   * this credential.
   */
  findByHandle(handle: string, credentialId: string): Promise<FactorsByHandle | null>
  /**
   * The user's handle: the one that they have, else `candidate` from now on and for good. A candidate begins with the
   * user's partition (see protocol/partition), so that a handle is found where the user's factors are; 43 random
   * characters of base64url follow.
   */
  claimHandle(userId: string, candidate: string): Promise<string>

  /**
   * Adds an authenticator app, and in the same step the recovery codes where the user has none and is asked for a
   * second factor from now on, by this app, one of before, or `twoStepChosen`.
   */
  addTotp(addition: FactorAddition<TotpFactor>): Promise<AddedFactor>
  /** Adds a passkey, likewise. */
  addPasskey(addition: FactorAddition<PasskeyFactor>): Promise<AddedFactor>

  /**
   * A right code was given. `used` only where its step is newer than `lastStep`. Then the failures of such browsers
   * (`isKnown`) no longer count, of this or another app of the user; `failures` of a disabled app stay. `replayed`: not
   * newer. `disabled`: the app is, and the browser is not known. Nothing is written but by `used`.
   */
  useTotp(use: TotpUse): Promise<'used' | 'replayed' | 'disabled' | 'unknown'>
  /**
   * A challenge was answered rightly. `used`: it is claimed, and counter and `backedUp` are those given, in one step.
   * `replayed`: it was claimed before, by whichever passkey of the user; that is told before `regressed`. Nothing is
   * written but by `used`.
   */
  usePasskey(use: PasskeyUse): Promise<UsedPasskey>
  /** Uses a recovery code up, by its digest. `left`: how many there are after it. */
  useRecoveryCode(use: {
    userId: string
    digest: string
  }): Promise<{ outcome: 'used'; left: number } | { outcome: 'unknown' }>
  /**
   * From now on these are the user's codes, and no others. `false`, and nothing is written, where they have no factor.
   */
  replaceRecoveryCodes(userId: string, digests: readonly string[]): Promise<boolean>
  /**
   * Turns `twoStepChosen` on or off and moves the epoch. `refused`: to turn it on the user must have a factor; to turn
   * it off they must have no app. `unchanged`: it is on already, by an app too, or off with no recovery codes left.
   * Off, the recovery codes end.
   */
  setTwoStep(change: TwoStepChange): Promise<'changed' | 'unchanged' | 'refused'>
  /**
   * A wrong code was given, which is wrong for each authenticator app of the user. Without `isKnown` it is one of the
   * `failures` of each app that is not disabled, and an app that has `max` is disabled. `disabled`: this call has
   * disabled one. `unknown`: the user has none that is not. With `isKnown` it is one of the `knownFailures` of every
   * app; where one has `max`, all start at 0 again and the epoch moves, so that no browser is known any more:
   * `forgotten`. `unknown`: the user has no app.
   */
  countFailure(failure: {
    userId: string
    max: number
    isKnown?: boolean | undefined
  }): Promise<'counted' | 'disabled' | 'forgotten' | 'unknown'>

  /**
   * Removes a factor of either kind. With `keepOne` it is `last`, and stays, unless the user has another that is not
   * disabled. With the last factor `twoStepChosen` ends. The recovery codes go where neither an app nor `twoStepChosen`
   * is left, but for `keepOne` with another factor.
   */
  removeFactor(removal: { userId: string; factorId: string; keepOne: boolean }): Promise<'removed' | 'last' | 'unknown'>
  /**
   * Removes the provisional factors, and with them all recovery codes, and resolves to those that it removed.
   * `twoStepChosen` ends with the last factor.
   */
  removeProvisional(userId: string): Promise<RemovedFactor[]>
  /** `false` where the user has no such factor. */
  renameFactor(naming: { userId: string; factorId: string; name: string | null }): Promise<boolean>
  /** Moves the device epoch and resolves to the new one, so that no browser that was remembered counts any more. */
  forgetDevices(userId: string): Promise<number>
  /**
   * Removes every factor and recovery code, and ends `twoStepChosen`; resolves to how many factors there were. The
   * handle stays, and the epoch moves.
   */
  removeFactorsOfUser(userId: string): Promise<number>

  /**
   * Keeps one sealed text for the whole store, by which a start finds out whether it opens what is in it. Writes `next`
   * where `former` is kept (`null`: nothing is), and resolves to the text that is kept then. Without it, a start that
   * opens nothing is found out only when somebody gives a code.
   */
  keepSeal?(next: string, former: string | null): Promise<string>

  /**
   * Makes what has to be there (tables, a connection) and looks whether it can be worked with. Called once at start.
   * Rejects with a `StartError` where only a person can mend it; an outage rejects with anything else.
   */
  prepare?(): Promise<void>
  /** Removes claims that have expired, in small slices. Called about once a minute. */
  sweep?(now: number): void | Promise<void>
}
