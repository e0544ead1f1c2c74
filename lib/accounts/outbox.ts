import { boundedQueue } from '../delivery/bounded-queue.ts'
import type { Events, Origin } from '../events.ts'
import { MAX_USER_AGENT } from '../protocol/bounds.ts'
import { canonicalAddress } from '../limits/attempt.ts'
import type { Clock } from '../ports/clock.ts'
import type { Advise } from '../ports/log.ts'
import type { Message, MessageKind, MessageUser, NewSignInMessage, SendMessage } from '../ports/message.ts'
import type { User } from '../ports/user-store.ts'
import { RETRY_DELAYS_MS } from './background.ts'
import { emailOf } from './username.ts'

/** The cause of a message. */
export interface MessageCause {
  /** The language that the request asked for, if it is supported. */
  locale: string | undefined
  /** The request that caused the message: for the event about its delivery, and for the reader of the message. */
  origin: Origin
  /**
   * A secret of the browser that asked for the message. The token of the message, if any, is bound to this secret. No
   * message and no event contains the secret.
   */
  asker?: string | undefined
}

/** A message with its cause. The outbox adds the omitted fields. */
export type Post = MessageCause & OmitEach<Message, 'locale' | 'hasPassword' | 'canReset' | keyof Facts>

/** The time and the origin of a message, so that its reader can tell whether they caused it themselves. */
type Facts = Pick<NewSignInMessage, 'at' | 'ip' | 'userAgent'>

/** `Omit` of each member of a union. */
type OmitEach<Union, Key extends PropertyKey> = Union extends unknown ? Omit<Union, Key> : never

export interface Outbox {
  /** Takes the message and returns at once; never throws. */
  post(message: Post): void
  /**
   * Accepts no more messages, and tries once more to send the waiting ones. Resolves when that is done, at most after 5
   * seconds.
   */
  close(): Promise<void>
}

export interface OutboxDeps {
  clock: Clock
  events: Pick<Events, 'emit'>
  /** Logs the first failure of a message that is tried again. */
  advise: Advise
  /**
   * Called for each message that is given up. Of the messages that a full queue drops in one overload, called for the
   * first, and at the end with the number of all. Its arguments contain neither token nor link.
   */
  onError(error: unknown, what: string): void
  /** The language of the user's claim `locale`; `undefined` if there is none or it is not supported. */
  localeOf(user: MessageUser): string | undefined
  /** True if users can reset their password by mail. */
  canReset: boolean
  /** The page where people check their account; `null`: none. */
  accountUrl: string | null
  /** The maximum number of messages that wait, are in flight or wait for a retry, all together. Default: 1000. */
  capacity?: number
}

/**
 * These messages are in the language of the request, because the person who reads them has usually asked for them. All
 * others are in the user's own language if it is known, because they report what another person may have done.
 */
const IN_LANGUAGE_OF_REQUEST: readonly MessageKind[] = [
  'password_reset',
  'verify_email',
  'already_registered',
  'email_change',
  'sign_in_code'
]

const languageOf = ({ kind, locale }: Pick<Post, 'kind' | 'locale'>, own: string | undefined): string =>
  (IN_LANGUAGE_OF_REQUEST.includes(kind) ? (locale ?? own) : (own ?? locale)) ?? 'en'

/**
 * The facts of the request for the reader of the message. Leaves out the IP address and browser in two cases. A change
 * by the host comes from a server. A change of address is refused by the reader of the new mailbox, not by the user.
 */
function factsOf(message: Omit<Post, 'origin'>, { ip, userAgent }: Origin, at: Date): Facts {
  const isOther = message.kind === 'email_change_refused' || ('by' in message && message.by === 'host')
  return {
    at,
    ip: isOther ? null : canonicalAddress(ip),
    userAgent: isOther ? null : (userAgent?.slice(0, MAX_USER_AGENT) ?? null)
  }
}

const MAX_IN_FLIGHT = 8
const SEND_TIMEOUT_MS = 120_000

/**
 * Returns the user with the address for messages as `email`: the stored email, else the stored username if it is an
 * address. Returns a user without an address unchanged, because `sendMessage` may know another way to reach them.
 * Takes no spelling from a request: two spellings that a store treats as equal may be two mailboxes.
 */
export function addressed(user: User): User {
  const email = user.email ?? emailOf(user.username)
  return email === null || email === '' ? user : { ...user, email }
}

/** The `email` of `addressed`; `''` if the user has no address. */
export function addressOf(user: User): string {
  return addressed(user).email ?? ''
}

function withoutHash({ passwordHash: _hash, ...user }: MessageUser): MessageUser {
  return user
}

/**
 * Copies a mailer's error without the link, the token and the code of the message, because the error may quote the
 * mail. The copy has only the message and the stack of the error.
 */
function scrubbed(error: unknown, message: Message): Error {
  const { token, url } = message
  const code = 'code' in message ? message.code : undefined
  const codes = code === undefined ? [] : [code, code.replace(' ', '')]
  const scrub = (text: string): string =>
    [url, token, ...codes].reduce<string>(
      (rest, secret) => (secret === undefined || secret === '' ? rest : rest.replaceAll(secret, '[removed]')),
      text
    )
  const copy = new Error(scrub(error instanceof Error ? error.message : 'sendMessage failed without an Error.'))
  if (error instanceof Error && error.stack !== undefined) copy.stack = scrub(error.stack)
  return copy
}

/**
 * Sends messages in the background. A hook that throws, rejects, hangs or is slow changes neither a reply nor its time.
 * Tries a failed message again after 1, 10 and 60 seconds, unless it timed out, then reports it. At most 8 messages are
 * in flight. Messages are kept in memory: if the process dies, unsent messages are lost, and the user has to ask again.
 */
export function createOutbox(
  sendMessage: SendMessage,
  { clock, events, advise, onError, localeOf, canReset, accountUrl, capacity = 1000 }: OutboxDeps
): Outbox {
  const { add, close } = boundedQueue<{ message: Message; origin: Origin }>({
    tasks: 'messages',
    capacity,
    maxInFlight: MAX_IN_FLIGHT,
    retryDelaysMs: RETRY_DELAYS_MS,
    // Without a timeout, eight calls that hang would stop all messages. A message that timed out is not tried again: it
    // may have been sent, and a second copy of the link would confuse its reader.
    timeoutMs: SEND_TIMEOUT_MS,
    clock,
    attempt: ({ message }) => sendMessage({ ...message, user: { ...message.user } }),
    onDone({ message: { kind, user }, origin }, attempts) {
      events.emit('message_sent', { kind, userId: user.id, attempts }, origin)
    },
    onRetry({ message }, error, attempts, delayMs) {
      if (attempts > 1) return
      advise({
        code: 'FST_AUTHORITY_MESSAGE_RETRIED',
        cause: message.kind,
        text: `sendMessage failed for a message ${message.kind}; it is tried again in ${delayMs / 1000} s.`,
        bindings: { err: scrubbed(error, message) }
      })
    },
    onGivenUp({ message, origin }, error, attempts) {
      events.emit('message_failed', { kind: message.kind, userId: message.user.id, attempts }, origin)
      onError(
        scrubbed(error, message),
        `a message ${message.kind} to the user ${message.user.id} was ` +
          (attempts === 0 ? 'dropped' : `given up after attempt ${attempts}`)
      )
    },
    onError
  })
  return {
    post({ origin, asker: _asker, ...message }) {
      const user = withoutHash(message.user)
      add({
        message: {
          ...message,
          ...factsOf(message, origin, new Date(clock.now())),
          ...(accountUrl === null ? {} : { accountUrl }),
          user,
          locale: languageOf(message, localeOf(user)),
          hasPassword: typeof message.user['passwordHash'] === 'string',
          canReset
        },
        origin
      })
    },
    close
  }
}
