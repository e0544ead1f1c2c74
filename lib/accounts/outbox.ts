import { boundedQueue } from '../delivery/bounded-queue.ts'
import type { Clock } from '../ports/clock.ts'
import type { User } from '../ports/user-store.ts'
import { emailOf } from './username.ts'

export type MessageKind = 'password_reset' | 'verify_email' | 'password_changed' | 'already_registered' | 'new_sign_in'

/** The user as a message shows it: without the password hash. */
export interface MessageUser {
  id: string
  username: string
  email?: string
  emailVerified?: boolean
  disabled?: boolean
  [claim: string]: unknown
}

/** What `sendMessage` gets. A message with a `token` has `url` (which bears the token) and `expiresAt` too. */
export interface Message {
  kind: MessageKind
  /** To be sent to `user.email`, and nowhere else: it is the stored address, never one that a request named. */
  user: MessageUser
  url?: string
  token?: string
  expiresAt?: Date
}

export type SendMessage = (message: Message) => void | Promise<void>

export interface Outbox {
  /** Takes the message and returns at once; never throws. */
  post(message: Message): void
  /** Takes no more, tries once to send what it has, and resolves when that is done or after 5 seconds. */
  close(): Promise<void>
}

export interface OutboxDeps {
  clock: Clock
  /** Hears of each message that is given up. What it gets holds neither token nor link. */
  onError(error: unknown, what: string): void
  /** How many messages may wait, be sent or wait to be sent again, all together. */
  capacity?: number
}

const MAX_IN_FLIGHT = 8
const RETRY_DELAYS_MS = [1_000, 10_000, 60_000] as const
const SEND_TIMEOUT_MS = 120_000

/**
 * The user with the address that messages go to: the stored e-mail, else the stored username where it is one. A user without
 * any is told to `sendMessage` all the same: the host may know another way to reach them. What somebody typed into a form is
 * never an address: two spellings that a look-up takes for one may be two mailboxes.
 */
export function addressed (user: User): User {
  const email = user.email ?? emailOf(user.username)
  return email === null || email === '' ? user : { ...user, email }
}

/** The address of `addressed`; `''` where there is none. */
export function addressOf (user: User): string {
  return addressed(user).email ?? ''
}

function withoutHash (message: Message): Message {
  const { passwordHash: _hash, ...user } = message.user
  return { ...message, user }
}

/** A mailer's error may quote the mail. The copy has neither its link nor its token, nor anything else to look into. */
function scrubbed (error: unknown, { token, url }: Message): Error {
  const scrub = (text: string): string => [url, token].reduce<string>((rest, secret) => secret === undefined || secret === '' ? rest : rest.replaceAll(secret, '[removed]'), text)
  const copy = new Error(scrub(error instanceof Error ? error.message : 'sendMessage failed without an Error.'))
  if (error instanceof Error && error.stack !== undefined) copy.stack = scrub(error.stack)
  return copy
}

/**
 * Sends messages off the path of every reply: a hook that throws, rejects, hangs or is slow changes no answer and no answer's
 * time. A failed message is tried again after 1, 10 and 60 seconds, then reported. At most 8 are in flight. In memory: what a
 * process had not sent when it died is lost, and the person asks again.
 */
export function createOutbox (sendMessage: SendMessage, { clock, onError, capacity = 1000 }: OutboxDeps): Outbox {
  const { add, close } = boundedQueue<Message>({
    tasks: 'messages',
    capacity,
    maxInFlight: MAX_IN_FLIGHT,
    retryDelaysMs: RETRY_DELAYS_MS,
    // Eight hooks that hang would otherwise be the end of all messages. Not tried again after that: the message may have gone out, and the
    // same link twice confuses more than it helps.
    timeoutMs: SEND_TIMEOUT_MS,
    clock,
    attempt: (message) => sendMessage({ ...message, user: { ...message.user } }),
    onGivenUp (message, error, attempts) {
      onError(scrubbed(error, message), `a message ${message.kind} to the user ${message.user.id} was ${attempts === 0 ? 'dropped' : `given up after attempt ${attempts}`}`)
    },
    onError
  })
  return { post: (message) => { add(withoutHash(message)) }, close }
}
