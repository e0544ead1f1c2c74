import type { Events } from '../events.ts'
import type { MessageBound } from '../limits/attempt.ts'
import type { Clock } from '../ports/clock.ts'
import type { Advise } from '../ports/log.ts'
import type { ConsentStore, MessageTokenPurpose, OneTimeTokenStore } from '../ports/state.ts'
import type { Random } from '../ports/cryptography.ts'
import type { ConnectionWay } from '../ports/upstream.ts'
import type { LinkedIdentity, UserStore } from '../ports/user-store.ts'
import type { Sessions } from '../sessions/sessions.ts'
import type { Background } from './background.ts'
import type { Outbox } from './outbox.ts'
import type { PasswordHashing } from './password-hashing.ts'
import type { PasswordPolicy } from './password-policy.ts'
import type { AccountSlots } from './slots.ts'

/** Short codes in messages. */
export interface MessageCodes {
  /** The HMAC key for the digests of codes, and for the digests that name their owners in the store. */
  key: Uint8Array
  redeem: NonNullable<OneTimeTokenStore['redeemCode']>
}

export interface AccountsDeps {
  issuer: string
  /**
   * Names this registration of the plugin by issuer and prefix. A value that is sealed with this name does not open at
   * another registration.
   */
  service: string
  users: UserStore
  hashing: PasswordHashing
  policy: PasswordPolicy
  oneTimeTokens: OneTimeTokenStore
  /** `null`: the state can't count wrong codes, so messages have links only. */
  codes: MessageCodes | null
  consents: ConsentStore
  /** The account slots of the features that are on. */
  slots: readonly AccountSlots[]
  sessions: Sessions
  background: Background
  /** `null`: the host has no `sendMessage`. */
  outbox: Outbox | null
  /** Limits the number of messages that strangers can make this service send to one person. */
  messageBound: MessageBound
  /** `email`: a new username is an email address, and is stored as the account's email too. */
  usernames: 'email' | 'any'
  /** True if a user must confirm their email before they sign in, except through a connection or by an emailed code. */
  verifyEmail: boolean
  /** The connections by id. A link whose connection is missing here opens nothing. */
  connections: ReadonlyMap<string, ConnectionWay>
  /** Makes the link for a message. Its origin is that of the issuer, never of a request. */
  messageUrl(kind: MessageTokenPurpose | 'sign_in_code', token: string): string
  /** Makes the link that takes a change back. `null`: there are no hosted pages. */
  undoUrl: ((token: string) => string) | null
  /**
   * The page where users see their sign-ins and change how they sign in. `null`: the account pages or all hosted pages
   * are off.
   */
  accountUrl: string | null
  clock: Clock
  random: Random
  events: Events
  /** Revokes the stored permission of a link at its provider, if the connection still exists. */
  withdraw(link: LinkedIdentity): Promise<void>
  /** Logs a mistake for the developer, each cause at most once a minute. Never throws. */
  advise: Advise
  /** Called for failures that no reply can report. Never throws. */
  onError(error: unknown, what: string): void
}
