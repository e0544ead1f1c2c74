import type { User } from '../ports/user-store.ts'

/** What `sendMessage` gets. Which of the optional fields there are depends on the kind. */
export interface Message {
  kind: 'password_reset' | 'verify_email' | 'password_changed' | 'already_registered' | 'new_sign_in'
  /** Without the password hash. */
  user: Omit<User, 'passwordHash'>
  url?: string
  token?: string
  expiresAt?: Date
}

export interface CapturedMessages<M extends { kind: string }> {
  /** The option `sendMessage`. */
  send(message: M): Promise<void>
  /** Everything sent, oldest first. */
  readonly messages: readonly M[]
  /**
   * The oldest message (of this kind) that no call of `next` has had; waits for it where there is none yet, since replies
   * don't wait for messages.
   */
  next(kind?: M['kind']): Promise<M>
}

interface Reader<M> {
  kind: string | undefined
  resolve: (message: M) => void
}

/** Records messages in place of sending them. */
export function capturedMessages<M extends { kind: string } = Message> (): CapturedMessages<M> {
  const messages: M[] = []
  const unread: M[] = []
  const readers: Array<Reader<M>> = []
  return {
    messages,
    async send (message) {
      messages.push(message)
      const reader = readers.findIndex(({ kind }) => kind === undefined || kind === message.kind)
      if (reader === -1) unread.push(message)
      else for (const { resolve } of readers.splice(reader, 1)) resolve(message)
    },
    async next (kind) {
      const index = unread.findIndex((message) => kind === undefined || message.kind === kind)
      const [message] = index === -1 ? [] : unread.splice(index, 1)
      return message ?? await new Promise<M>((resolve) => { readers.push({ kind, resolve }) })
    }
  }
}
