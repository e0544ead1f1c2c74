import type { AssertionStore } from './assertion-store.ts'
import type { ConsentStore } from './consent-store.ts'
import type { KeyStore } from './key-store.ts'
import type { OneTimeTokenStore } from './one-time-token-store.ts'
import type { SessionStore } from './session-store.ts'
import type { TokenStore } from './token-store.ts'

/**
 * The value of the option `state`: the stores of one engine. Their calls reject if they could not do the work. If the
 * server was out of reach, the error has `isOutage: true`, and the grace time of replaced tokens stands still
 * meanwhile.
 */
export interface State {
  /** The state's name in messages: `memory`, `sqlite`, … Nothing depends on it. */
  kind: string
  /** True if several processes share the contents. */
  shared: boolean
  tokens: TokenStore
  oneTimeTokens: OneTimeTokenStore
  browserSessions: SessionStore
  consents: ConsentStore
  keys: KeyStore
  /** Needed only where there are connections; a state without it is refused then. */
  assertions?: AssertionStore
  /**
   * Makes what has to be there (tables, a connection) and looks whether it can be worked with. Called once at start,
   * before any other. Rejects with a `StartError` where only a person can mend it; an outage rejects with anything
   * else.
   */
  prepare?(): Promise<void>
  /**
   * Whose state this is: that of the issuer that is named first, for good. Takes a digest of the issuer and resolves to
   * the digest of the owner. Atomic: of any number of issuers that name themselves at once, one owns it. Called before
   * any other, but `prepare`.
   */
  claimFor?(issuer: string): Promise<string>
  /** Writes something that nobody reads. Rejects where no write can be done now, though reads may be answered. */
  tryWrite(): Promise<void>
  /**
   * The clock of the server that holds the state, milliseconds since the epoch: one for all instances. Absent where
   * that is this machine's.
   */
  time?(): Promise<number>
  /** Removes what has expired, in small slices. Called about once a minute. */
  sweep(now: number): void | Promise<void>
}
