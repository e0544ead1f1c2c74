import type { Identity, LinkedIdentity, User } from '../ports/user-store.ts'
import { add, method, newLink, newUser, type UserStoreSubject } from './user-fixtures.ts'

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
