import type { Events } from '../events.ts'
import type { Clock } from '../ports/clock.ts'
import type { OneTimeTokenPurpose, OneTimeTokenStore } from '../ports/one-time-token-store.ts'
import type { Random } from '../ports/random.ts'
import type { UserStore } from '../ports/user-store.ts'
import type { Sessions } from '../tokens/sessions.ts'
import type { Outbox } from './messages.ts'
import type { PasswordHashing } from './password-hashing.ts'
import type { PasswordPolicy } from './password-policy.ts'

/** What the account use cases need. */
export interface AccountsDeps {
  issuer: string
  users: UserStore
  hashing: PasswordHashing
  policy: PasswordPolicy
  oneTimeTokens: OneTimeTokenStore
  sessions: Sessions
  /** `null`: the host has no `sendMessage`. */
  outbox: Outbox | null
  /** Whether an account must confirm its e-mail before it can sign in. */
  verifyEmail: boolean
  /** The link that a message bears. Made from the issuer, never from a request. */
  messageUrl(kind: OneTimeTokenPurpose, token: string): string
  clock: Clock
  random: Random
  events: Events
  /** Hears of what fails where no reply can say so. Never throws. */
  onError(error: unknown, what: string): void
}
