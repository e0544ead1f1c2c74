/**
 * How a person proved who they are: what a sign-in is called in tokens (`acr`, `amr`, `auth_time`), and the text that
 * stores keep of it.
 */

/** The names are kept in stores: one that a release had keeps its meaning. `host`: the host's own code vouches. */
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
  /** When the person did so, in milliseconds since the epoch. */
  at: number
  /**
   * When a sign-in by a `connection` came here, where that is known: its provider may have asked the person long
   * before.
   */
  here?: number
  /**
   * Since when a sign-in by a `connection` counts as fresh, where that is not `here`: its provider can be asked to
   * authenticate the person again, and was not.
   */
  freshFrom?: number
  /** What whoever vouches calls it. @see RFC 8176 §2 */
  amr?: string[]
  /** What the host says that the sign-in is worth: of a `connection`, or of a sign-in by the host's own code. */
  acr?: string
  /** The host requires a second factor, and not of this sign-in: it vouches for it, or the browser is remembered. */
  exempt?: true
}

/** What a sign-in was worth, as tokens say it. A refresh token family keeps it for life. */
export interface AuthenticationContext {
  /** `null`: nobody said how. */
  acr: string | null
  /** Empty where nobody said how. */
  amr: string[]
  /**
   * When the oldest of the proofs was given that `acr` rests on, in milliseconds since the epoch: a new weak proof
   * makes an old strong one no younger.
   */
  authenticatedAt: number
}

/** What a sign-in with a password is called. @see OpenID Connect Core 1.0 §2 */
export const PASSWORD_ACR = 'password'
/** What a sign-in at another provider is called, which says nothing of how the person was authenticated there. */
export const CONNECTION_ACR = 'connection'
/**
 * What a sign-in by a code in a mailbox is called, with a second factor or without: a mailbox is no factor that counts
 * towards two. @see NIST SP 800-63B-4 §3.1.3.1
 */
export const EMAIL_ACR = 'email'
/** What a sign-in with a second factor is called. */
export const MFA_ACR = 'mfa'
/**
 * What a sign-in is called that no page of another site could have been given: by a passkey, or a password and a
 * security key. @see OpenID EAP ACR Values 1.0 §2
 */
export const PASSKEY_ACR = 'phr'
const PASSWORD_AMR: readonly string[] = ['pwd']

/**
 * The proofs that give a context, the strongest first. `mfa` in `amr`: two factors of different kinds; a passkey that
 * verifies its user is both by itself.
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
  { acr: PASSWORD_ACR, by: ['password'], amr: PASSWORD_AMR },
  { acr: CONNECTION_ACR, by: ['connection'], amr: [] },
  { acr: EMAIL_ACR, by: ['email', 'otp'], amr: ['email', 'otp'] },
  { acr: EMAIL_ACR, by: ['email', 'recovery_code'], amr: ['email', 'recovery'] },
  { acr: EMAIL_ACR, by: ['email'], amr: ['email'] },
  { acr: null, by: ['host'], amr: [] }
]

/**
 * From weak to strong: who can show one has shown those before it. `connection` says nothing of the others, nor they of
 * it.
 */
const ORDER = [EMAIL_ACR, PASSWORD_ACR, MFA_ACR, PASSKEY_ACR]
/** The values that this server has a meaning for, though this configuration may never give some of them. */
export const ACR_VALUES: readonly string[] = [...ORDER, CONNECTION_ACR]
const METHODS = new Set<string>(CONTEXTS.flatMap(({ by }) => by))

/** Whether who can show `acr` has shown `wanted`. */
export const covers = (acr: string | null, wanted: string): boolean =>
  acr === wanted || (acr !== null && ORDER.includes(wanted) && ORDER.indexOf(acr) > ORDER.indexOf(wanted))

interface Authenticated {
  methods: readonly AuthenticationProof[]
  authenticatedAt: number
}

/**
 * What this sign-in is worth: its own strongest context; where `wanted` has some, the strongest of these that it can
 * show, with the newest proofs that do. `null`: it can show none of them.
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
    // What the host says of a sign-in is of that alone: with a second factor here it is not less than that makes it.
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
 * Since when all of a session has been proved here. What was said of a connection counts from when the sign-in came
 * here, whatever its provider says of when it last asked.
 */
export function provedSince({ methods, authenticatedAt }: Authenticated): number {
  return Math.min(
    authenticatedAt,
    ...methods.map(({ method, at, here = method === 'connection' ? authenticatedAt : at }) => here)
  )
}

/**
 * The context of a session with the time since when all of it counts as fresh, for acts that a stolen session must not
 * be enough for. A round trip to a provider that can be asked to authenticate the person again counts only where it was
 * asked.
 */
export function freshContextOf(signIn: Authenticated): AuthenticationContext {
  const since = Math.min(provedSince(signIn), ...signIn.methods.flatMap(({ freshFrom }) => freshFrom ?? []))
  return { ...contextOf(signIn), authenticatedAt: since }
}

/** Whether what was proved is enough where a second factor must be: one was given, or it is worth as much by itself. */
export function hasProvedSecond(signIn: Authenticated): boolean {
  return (
    signIn.methods.some(
      ({ method }) => method !== 'password' && method !== 'connection' && method !== 'email' && method !== 'host'
    ) || contextOf(signIn, [MFA_ACR]) !== null
  )
}

/** Whether a second factor is what makes it worth `mfa`. */
export const lacksSecondFactor = (session: Authenticated, now: number): boolean =>
  contextOf(session, [MFA_ACR]) === null && contextOf(withCode(session, now), [MFA_ACR]) !== null

/** The sign-in as it would be with a second factor. */
export const withCode = (session: Authenticated, at: number): Authenticated => ({
  ...session,
  methods: [...session.methods, { method: 'otp', at }]
})

/** Who has given a proof so short a time ago comes from the sign-in page, and would come back with the same. */
const JUST_NOW_MS = 60_000

export const wasProvedJustNow = ({ methods }: Pick<Authenticated, 'methods'>, now: number): boolean =>
  methods.some(({ at }) => now - at < JUST_NOW_MS)

export const passwordProof = (at: number): AuthenticationProof => ({ method: 'password', at })

/**
 * The name under which the testing entry says which proofs a sign-in is to have. The entry alone has it, so no host
 * claims what nobody saw.
 */
export const TEST_PROOFS: unique symbol = Symbol('proofs')

/** What has to be proved for this `acr`, at this time. @throws RangeError where there is no such value */
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
 * What the host's own code saw, in the words of RFC 8176. A password is one like ours. `mfa` is taken at the host's
 * word: it has seen two factors of different kinds. Nothing that it says beside these is taken for more.
 * @throws TypeError
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
 * The text that stores keep of the proofs of a browser session. It names the sign-in that they are of: a release that
 * does not know of them renews a session without them.
 */
export function formatProofs({ methods, authenticatedAt }: Authenticated): string {
  return JSON.stringify([authenticatedAt, methods])
}

/**
 * Reads what `formatProofs` made. Where there is none, or the sign-in is another one by now, the session was begun or
 * renewed by a release that knew nothing but passwords. What can't be read, such as a method that only a newer release
 * knows, is left out: a session that has proved less is asked for more, and can still be ended.
 */
export function readProofs(text: unknown, authenticatedAt: number): AuthenticationProof[] {
  if (text === null || text === undefined) return [passwordProof(authenticatedAt)]
  const [of, methods] = parsed(text)
  if (Number.isSafeInteger(of) && of !== authenticatedAt) return [passwordProof(authenticatedAt)]
  return (Array.isArray(methods) ? (methods as unknown[]) : []).flatMap((proof) =>
    of === authenticatedAt && isProof(proof) ? [proof] : []
  )
}

function parsed(text: unknown): unknown[] {
  try {
    const value: unknown = JSON.parse(String(text))
    return Array.isArray(value) ? value : []
  } catch {
    return []
  }
}

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
