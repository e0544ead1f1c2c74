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
  /** Takes no more, sends what it has, and resolves when that is done or after 5 seconds. Drops what waits to be sent again. */
  close(): Promise<void>
}

export interface OutboxDeps {
  clock: Clock
  /** Hears of each message that is given up. What it gets holds neither token nor link. */
  onError(error: unknown, what: string): void
  /** How many messages may wait, be sent or wait to be sent again, all together. */
  capacity?: number
}

interface Posted {
  message: Message
  attempts: number
}

const MAX_IN_FLIGHT = 8
const RETRY_DELAYS_MS = [1_000, 10_000, 60_000] as const
/** Eight hooks that hang would else be the end of all messages. */
const SEND_TIMEOUT_MS = 120_000
const CLOSE_TIMEOUT_MS = 5_000

/**
 * The user with the address that messages go to: the stored e-mail, else the stored username where it is one. A user without
 * any is told to `sendMessage` all the same: the host may know another way to reach them. What somebody typed into a form is
 * never an address: two spellings that a look-up takes for one may be two mailboxes.
 */
export function addressed (user: User): User {
  const email = user.email ?? emailOf(user.username)
  return email === null || email === '' ? user : { ...user, email }
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
  const queue: Posted[] = []
  /** Those that wait to be sent again, each with the undo of its timer. */
  const retries = new Map<Posted, () => void>()
  let inFlight = 0
  let closing = false
  let full = false
  let onDrained = (): void => {}

  const report = (error: unknown, { message }: Posted, why: string): void => {
    onError(scrubbed(error, message), `a message ${message.kind} to the user ${message.user.id} ${why}`)
  }

  function failed (posted: Posted, error: unknown): void {
    const delay = RETRY_DELAYS_MS[posted.attempts - 1]
    if (delay === undefined || closing) {
      report(error, posted, `was not sent after ${posted.attempts} attempts`)
      return
    }
    retries.set(posted, clock.after(delay, () => {
      retries.delete(posted)
      queue.push(posted)
      pump()
    }))
  }

  function send (posted: Posted): void {
    posted.attempts++
    inFlight++
    let settled = false
    const settle = (act: () => void): void => {
      if (settled) return
      settled = true
      cancelTimeout()
      inFlight--
      act()
      pump()
    }
    const cancelTimeout = clock.after(SEND_TIMEOUT_MS, () => {
      // Not tried again: it may have gone out, and the same link twice confuses more than it helps.
      settle(() => { report(new Error(`sendMessage took more than ${SEND_TIMEOUT_MS / 1000} seconds.`), posted, 'was given up') })
    })
    // Called inside the promise: a hook that throws at once is as one that rejects, and none runs in the poster's turn.
    Promise.resolve().then(() => sendMessage({ ...posted.message, user: { ...posted.message.user } })).then(
      () => { settle(() => {}) },
      (error: unknown) => { settle(() => { failed(posted, error) }) }
    )
  }

  function pump (): void {
    while (inFlight < MAX_IN_FLIGHT) {
      const next = queue.shift()
      if (next === undefined) break
      send(next)
    }
    if (queue.length + retries.size + inFlight < capacity) full = false
    if (inFlight === 0 && queue.length === 0) onDrained()
  }

  return {
    post (message) {
      const posted = { message: withoutHash(message), attempts: 0 }
      if (closing || queue.length + retries.size + inFlight >= capacity) {
        // Once an overload, not once a message.
        if (!full) report(new Error(closing ? 'The outbox is closed.' : `The outbox holds ${capacity} messages.`), posted, 'was dropped')
        full = true
        return
      }
      queue.push(posted)
      pump()
    },

    async close () {
      closing = true
      for (const [posted, cancel] of retries) {
        cancel()
        report(new Error('The server stopped.'), posted, `was not sent after ${posted.attempts} attempts`)
      }
      retries.clear()
      if (inFlight === 0 && queue.length === 0) return
      await new Promise<void>((resolve) => {
        const cancel = clock.after(CLOSE_TIMEOUT_MS, () => {
          for (const posted of queue.splice(0)) report(new Error('The server stopped.'), posted, 'was dropped')
          resolve()
        })
        onDrained = () => {
          cancel()
          resolve()
        }
      })
    }
  }
}
