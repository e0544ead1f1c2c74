import { brokenConnection } from './refusal.ts'

/** The scripts and digests of one pipeline, in buffers that can be taken back after ioredis has them. */
export interface WipeableTexts {
  /** @throws Error once they are wiped */
  bufferOf(text: string): Buffer
  /** Overwrites the texts, so that the server refuses any of them that is still sent. */
  wipe(): void
  areWiped(): boolean
}

/**
 * Texts that can be wiped after they were sent. ioredis keeps a command and sends it again after a reconnection, a
 * redirection or a failover, even after its caller gave up, and can't take one back. But it reads a buffer each time it
 * sends it. So the buffers of abandoned commands are overwritten with a text that is neither the digest of a script nor
 * Lua, which the server refuses.
 */
export function wipeableTexts(): WipeableTexts {
  const buffers: Buffer[] = []
  let wiped = false
  return {
    bufferOf(text) {
      if (wiped) throw brokenConnection()
      const buffer = Buffer.from(text)
      buffers.push(buffer)
      return buffer
    },
    wipe() {
      wiped = true
      for (const buffer of buffers) buffer.fill('x')
    },
    areWiped: () => wiped
  }
}
