/** Reset tokens in the messages of the processes under test. */
import type { Mail } from './fleet.ts'

export interface Mailbox {
  deliver(mail: Mail): void
  /** The next token for the user from now on; `null` if none arrived in time. `forget` stops the waiting. */
  next(username: string): { token: Promise<string | null>; forget(): void }
}

export function createMailbox(waitMs: number): Mailbox {
  const waiting = new Map<string, (token: string | null) => void>()
  return {
    deliver({ kind, username, token }) {
      if (kind === 'password_reset') waiting.get(username)?.(token)
    },
    next(username) {
      let settle = (_token: string | null): void => {}
      const token = new Promise<string | null>((resolve) => {
        settle = resolve
      })
      const timer = setTimeout(() => {
        settle(null)
      }, waitMs)
      waiting.set(username, settle)
      return {
        token,
        forget() {
          clearTimeout(timer)
          settle(null)
          if (waiting.get(username) === settle) waiting.delete(username)
        }
      }
    }
  }
}
