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
  /** Removes what has expired, in small slices. Called about once a minute. */
  sweep(now: number): void | Promise<void>
}
