import { availableParallelism } from 'node:os'
import { Type } from '@sinclair/typebox'
import type { FirebaseParameters } from '../../accounts/imported-hash-formats.ts'
import type { PasswordHasher } from '../../ports/cryptography.ts'
import { ARGON2_MAX } from '../../protocol/bounds.ts'
import {
  filled,
  flag,
  fn,
  type Given,
  type GivenWith,
  integer,
  option,
  required,
  section,
  text,
  words
} from '../schema-words.ts'

const FIREBASE = {
  /** The `base64_signer_key` of the project. */
  signerKey: required(
    text({
      pattern: '^[A-Za-z0-9+/_-]{16,86}={0,2}$',
      takes: 'the base64_signer_key of the Firebase console',
      confidential: true
    })
  ),
  /** The `base64_salt_separator` of the project. */
  saltSeparator: text({
    pattern: '^[A-Za-z0-9+/_-]{0,86}={0,2}$',
    default: '',
    takes: 'the base64_salt_separator of the Firebase console',
    confidential: true
  })
}

const PASSWORD = {
  /** argon2id memory in KiB. */
  memoryCost: integer(7168, ARGON2_MAX.memoryCost, { of: 'KiB', default: 19_456 }),
  /** argon2id passes. `memoryCost × timeCost` must be from 35,840 to 1,048,576. */
  timeCost: integer(1, ARGON2_MAX.timeCost, { default: 2 }),
  /** argon2id lanes. */
  parallelism: integer(1, ARGON2_MAX.parallelism, { default: 1 }),
  /** Minimum number of characters (code points) of a new password. */
  minLength: integer(8, 64, { default: 8 }),
  /** Maximum number of bytes (UTF-8) of any password. A longer one is refused, not truncated. */
  maxBytes: integer(256, 4096, { of: 'bytes', default: 1024 }),
  /** Maximum number of hashes that run at once. */
  concurrency: integer(1, 256, { otherwise: 'number of CPUs' }),
  /** Maximum number of hashes that wait. Beyond that a request gets 503 `temporarily_unavailable`. */
  maxQueue: integer(0, 100_000, { default: 64 }),
  /** Words that make a new password too easy to guess, besides the username and the issuer's name. */
  contextWords: words({ default: [], takes: 'an array of words' }),
  /**
   * `(password) => boolean`: `true` for a password that is known from a breach. If it throws or takes longer than 2 s,
   * the password is accepted. `undefined` and `null` mean `false`. With any other result, the request fails.
   */
  isBreached: fn<(password: string) => boolean | Promise<boolean>>(),
  /** Peppers password hashes with the option `secret`. */
  pepper: flag({ default: false }),
  /** The hash parameters of a Firebase project. The imported hashes of its users do not contain them. */
  firebase: section<GivenWith<typeof FIREBASE, 'signerKey'>>(FIREBASE),
  /**
   * The suffix that the previous system of imported bcrypt hashes appended to each password, such as the pepper of
   * Devise.
   */
  importPepper: text({ default: '', confidential: true }),
  /** The argon2 engine. */
  hasher: option<PasswordHasher>(
    Type.Object(
      {
        hash: Type.Function([], Type.Unknown(), { takes: 'a function' }),
        verify: Type.Function([], Type.Unknown(), { takes: 'a function' })
      },
      { otherwise: 'argon2Hasher()', takes: 'a PasswordHasher, such as argon2Hasher() or nodeRsHasher()' }
    )
  )
}

export interface PasswordOptions extends Given<typeof PASSWORD> {}

/** Password hashing (argon2id through a bounded queue) and the policy for new passwords. */
export const PASSWORD_OPTION = section<PasswordOptions>(PASSWORD)

export type PasswordSettings = ReturnType<typeof resolvePassword>

export function resolvePassword(given: PasswordOptions | undefined) {
  const { firebase, ...settings } = filled(PASSWORD, given, { concurrency: availableParallelism() })
  const parameters: FirebaseParameters | null =
    firebase === null
      ? null
      : {
          signerKey: Buffer.from(firebase.signerKey, 'base64'),
          saltSeparator: Buffer.from(firebase.saltSeparator ?? '', 'base64')
        }
  return { ...settings, firebase: parameters }
}
