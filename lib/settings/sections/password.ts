import { availableParallelism } from 'node:os'
import { Type } from '@sinclair/typebox'
import type { PasswordHasher } from '../../ports/password-hasher.ts'
import { filled, flag, fn, integer, optional, section, text, words } from '../schema-words.ts'

export interface PasswordOptions {
  /** KiB of memory for one hash. */
  memoryCost?: number | undefined
  timeCost?: number | undefined
  parallelism?: number | undefined
  /** Least number of characters (code points) of a new password. */
  minLength?: number | undefined
  /** Most bytes (UTF-8) of any password. */
  maxBytes?: number | undefined
  /** Hashes that run at once. */
  concurrency?: number | undefined
  /** Hashes that may wait. Beyond that a request gets 503. */
  maxQueue?: number | undefined
  /** Words that make a new password too easy to guess, besides the username and the issuer's name. */
  contextWords?: string[] | undefined
  /**
   * Returns `true` for a password that is known from a breach. If it throws or takes longer than 2 s, the password is
   * accepted. If it returns no boolean, the request fails.
   */
  isBreached?: ((password: string) => boolean | Promise<boolean>) | undefined
  /** Peppers password hashes with the option `secret`. */
  pepper?: boolean | undefined
  /**
   * The hash parameters of a Firebase project, whose users' hashes are imported without them. Both in base64, as in its
   * console.
   */
  firebase?: { signerKey: string; saltSeparator?: string | undefined } | undefined
  /**
   * The suffix that the former system of imported bcrypt hashes appended to each password, such as the pepper of
   * Devise.
   */
  importPepper?: string | undefined
  hasher?: PasswordHasher | undefined
}

export const PASSWORD_SCHEMA = optional(
  section(
    {
      memoryCost: optional(integer(7168, 262_144, ' of KiB', { default: 19_456, description: 'argon2id memory.' })),
      timeCost: optional(
        integer(1, 16, '', {
          default: 2,
          description: 'argon2id passes. `memoryCost × timeCost` must be from 35,840 to 1,048,576.'
        })
      ),
      parallelism: optional(integer(1, 16, '', { default: 1, description: 'argon2id lanes.' })),
      minLength: optional(
        integer(8, 64, '', {
          default: 8,
          description: 'Least number of characters (code points) of a new password.'
        })
      ),
      maxBytes: optional(
        integer(256, 4096, ' of bytes', {
          default: 1024,
          description: 'Most bytes of any password; a longer one is refused, never cut.'
        })
      ),
      concurrency: optional(
        integer(1, 256, '', { otherwise: 'number of CPUs', description: 'Hashes that run at once.' })
      ),
      maxQueue: optional(
        integer(0, 100_000, '', {
          default: 64,
          description: 'Hashes that wait; past that a request gets 503 `temporarily_unavailable`.'
        })
      ),
      contextWords: optional(
        words({
          default: [],
          takes: 'an array of words',
          description: "Words that make a new password too easy to guess, beside the username and the issuer's name."
        })
      ),
      isBreached: optional(
        fn({ takes: 'a function', description: '`(password) => boolean`: whether a password is known from a breach.' })
      ),
      pepper: optional(
        flag({ default: false, takes: 'true or false', description: 'Peppers password hashes with `secret`.' })
      ),
      firebase: optional(
        section(
          {
            signerKey: Type.String({
              pattern: '^[A-Za-z0-9+/_-]{16,86}={0,2}$',
              takes: 'the base64_signer_key of the Firebase console',
              confidential: true,
              description: 'The `base64_signer_key` of the project.'
            }),
            saltSeparator: optional(
              Type.String({
                pattern: '^[A-Za-z0-9+/_-]{0,86}={0,2}$',
                default: '',
                takes: 'the base64_salt_separator of the Firebase console',
                confidential: true,
                description: 'The `base64_salt_separator` of the project.'
              })
            )
          },
          "For imported hashes of Firebase that don't bear the key of their project."
        )
      ),
      importPepper: optional(
        text({
          default: '',
          takes: 'a string',
          confidential: true,
          description:
            'What is put behind a password before it is compared with an imported bcrypt hash, such as ' +
            'the pepper of Devise.'
        })
      ),
      hasher: optional(
        Type.Object(
          { hash: fn({ takes: 'a function' }), verify: fn({ takes: 'a function' }) },
          {
            otherwise: 'argon2Hasher()',
            takes: 'a PasswordHasher, such as argon2Hasher() or nodeRsHasher()',
            description: 'The argon2 engine.'
          }
        )
      )
    },
    'Password hashing (argon2id through a bounded queue) and the policy for new passwords.'
  )
)

export type PasswordSettings = ReturnType<typeof resolvePassword>

/** The key of a Firebase project. */
interface FirebaseKey {
  signerKey: Buffer
  saltSeparator: Buffer
}

export function resolvePassword(given: PasswordOptions = {}) {
  const { concurrency = availableParallelism(), isBreached = null, hasher = null, firebase } = given
  // Hashes of Firebase must contain the key of their project if there is none.
  const firebaseKey: FirebaseKey | null =
    firebase === undefined
      ? null
      : {
          signerKey: Buffer.from(firebase.signerKey, 'base64'),
          saltSeparator: Buffer.from(firebase.saltSeparator ?? '', 'base64')
        }
  return {
    ...filled(PASSWORD_SCHEMA, given),
    concurrency,
    isBreached,
    firebase: firebaseKey,
    // `null`: the hasher of the package `argon2`.
    hasher
  }
}
