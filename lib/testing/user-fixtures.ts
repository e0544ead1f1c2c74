import { ok } from 'node:assert/strict'
import { userFrom } from '../boundary/answers.ts'
import type { Identity, LinkedIdentity, NewUser, User, UserStore } from '../ports/user-store.ts'
import type { Closable } from './contract.ts'

export interface UserStoreSubject extends Closable {
  store: UserStore
  /** Adds a user without `create`. Needed only for a store without that method. */
  add?(user: NewUser): Promise<User>
}

/** The methods of a store for sign-in through other providers. A store has all of them or none. */
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
  | 'list'
  | 'setDisabled'
  | 'remove'
  | (typeof IDENTITY_METHODS)[number]

/**
 * The `code` of `UsernameTakenError`. The service checks it instead of the class, because a host may have two copies of
 * this package.
 */
export const CODE = 'FST_AUTHORITY_USERNAME_TAKEN'
/** The `code` of `IdentityTakenError`. */
export const IDENTITY_CODE = 'FST_AUTHORITY_IDENTITY_TAKEN'
/** The usernames of the suite are email addresses, which suits a schema that has one column for both. */
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
 * Removes empty fields of a user and sets missing flags to `false`. A user with `null` for a missing value is then
 * equal to a user without the field.
 */
export function saidOf(user: User | null): Record<string, unknown> {
  const { emailVerified = false, disabled = false, ...rest } = user ?? {}
  return Object.fromEntries(
    Object.entries({ ...rest, emailVerified: emailVerified ?? false, disabled: disabled ?? false }).filter(
      ([, value]) => value !== null && value !== undefined
    )
  )
}

/** Resolves to `resolved` if the attempt succeeds, else to the code or the text of its error. Never rejects. */
export async function outcomeOf(attempt: Promise<unknown>): Promise<string> {
  return await attempt.then(
    () => 'resolved',
    (error: unknown) => (error instanceof Error && 'code' in error ? String(error.code) : String(error))
  )
}

/** Defines a case of the suite. `needs`: the method that the case tests. `null`: a method that every store has. */
export type DefineUserCase = (
  needs: OptionalUserStoreMethod | null,
  name: string,
  check: (subject: UserStoreSubject) => Promise<void>
) => void

/** The number of repetitions of a race between two calls. */
export const ROUNDS = 20

export const numbered = (index: number): string => `user-${index}@example.com`
export const subjectOf = (index: number): LinkedIdentity => newLink({ subject: `subject-${index}` })

export async function ownerOf({ store }: UserStoreSubject, identity: Identity): Promise<string | null> {
  return (await method(store, 'findByIdentity')(identity))?.id ?? null
}

export async function addMany(subject: UserStoreSubject, count: number): Promise<User[]> {
  const users: User[] = []
  for (let index = 0; index < count; index++)
    users.push(await add(subject, newUser({ username: numbered(index), passwordHash: null })))
  return users
}
