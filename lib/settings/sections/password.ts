import { availableParallelism } from 'node:os'
import { Type } from '@sinclair/typebox'
import type { PasswordHasher } from '../../ports/password-hasher.ts'
import { flag, fn, integer, optional, section, words } from '../schema-words.ts'

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
  /** Hashes that wait; past that a request gets 503. */
  maxQueue?: number | undefined
  /** Words that make a new password too easy to guess, beside the username and the issuer's name. */
  contextWords?: string[] | undefined
  /** Whether a password is known from a breach. Where it throws or takes longer than 2 s, the password is accepted; where it answers with no boolean, the request fails. */
  isBreached?: ((password: string) => boolean | Promise<boolean>) | undefined
  /** Peppers password hashes with the option `secret`. */
  pepper?: boolean | undefined
  hasher?: PasswordHasher | undefined
}

export interface PasswordSettings {
  /** KiB of memory for one hash. */
  memoryCost: number
  timeCost: number
  parallelism: number
  /** Code points. */
  minLength: number
  /** Bytes of UTF-8. */
  maxBytes: number
  /** Hashes that run at once. */
  concurrency: number
  /** Hashes that wait. */
  maxQueue: number
  contextWords: readonly string[]
  isBreached: ((password: string) => boolean | Promise<boolean>) | null
  pepper: boolean
  /** `null`: that of the package `argon2`. */
  hasher: PasswordHasher | null
}

export const PASSWORD_DEFAULTS = { memoryCost: 19_456, timeCost: 2, parallelism: 1, minLength: 8, maxBytes: 1024, concurrency: availableParallelism(), maxQueue: 64, contextWords: [] as string[], pepper: false } as const

export const PASSWORD_SCHEMA = optional(section({
  memoryCost: optional(integer(7168, 262_144, ' of KiB', { default: PASSWORD_DEFAULTS.memoryCost, description: 'argon2id memory.' })),
  timeCost: optional(integer(1, 16, '', { default: PASSWORD_DEFAULTS.timeCost, description: 'argon2id passes. `memoryCost × timeCost` must be at least 35,840.' })),
  parallelism: optional(integer(1, 16, '', { default: PASSWORD_DEFAULTS.parallelism, description: 'argon2id lanes.' })),
  minLength: optional(integer(8, 64, '', { default: PASSWORD_DEFAULTS.minLength, description: 'Least number of characters (code points) of a new password.' })),
  maxBytes: optional(integer(256, 4096, ' of bytes', { default: PASSWORD_DEFAULTS.maxBytes, description: 'Most bytes of any password; a longer one is refused, never cut.' })),
  concurrency: optional(integer(1, 256, '', { default: 'number of CPUs', description: 'Hashes that run at once.' })),
  maxQueue: optional(integer(0, 100_000, '', { default: PASSWORD_DEFAULTS.maxQueue, description: 'Hashes that wait; past that a request gets 503 `temporarily_unavailable`.' })),
  contextWords: optional(words({ default: [], takes: 'an array of words', description: 'Words that make a new password too easy to guess, beside the username and the issuer\'s name.' })),
  isBreached: optional(fn({ takes: 'a function', description: '`(password) => boolean`: whether a password is known from a breach.' })),
  pepper: optional(flag({ default: false, takes: 'true or false', description: 'Peppers password hashes with `secret`.' })),
  hasher: optional(Type.Object({ hash: fn({ takes: 'a function' }), verify: fn({ takes: 'a function' }) }, { default: 'argon2Hasher()', takes: 'a PasswordHasher, such as argon2Hasher() or nodeRsHasher()', description: 'The argon2 engine.' }))
}, 'Password hashing (argon2id through a bounded queue) and the policy for new passwords.'))

export function resolvePassword (given: PasswordOptions = {}): PasswordSettings {
  const { memoryCost = PASSWORD_DEFAULTS.memoryCost, timeCost = PASSWORD_DEFAULTS.timeCost, parallelism = PASSWORD_DEFAULTS.parallelism } = given
  const { minLength = PASSWORD_DEFAULTS.minLength, maxBytes = PASSWORD_DEFAULTS.maxBytes, contextWords = PASSWORD_DEFAULTS.contextWords } = given
  const { concurrency = PASSWORD_DEFAULTS.concurrency, maxQueue = PASSWORD_DEFAULTS.maxQueue, pepper = PASSWORD_DEFAULTS.pepper } = given
  const { isBreached = null, hasher = null } = given
  return { memoryCost, timeCost, parallelism, minLength, maxBytes, contextWords, concurrency, maxQueue, pepper, isBreached, hasher }
}
