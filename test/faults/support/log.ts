/**
 * The clients' observations in a scenario, the only evidence that the checker uses. All times are milliseconds on the
 * clock of the process that drives the load. Credentials appear as digests, so that equal ones have equal names.
 */
import { hash } from 'node:crypto'

export const OPERATIONS = [
  'register',
  'sign-in',
  'authorize',
  'redeem',
  'rotate',
  'refresh',
  'userinfo',
  'introspect',
  'sessions',
  'revoke',
  'end-session',
  'sign-out',
  'reset-request',
  'reset-confirm',
  'change-password',
  'me',
  'ping'
] as const
export type Operation = (typeof OPERATIONS)[number]

export type Outcome =
  /** `error` is the OAuth error code. `active` is the result of an introspection. */
  | { kind: 'answer'; status: number; error?: string; retryAfter?: string; active?: boolean }
  /** The connection was refused or cut: whether the request was carried out is not known. */
  | { kind: 'network'; code: string }
  /** The client gave up waiting. */
  | { kind: 'timeout' }
  /** The client hung up by itself. */
  | { kind: 'abandoned' }

/** One request. Except for `outcome` and `gave`, a field has the client's knowledge at the time of sending. */
export interface Entry {
  operation: Operation
  start: number
  end: number
  /** The incarnation of the process that answered, such as `2#1`; unknown where nothing answered. */
  instance?: string
  /** The user of the account that the request concerns. */
  user?: string
  /** Digests of the presented (or registered) password, and of its replacement. */
  password?: string
  newPassword?: string
  /** The family that the presented credential belongs to, and of `end-session`, the family to be ended. */
  family?: string
  /** Digest of the refresh token that was presented. */
  token?: string
  /** Digest of the code that was presented. */
  code?: string
  /** Digest of the one-time token that was presented. */
  mail?: string
  /** The expiry of the presented credential, as far as the client knows it. */
  expiresAt?: number
  /** The credentials in the answer. */
  gave?: { family?: string; token?: string; code?: string }
  /** The limits that count the request if it passes. */
  attempts?: ReadonlyArray<{ rule: string; key: string }>
  outcome: Outcome
  /** The time at which the service finished a request that the client had given up. */
  doneBy?: number
  /** True if the service had done the work. */
  wasDone?: boolean
}

export interface Log {
  readonly entries: readonly Entry[]
  now(): number
  add(entry: Entry): void
}

export function createLog(): Log {
  const entries: Entry[] = []
  return {
    entries,
    now: () => performance.now(),
    add(entry) {
      entries.push(entry)
    }
  }
}

/** The name of a credential in a log. */
export const named = (credential: string): string => hash('sha256', credential, 'base64url').slice(0, 16)

/** Operations of the token endpoint and of the account, each with the meaning of success. */
export function saidYes({ outcome }: Entry): boolean {
  if (outcome.kind !== 'answer' || outcome.active === false) return false
  return outcome.status >= 200 && outcome.status < 400
}

/** True without an answer, or with one that says that the service could not tell. */
export function wasLost({ outcome }: Entry): boolean {
  return outcome.kind !== 'answer' || outcome.status >= 500
}

/** True if the service may have done the work: an answer of 4xx says that it has not. */
export function mayHaveRun(entry: Entry): boolean {
  return saidYes(entry) || wasLost(entry)
}

/** Refused by a rule of the limits that comes before the work, so nothing was looked at. */
export function wasLimited(entry: Entry): boolean {
  return entry.outcome.kind === 'answer' && entry.outcome.status === 429 && !bringsToken(entry)
}

/** The credential was checked and refused. Tokens count after they have failed, and beyond the limit that is 429. */
export function wasRefused(entry: Entry): boolean {
  const { outcome } = entry
  return (
    outcome.kind === 'answer' &&
    (outcome.status === 400 ||
      outcome.status === 401 ||
      outcome.active === false ||
      (outcome.status === 429 && bringsToken(entry)))
  )
}

const bringsToken = ({ token, code, mail }: Entry): boolean =>
  token !== undefined || code !== undefined || mail !== undefined

/** True if a process of that name answered, in any of its incarnations. */
export function isOf(name: string, { instance }: Entry): boolean {
  return instance?.split('#')[0] === name
}

/** Entries by one of their fields, in order of their start. */
export function groupedBy(entries: readonly Entry[], key: (entry: Entry) => string | undefined): Map<string, Entry[]> {
  const groups = new Map<string, Entry[]>()
  for (const entry of entries) {
    const name = key(entry)
    if (name === undefined) continue
    const group = groups.get(name)
    if (group === undefined) groups.set(name, [entry])
    else group.push(entry)
  }
  for (const group of groups.values()) group.sort((a, b) => a.start - b.start)
  return groups
}
