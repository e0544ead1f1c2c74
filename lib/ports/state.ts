import type { AttemptStore } from './attempt-store.ts'
import type { ConsentStore } from './consent-store.ts'
import type { KeyStore } from './key-store.ts'
import type { OneTimeTokenStore } from './one-time-token-store.ts'
import type { SessionStore } from './session-store.ts'
import type { TokenStore } from './token-store.ts'

/** What the option `state` takes: the stores of one engine. */
export interface State {
  /** For messages and the start-up check: `memory`, `sqlite`, … */
  kind: string
  /** Whether several processes see one truth. */
  shared: boolean
  tokens: TokenStore
  oneTimeTokens: OneTimeTokenStore
  browserSessions: SessionStore
  consents: ConsentStore
  keys: KeyStore
  /**
   * Makes what has to be there (tables, a connection) and looks whether it can be worked with. Called once at start, before any
   * other. Rejects with a `StartError` where only a person can mend it; an outage rejects with anything else.
   */
  prepare?(): Promise<void>
  /** The clock of the server that holds the state, milliseconds since the epoch: one for all instances. Absent where that is this machine's. */
  time?(): Promise<number>
  /** Whether `tokens` counts attempts of this store in the same step as what is attempted (see `OpenAttempt`). May change. */
  countsFor?(attempts: AttemptStore): boolean
  /** Whether every call of its stores settles within two seconds by itself, so that nobody has to watch it. */
  readonly punctual?: boolean
  /** Removes what has expired, in small slices. Called about once a minute. */
  sweep(now: number): void | Promise<void>
}
