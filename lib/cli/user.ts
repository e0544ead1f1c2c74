import type { ManagedUser } from '../accounts/managed-users.ts'
import { normalizeUsername } from '../accounts/username.ts'
import { CliError, type Desk, type StoreCommand } from './command.ts'

/** The user with this id or username. @throws CliError 1 */
async function found({ users, services }: Desk, word: string): Promise<ManagedUser> {
  const name = normalizeUsername(word)
  const named = name === null ? null : await services.grants.accounts.users.findByUsername(name)
  const user = (await users.get(word)) ?? (named === null ? null : await users.get(named.id))
  if (user === null) throw new CliError(1, `There is no user with the id or username ${word}.`)
  return user
}

const USER = ['<id or username>']
const act = ({ by }: Desk, { version }: ManagedUser) => ({ by, version: version ?? undefined })

export const USER_COMMANDS: readonly StoreCommand[] = [
  {
    name: 'user create',
    takes: ['<username>'],
    flags: ['email', 'invite'],
    does: 'Creates a user without a password. `--invite` sends the link that sets one.',
    run: async ({ users, by }, { words: [username = ''], email, invite }) =>
      await users.create({ username, email, invite }, { by })
  },
  {
    name: 'user list',
    takes: [],
    does: 'Lists all users, the newest first.',
    async run({ users }) {
      const all: ManagedUser[] = []
      let after: string | undefined
      do {
        const page = await users.list({ limit: 200, after })
        all.push(...page.users)
        after = page.next ?? undefined
      } while (after !== undefined)
      return all
    }
  },
  {
    name: 'user show',
    takes: USER,
    does: 'Shows a user.',
    run: async (desk, { words: [word = ''] }) => await found(desk, word)
  },
  {
    name: 'user sessions',
    takes: USER,
    does: 'Lists the live sign-ins of a user.',
    run: async (desk, { words: [word = ''] }) => await desk.authority.sessions((await found(desk, word)).id)
  },
  ...(
    [
      ['invite', 'Sends the link with which a user sets the first password.', false],
      ['enable', 'Lets a disabled user sign in again.', false],
      ['disable', 'Ends all sign-ins of a user, and refuses new ones.', true],
      ['reset', 'Removes the password, ends all sign-ins, and sends the link that sets a new password.', true],
      ['remove', 'Removes a user for good.', true]
    ] as const
  ).map(([name, does, asks]): StoreCommand => ({
    name: `user ${name}`,
    takes: USER,
    does,
    async run(desk, { words: [word = ''] }) {
      const user = await found(desk, word)
      if (asks) await desk.confirm(user.username)
      await desk.users[name === 'reset' ? 'requireReset' : name](user.id, act(desk, user))
      return name === 'remove' ? null : await desk.users.get(user.id)
    }
  }))
]
