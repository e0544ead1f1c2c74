import { isIdentityTaken, isUsernameTaken } from '../errors.ts'
import type { NewUser, User, UserStore } from '../ports/user-store.ts'
import type { Origin } from '../sessions/sessions.ts'
import { lookLater } from './background.ts'
import type { AccountsDeps } from './deps.ts'

/** How one user is created, and found again if the store's answer is lost. */
interface Creation {
  username: string
  create(): Promise<User>
  find(): Promise<User | null>
}

/** Finds the new user by name, and tells it from another user of that name by its password hash or proof of address. */
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
 * Creates a user and emits `registered`. If the answer of the store is lost, `find` looks for the new user behind the
 * reply, because a repeated request finds a taken name and tells of nothing. Rethrows what `create` throws.
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
