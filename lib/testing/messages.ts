import type { Message } from '../ports/message.ts'

export interface CapturedMessages<M extends { kind: string }> {
  /** The option `sendMessage`. */
  send(message: M): Promise<void>
  /** All sent messages, oldest first. */
  readonly messages: readonly M[]
  /**
   * The oldest message (of this kind) that no call of `next` has returned. Waits for it if there is none yet, because
   * replies don't wait for messages.
   */
  next<Kind extends M['kind']>(kind?: Kind): Promise<M & { kind: Kind }>
}

interface Reader {
  kind: string | undefined
  resolve(message: unknown): void
}

/** Records messages instead of sending them. */
export function capturedMessages<M extends { kind: string } = Message>(): CapturedMessages<M> {
  const messages: M[] = []
  const unread: M[] = []
  const readers: Reader[] = []
  return {
    messages,
    async send(message) {
      messages.push(message)
      const reader = readers.findIndex(({ kind }) => kind === undefined || kind === message.kind)
      if (reader === -1) unread.push(message)
      else for (const { resolve } of readers.splice(reader, 1)) resolve(message)
    },
    async next<Kind extends M['kind']>(kind?: Kind) {
      const index = unread.findIndex((message) => kind === undefined || message.kind === kind)
      const [message] = index === -1 ? [] : unread.splice(index, 1)
      return (message ??
        (await new Promise((resolve) => {
          readers.push({ kind, resolve })
        }))) as M & { kind: Kind }
    }
  }
}
