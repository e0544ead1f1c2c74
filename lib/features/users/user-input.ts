import type { AccountsDeps } from '../../accounts/deps.ts'
import type { UserChanges } from '../../accounts/managed-users.ts'
import { addressOf } from '../../accounts/outbox.ts'
import { newAddress, newUsername, refuseManaged, refuseUnstorable } from '../../accounts/register.ts'
import { emailOf, isNamedByAddress } from '../../accounts/username.ts'
import { isUsernameTaken, OAuthError } from '../../errors.ts'
import type { NewUser, User, UserPatch } from '../../ports/user-store.ts'

export const refusedField = (field: string, problem: string): OAuthError =>
  new OAuthError('invalid_request', `${field}: ${problem}`, { field })

/**
 * Checks the fields of a request. Rejects unknown members, and profile fields that are not in `names`.
 * @throws OAuthError `invalid_request`
 */
function checked(
  { username, email, fields = {}, ...others }: UserChanges,
  names: readonly string[]
): { username: string | undefined; email: string | undefined; fields: Readonly<Record<string, unknown>> } {
  for (const [name, value] of Object.entries({ username, email }))
    if (value !== undefined && typeof value !== 'string') throw refusedField(name, 'it must be a string.')
  if (typeof fields !== 'object' || fields === null) throw refusedField('fields', 'it must be an object.')
  const unknown = Object.keys(others)[0] ?? Object.keys(fields).find((name) => !names.includes(name))
  if (unknown !== undefined) throw refusedField(unknown, 'it can not be set.')
  refuseUnstorable(fields)
  return { username, email, fields }
}

export function newUserOf(given: UserChanges, names: readonly string[], deps: AccountsDeps): NewUser {
  const { username, email: asked, fields } = checked(given, names)
  const name = newUsername(username ?? '', deps)
  const email = newAddress(name, asked, deps.verifyEmail)
  refuseManaged(name, email, deps)
  return {
    ...fields,
    username: name,
    passwordHash: null,
    ...(email === undefined ? {} : { email, emailVerified: false })
  }
}

/** Makes a patch of the fields that differ from the user's. A changed address is marked as unverified. */
export function patchOf(user: User, given: UserChanges, names: readonly string[], deps: AccountsDeps): UserPatch {
  const { username, email, fields } = checked(given, names)
  const renamed = username ?? (isNamedByAddress(user) ? email : undefined)
  const name = renamed === undefined ? user.username : newUsername(renamed, deps)
  const kept = emailOf(name) === null ? user.email : undefined
  const isAsked = username !== undefined || email !== undefined
  const address = isAsked ? newAddress(name, email ?? kept, deps.verifyEmail) : addressOf(user)
  const isMoved = (address ?? '') !== addressOf(user)
  if (isMoved || name !== user.username) refuseManaged(name, address, deps)
  return {
    ...Object.fromEntries(Object.entries(fields).filter(([field, value]) => value !== user[field])),
    ...(name === user.username ? {} : { username: name }),
    // An administrator can't prove that the user owns the mailbox.
    ...(isMoved ? { email: address ?? null, emailVerified: false, emailProvedAt: null } : {})
  }
}

/** Awaits a write of a username. Turns the store's error for a taken name into the OAuthError `username_taken`. */
export async function reportTakenName<Answer>(write: Promise<Answer>): Promise<Answer> {
  try {
    return await write
  } catch (error) {
    if (!isUsernameTaken(error)) throw error
    throw new OAuthError('username_taken', 'The username is taken.', { field: 'username', cause: error })
  }
}
