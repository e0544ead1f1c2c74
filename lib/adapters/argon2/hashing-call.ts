import type { Options } from '@node-rs/argon2'

/** One call of the engine, as it goes to a thread. */
export type HashingCall =
  | { what: 'hash'; password: string; options: Options }
  | { what: 'verify'; encoded: string; password: string; options: Options }
