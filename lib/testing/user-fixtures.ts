import { ok } from 'node:assert/strict'
import { userFrom } from '../boundary/answers.ts'
import type { LinkedIdentity, NewUser, User, UserStore } from '../ports/user-store.ts'
import type { Closable } from './contract.ts'

export interface UserStoreSubject extends Closable {
  store: UserStore
  /** Puts a user there by other means. Needed only where the store has no `create`. */
  add?(user: NewUser): Promise<User>
}

/** The methods of a store for sign-in through other providers: all of them or none. */
export const IDENTITY_METHODS = [
  'findByIdentity',
  'createWithIdentity',
  'linkIdentity',
  'unlinkIdentity',
  'listIdentities',
  'useIdentity'
] as const

export type OptionalUserStoreMethod =
  | 'create'
  | 'setPasswordHash'
  | 'setEmailVerified'
  | 'update'
  | 'remove'
  | (typeof IDENTITY_METHODS)[number]

/**
 * The `code` of `UsernameTakenError`. The service looks at it and not at the class, since a host may have two copies of
 * this package.
 */
export const CODE = 'FST_AUTHORITY_USERNAME_TAKEN'
/** The `code` of `IdentityTakenError`. */
export const IDENTITY_CODE = 'FST_AUTHORITY_IDENTITY_TAKEN'
/** Usernames are e-mail addresses here, which suits a schema that has one column for both. */
export const ALICE = 'alice@example.com'
export const BOB = 'bob@example.com'
export const CAROL = 'carol@example.com'
export const newUser = (fields: Partial<NewUser> = {}): NewUser => ({
  username: ALICE,
  passwordHash: 'hash-0',
  ...fields
})

const LINKED_AT = 1_767_225_600_000
export const newLink = (fields: Partial<LinkedIdentity> = {}): LinkedIdentity => ({
  issuer: 'https://op.example',
  subject: 'subject-0',
  connection: 'op',
  linkedAt: LINKED_AT,
  lastUsedAt: LINKED_AT,
  ...fields
})

export function method<Name extends OptionalUserStoreMethod>(
  store: UserStore,
  name: Name
): NonNullable<UserStore[Name]> {
  const found = store[name]
  ok(found, `The store has no ${name}; name it in \`without\` if that is meant.`)
  return found.bind(store) as NonNullable<UserStore[Name]>
}

export async function add({ store, add: addUser }: UserStoreSubject, user: NewUser): Promise<User> {
  return addUser === undefined ? await method(store, 'create')(user) : userFrom('add', await addUser(user))
}

/**
 * A user without its empty fields, so that a store which answers `null` for nothing equals one which leaves the field
 * out.
 */
export function saidOf(user: User | null): Record<string, unknown> {
  const { emailVerified = false, disabled = false, ...rest } = user ?? {}
  return Object.fromEntries(
    Object.entries({ ...rest, emailVerified: emailVerified ?? false, disabled: disabled ?? false }).filter(
      ([, value]) => value !== null && value !== undefined
    )
  )
}

/** `resolved`, or the code of the error. */
export async function outcomeOf(attempt: Promise<unknown>): Promise<string> {
  return await attempt.then(
    () => 'resolved',
    (error: unknown) => (error instanceof Error && 'code' in error ? String(error.code) : String(error))
  )
}

/** A case of the suite; `needs`: the method without which a store is not asked. */
export type DefineUserCase = (
  needs: OptionalUserStoreMethod | null,
  name: string,
  check: (subject: UserStoreSubject) => Promise<void>
) => void
