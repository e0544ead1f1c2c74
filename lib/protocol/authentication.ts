/** The proofs of a sign-in: their form in tokens (`acr`, `amr`, `auth_time`) and in stores. */

/** Stores contain these names, so a name must keep its meaning. `host`: the host's own code vouches for the user. */
export type AuthenticationMethod =
  | 'password'
  | 'otp'
  | 'recovery_code'
  | 'passkey'
  | 'security_key'
  | 'email'
  | 'connection'
  | 'host'

export interface AuthenticationProof {
  method: AuthenticationMethod
  /** The time of the proof, in milliseconds since the epoch. */
  at: number
  /**
   * The time at which a sign-in by a `connection` returned here, if known. The provider may have asked the person long
   * before.
   */
  here?: number
  /**
   * The time from which a sign-in by a `connection` counts as fresh, if that is not `here`: the provider could have
   * been asked to authenticate the person again, but was not.
   */
  freshFrom?: number
  /** The authentication methods as the provider or the host names them. @see RFC 8176 §2 */
  amr?: string[]
  /** The level that the host states, for a `connection` or for a sign-in by the host's own code. */
  acr?: string
  /**
   * This sign-in needs no second factor, even if the host requires one of the user: the host's own code signed the user
   * in, the browser is remembered, or the host requires none for this client.
   */
  exempt?: true
}

/** The level and methods of a sign-in, as tokens state them. They never change within a refresh token family. */
export interface AuthenticationContext {
  /** `null`: no level is known, because the host vouches for the user without one. */
  acr: string | null
  /** Empty if the methods are unknown. */
  amr: string[]
  /**
   * The time of the oldest proof that `acr` needs, in milliseconds since the epoch. A new proof of another method does
   * not change this time.
   */
  authenticatedAt: number
}

/** The level of a sign-in by a password alone. @see OpenID Connect Core 1.0 §2 */
export const PASSWORD_ACR = 'password'
/** The level of a sign-in at another provider, unless the option `assurance` states another level. */
export const CONNECTION_ACR = 'connection'
/**
 * The level of a sign-in by an emailed code, even with a second factor, because access to a mailbox does not count as
 * one of two factors. @see NIST SP 800-63B-4 §3.1.3.1
 */
export const EMAIL_ACR = 'email'
/** The level of a sign-in with two factors of different kinds. */
export const MFA_ACR = 'mfa'
/**
 * The level of a sign-in that resists phishing: by a passkey, or by a password and a security key. @see OpenID EAP ACR
 * Values 1.0 §2
 */
export const PASSKEY_ACR = 'phr'

/**
 * The combinations of proofs and the level that each gives, strongest first. `mfa` in `amr`: two factors of different
 * kinds. A passkey that verifies its user is two factors by itself.
 */
const CONTEXTS: ReadonlyArray<{ acr: string | null; by: readonly AuthenticationMethod[]; amr: readonly string[] }> = [
  { acr: PASSKEY_ACR, by: ['passkey'], amr: ['pop', 'user', 'mfa'] },
  { acr: PASSKEY_ACR, by: ['password', 'security_key'], amr: ['pwd', 'pop', 'user', 'mfa'] },
  { acr: MFA_ACR, by: ['password', 'otp'], amr: ['pwd', 'otp', 'mfa'] },
  { acr: MFA_ACR, by: ['password', 'recovery_code'], amr: ['pwd', 'recovery', 'mfa'] },
  { acr: MFA_ACR, by: ['connection', 'security_key'], amr: ['pop', 'user', 'mfa'] },
  { acr: MFA_ACR, by: ['connection', 'otp'], amr: ['otp', 'mfa'] },
  { acr: MFA_ACR, by: ['connection', 'recovery_code'], amr: ['recovery', 'mfa'] },
  { acr: MFA_ACR, by: ['host', 'security_key'], amr: ['pop', 'user', 'mfa'] },
  { acr: MFA_ACR, by: ['host', 'otp'], amr: ['otp', 'mfa'] },
  { acr: MFA_ACR, by: ['host', 'recovery_code'], amr: ['recovery', 'mfa'] },
  { acr: PASSWORD_ACR, by: ['password'], amr: ['pwd'] },
  { acr: CONNECTION_ACR, by: ['connection'], amr: [] },
  { acr: EMAIL_ACR, by: ['email', 'otp'], amr: ['email', 'otp'] },
  { acr: EMAIL_ACR, by: ['email', 'recovery_code'], amr: ['email', 'recovery'] },
  { acr: EMAIL_ACR, by: ['email'], amr: ['email'] },
  { acr: null, by: ['host'], amr: [] }
]

/**
 * The levels from weak to strong. Each includes those before it. `connection` neither includes another level nor is
 * included.
 */
const ORDER = [EMAIL_ACR, PASSWORD_ACR, MFA_ACR, PASSKEY_ACR]
/** The values that this server understands, even if this configuration can never reach some of them. */
export const ACR_VALUES: readonly string[] = [...ORDER, CONNECTION_ACR]
const METHODS = new Set<string>(CONTEXTS.flatMap(({ by }) => by))

/** True if a sign-in at the level `acr` satisfies `wanted`. */
export const covers = (acr: string | null, wanted: string): boolean =>
  acr === wanted || (acr !== null && ORDER.includes(wanted) && ORDER.indexOf(acr) > ORDER.indexOf(wanted))

interface Authenticated {
  methods: readonly AuthenticationProof[]
  authenticatedAt: number
}

/**
 * Returns the strongest level of the sign-in or, with `wanted`, the strongest of these values that the sign-in
 * satisfies (`connection` first). Uses the newest proofs that reach that level. `null`: the sign-in satisfies none of
 * `wanted`.
 */
export function contextOf({ methods, authenticatedAt }: Authenticated): AuthenticationContext
export function contextOf(
  { methods, authenticatedAt }: Authenticated,
  wanted: readonly string[]
): AuthenticationContext | null
export function contextOf(
  { methods, authenticatedAt }: Authenticated,
  wanted: readonly string[] = []
): AuthenticationContext | null {
  const shown = CONTEXTS.flatMap(({ acr, by, amr }): AuthenticationContext[] => {
    const proofs = by.flatMap((method) => methods.find((proof) => proof.method === method) ?? [])
    if (proofs.length < by.length) return []
    const said = proofs[0]?.acr
    // The `acr` that the host states describes the first proof only. This `acr` must not lower a level that a second
    // factor reaches.
    const isWorth = said !== undefined && (by.length === 1 || acr === null || covers(said, acr)) ? said : acr
    return [
      {
        acr: isWorth,
        amr: [...new Set([...amr, ...proofs.flatMap((proof) => proof.amr ?? [])])],
        authenticatedAt: Math.min(...proofs.map(({ at }) => at))
      }
    ]
  })
  const acr =
    wanted.length === 0
      ? (shown[0]?.acr ?? null)
      : ACR_VALUES.toReversed().find(
          (value) => wanted.includes(value) && shown.some((context) => covers(context.acr, value))
        )
  if (acr === undefined) return null
  const newest = shown
    .filter((context) => acr === null || covers(context.acr, acr))
    .toSorted((a, b) => b.authenticatedAt - a.authenticatedAt)[0]
  return newest === undefined ? { acr: null, amr: [], authenticatedAt } : { ...newest, acr }
}

/**
 * The time of the oldest proof of the sign-in. A proof by a connection counts from the return to this service, no
 * matter when the provider last asked the person.
 */
export function provedSince({ methods, authenticatedAt }: Authenticated): number {
  return Math.min(
    authenticatedAt,
    ...methods.map(({ method, at, here = method === 'connection' ? authenticatedAt : at }) => here)
  )
}

/**
 * The context of a session, with the time from which all of its proofs count as fresh. This context decides on actions
 * for which a stolen session must not be enough. If a provider can authenticate the person again, a sign-in there is
 * fresh only if the provider was asked for that.
 */
export function freshContextOf(signIn: Authenticated): AuthenticationContext {
  const since = Math.min(provedSince(signIn), ...signIn.methods.flatMap(({ freshFrom }) => freshFrom ?? []))
  return { ...contextOf(signIn), authenticatedAt: since }
}

/** True for a proof that is only a first factor. */
export const isFirstFactor = ({ method }: AuthenticationProof): boolean =>
  ['password', 'connection', 'email', 'host'].includes(method)

/**
 * True if the sign-in meets a required second factor: a second factor was given, or the first proof reaches `mfa` by
 * itself.
 */
export const hasProvedSecond = (signIn: Authenticated): boolean =>
  !signIn.methods.every(isFirstFactor) || contextOf(signIn, [MFA_ACR]) !== null

/** True if the session is below `mfa`, and a second factor would raise it to `mfa`. */
export const lacksSecondFactor = (session: Authenticated, now: number): boolean =>
  contextOf(session, [MFA_ACR]) === null && contextOf(withCode(session, now), [MFA_ACR]) !== null

/** Returns the session as it would be with an additional code of an authenticator app at `at`. */
export const withCode = (session: Authenticated, at: number): Authenticated => ({
  ...session,
  methods: [...session.methods, { method: 'otp', at }]
})

/** The age below which a proof counts as just given, so that the user need not see the sign-in page again. */
const JUST_NOW_MS = 60_000

export const wasProvedJustNow = ({ methods }: Pick<Authenticated, 'methods'>, now: number): boolean =>
  methods.some(({ at }) => now - at < JUST_NOW_MS)

export const passwordProof = (at: number): AuthenticationProof => ({ method: 'password', at })

/**
 * The property by which `fastify-authority/testing` sets the proofs of a sign-in. It is a symbol that only that module
 * uses, so that a host can't claim proofs by accident.
 */
export const TEST_PROOFS: unique symbol = Symbol('proofs')

/**
 * Returns proofs at the time `at` that give this `acr`: those of its first entry in `CONTEXTS`.
 * @throws RangeError for an unknown value
 */
export function proofsFor(acr: string, at: number): AuthenticationProof[] {
  const found = CONTEXTS.find((context) => context.acr === acr)
  if (found === undefined)
    throw new RangeError(
      `acr must be one of ${[...new Set(CONTEXTS.flatMap(({ acr: known }) => known ?? []))].join(', ')}.`
    )
  return found.by.map((method) => ({ method, at }))
}

const AMR_VALUE = /^[\x21-\x7e]{1,64}$/
const MAX_AMR_VALUES = 10

/**
 * Reads the methods that the host's own code verified, in the words of RFC 8176. `pwd` counts as a password that was
 * checked here. `mfa` (two factors of different kinds) is trusted without a check. No other word raises the level.
 * @throws TypeError for no array, more than ten values, or a value that is not visible ASCII of at most 64 characters
 */
export function hostProof(amr: readonly string[], at: number): AuthenticationProof {
  if (!areWords(amr) || amr.length > MAX_AMR_VALUES || !amr.every((value) => AMR_VALUE.test(value)))
    throw new TypeError(`amr must be an array of at most ${MAX_AMR_VALUES} strings, such as 'pwd'.`)
  return {
    method: amr.includes('pwd') ? 'password' : 'host',
    at,
    ...(amr.length === 0 ? {} : { amr: [...amr] }),
    ...(amr.includes('mfa') ? { acr: MFA_ACR } : {})
  }
}

/**
 * Reads the proofs in the ticket of a second step. Leaves out an unreadable proof, such as a method of a newer release:
 * with fewer proofs the user has to prove more.
 */
export const readProofs = (value: unknown): AuthenticationProof[] =>
  Array.isArray(value) ? value.filter((proof) => isProof(proof)) : []

function isProof(value: unknown): value is AuthenticationProof {
  const { method, at, here, freshFrom, amr, acr, exempt } = Object(value) as Record<string, unknown>
  return (
    typeof method === 'string' &&
    METHODS.has(method) &&
    Number.isSafeInteger(at) &&
    [here, freshFrom].every((time) => time === undefined || Number.isSafeInteger(time)) &&
    (amr === undefined || areWords(amr)) &&
    (exempt === undefined || exempt === true) &&
    (acr === undefined ||
      (typeof acr === 'string' &&
        (method === 'connection' || (acr === MFA_ACR && (method === 'host' || method === 'password')))))
  )
}

function areWords(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((word) => typeof word === 'string')
}
