import { digest, partitionOf } from '../protocol/digest.ts'
import { isStorable } from '../protocol/bounds.ts'
import { isIdentityTaken, isUsernameTaken, OAuthError } from '../errors.ts'
import { type NewUser, OWN_FIELDS, type User, type UserStore } from '../ports/user-store.ts'
import type { Origin } from '../sessions/sessions.ts'
import type { AccountsDeps } from './deps.ts'
import { expectSignIn } from './begin-session.ts'
import { requireGoodPassword } from './password-policy.ts'
import { sendAlreadyRegistered } from './reset-password.ts'
import { checkNewUsername, emailOf, normalizeUsername, readAddress } from './username.ts'
import { requestEmailVerification } from './verify-email.ts'
import { ownerConnection } from './ways-in.ts'
import { lookLater } from './background.ts'

interface Registration {
  username: string
  password: string
  /** The host's own profile fields, checked against its schema. */
  fields: Record<string, unknown>
  /** The language of the messages to the user. */
  locale?: string | undefined
  origin: Origin
  asker?: string | undefined
}

/**
 * Creates an account. If new users must verify their email (`verifyEmail`), returns `user: null` for a free and for a
 * taken name, in about the same time: only the mail differs. Otherwise returns the new user. `proof` is a digest of the
 * password's hash, even if no account was created.
 * @throws OAuthError `invalid_request` naming the field; `invalid_password` with the reason; `username_taken` (only if
 * no email has to be verified); `temporarily_unavailable`
 */
export async function register(
  { username, password, fields, locale, origin, asker }: Registration,
  deps: AccountsDeps
): Promise<{ user: User | null; proof: string }> {
  const { create } = deps.users
  if (create === undefined)
    throw new OAuthError('server_error', 'There is no registration here.', { detail: 'the user store has no create' })
  const name = newUsername(username, deps)
  refuseUnstorable(fields)
  const email = newAddress(name, fields.email, deps.verifyEmail)
  refuseManaged(name, email, deps)
  await requireGoodPassword(deps.policy, password, { username: name, email })

  // Hashes the password for a taken name too. Only the store decides on uniqueness, as the last step. So neither the
  // answers nor the times of the steps before reveal which names exist.
  const passwordHash = await deps.hashing.hash(password)
  const given = Object.fromEntries(Object.entries(fields).filter(([field]) => !OWN_FIELDS.has(field)))
  const created: NewUser = {
    ...given,
    username: name,
    passwordHash,
    ...(email === undefined ? {} : { email, emailVerified: false })
  }
  let user: User
  try {
    user = await createAndTell(creation(created, { ...deps.users, create }), origin, deps)
  } catch (error) {
    if (!isUsernameTaken(error)) throw error
    if (!deps.verifyEmail)
      throw new OAuthError('username_taken', 'The username is taken.', { field: 'username', cause: error })
    await waitForWrite(name, deps)
    sendAlreadyRegistered(name, { locale, origin, asker }, deps)
    return { user: null, proof: digest(passwordHash) }
  }
  expectSignIn(user.id, deps)
  deps.background.run(`verify ${user.id}`, 'an email verification message could not be prepared', async () => {
    await requestEmailVerification(user, { locale, origin, asker }, deps)
  })
  return { user: deps.verifyEmail ? null : user, proof: digest(passwordHash) }
}

/**
 * Writes a note that nobody reads, so that the answer for a taken name takes as long as that for a free name, which
 * waits for a write. The note belongs to no user, because a stranger's request must not write to the account.
 */
async function waitForWrite(name: string, { oneTimeTokens, clock, onError }: AccountsDeps): Promise<void> {
  const userId = `nobody ${name}`
  try {
    await oneTimeTokens.put({
      purpose: 'contested_sign_up',
      digest: partitionOf(userId) + digest(userId),
      userId,
      expiresAt: clock.now() + 60_000
    })
  } catch (error) {
    onError(error, 'the note of a sign-up for a taken name could not be written')
  }
}

/** Normalizes the username of a new account and checks that it is allowed. @throws OAuthError `invalid_request` */
export function newUsername(username: string, { usernames }: Pick<AccountsDeps, 'usernames'>): string {
  const name = normalizeUsername(username)
  if (name === null)
    throw new OAuthError('invalid_request', 'username: it holds characters that are not allowed, or is too long.', {
      field: 'username',
      reason: 'characters'
    })
  const reason = checkNewUsername(name)
  if (usernames === 'email' && emailOf(name) === null)
    throw new OAuthError('invalid_request', 'username: The email address is not valid.', {
      field: 'username',
      reason: 'email_form'
    })
  if (reason !== null)
    throw new OAuthError('invalid_request', `username: ${reason}`, {
      field: 'username',
      reason: name.includes('@') ? 'email_form' : 'username_form'
    })
  return name
}

/**
 * Refuses a username or an email that a connection manages: only the connection could open the account, and it may not
 * know the user.
 */
export function refuseManaged(name: string, email: string | undefined, deps: Pick<AccountsDeps, 'connections'>): void {
  const field =
    ownerConnection(name, deps) !== null ? 'username' : ownerConnection(email ?? '', deps) !== null ? 'email' : null
  if (field !== null)
    throw new OAuthError('invalid_request', `${field}: People of this domain sign in through a connection.`, {
      field,
      reason: 'connection_only'
    })
}

/**
 * The checked and normalized email of a new account: `field`, else the username if that is an address. `undefined`:
 * none.
 * @throws OAuthError `invalid_request` if `field` is no address or differs from a username that is an address, or if
 * there is no email and `required` is true
 */
export function newAddress(name: string, field: unknown, required: boolean): string | undefined {
  const own = emailOf(name)
  if (field === undefined || field === null) {
    if (own === null && required)
      throw new OAuthError('invalid_request', 'email: it is required.', { field: 'email', reason: 'required' })
    return own ?? undefined
  }
  const email = readAddress(field)
  // Otherwise a person could take another person's address as their username, and have its messages sent to a mailbox
  // of their own.
  if (own !== null && own !== email)
    throw new OAuthError('invalid_request', 'email: it must be the username where that is an email address.', {
      field: 'email',
      reason: 'email_differs'
    })
  return email
}

/**
 * Refuses characters that most databases can't store. The database would reject them too, but its error would look like
 * an outage (503) instead of a fault of the caller (400).
 */
export function refuseUnstorable(fields: Record<string, unknown>): void {
  const unstorable = Object.entries(fields).find(([, value]) => holdsUnstorable(value))
  if (unstorable !== undefined)
    throw new OAuthError('invalid_request', `${unstorable[0]}: it holds characters that are not allowed.`, {
      field: unstorable[0],
      reason: 'characters'
    })
}

/** The maximum depth of nesting, far below the limits of PostgreSQL and of the stack of this process. */
const DEEPEST = 64

/** True if the value contains characters, at any depth, that most databases can't store, or is nested too deeply. */
export function holdsUnstorable(value: unknown, depth = 0): boolean {
  if (typeof value === 'string') return !isStorable(value)
  if (typeof value !== 'object' || value === null) return false
  if (depth > DEEPEST) return true
  return Object.entries(value).some(([name, member]) => !isStorable(name) || holdsUnstorable(member, depth + 1))
}

/** The creation of one user. `find` looks for the user if the store's answer to `create` was lost. */
interface Creation {
  username: string
  create(): Promise<User>
  find(): Promise<User | null>
}

/**
 * Prepares the creation of a user. `find` looks the user up by name. Another request may have taken the name, so `find`
 * also compares the password hash and the time at which the address was proved.
 */
export function creation(
  user: NewUser,
  { create, findByUsername }: Required<Pick<UserStore, 'create' | 'findByUsername'>>
): Creation {
  const { username, passwordHash, emailProvedAt } = user
  return {
    username,
    create: async () => await create(user),
    async find() {
      const found = await findByUsername(username)
      const isMade =
        found?.passwordHash === passwordHash && Number(found.emailProvedAt ?? 0) === Number(emailProvedAt ?? 0)
      return isMade ? found : null
    }
  }
}

/**
 * Creates a user and emits `registered`. If the store's answer is lost, looks for the new user in the background
 * (`find`) and emits the event then, because a repeated request would find the name taken and emit nothing. Rejects
 * with the error of `create`.
 */
export async function createAndTell(
  { username, create, find }: Creation,
  origin: Origin,
  { events, background }: Pick<AccountsDeps, 'events' | 'background'>
): Promise<User> {
  const tell = (user: User): void => {
    events.emit('registered', { userId: user.id, username: user.username }, origin)
  }
  let user: User
  try {
    user = await create()
  } catch (error) {
    if (!isUsernameTaken(error) && !isIdentityTaken(error))
      lookLater(background, `registered ${username}`, 'the event of a new account could not be emitted', async () => {
        const made = await find()
        if (made !== null) tell(made)
        return made !== null
      })
    throw error
  }
  tell(user)
  return user
}

/**
 * The host's profile fields that users may change themselves. Leaves out the fields that identify a user or give rights
 * (`OWN_FIELDS`).
 */
export function ownProfileFields(names: readonly string[]): string[] {
  return names.filter((name) => !OWN_FIELDS.has(name))
}

/**
 * Returns the fields of a new account if the provider gave all that the host requires. `null`: the user has to fill in
 * the rest. The caller must have removed fields that do not fit the host's schema.
 */
export function completeProfile(
  profile: Readonly<Record<string, unknown>>,
  required: readonly string[]
): Record<string, unknown> | null {
  return ownProfileFields(required).every((name) => Object.hasOwn(profile, name)) ? { ...profile } : null
}

/** Returns the fields that an account may take from a provider: those with a value, except the ones in `OWN_FIELDS`. */
export function profileFields(profile: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(profile).filter(([name, value]) => !OWN_FIELDS.has(name) && value !== undefined && value !== null)
  )
}
