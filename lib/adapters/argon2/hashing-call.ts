import type { Options } from '@node-rs/argon2'

/** A call of the engine as a message to a worker thread. */
export type HashingCall =
  | { what: 'hash'; password: string; options: Options }
  | { what: 'verify'; encoded: string; password: string; options: Options }
