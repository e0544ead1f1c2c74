import { REASON } from '../accounts/acted-on.ts'
import type { ManagedUser, UserAct } from '../accounts/managed-users.ts'
import { normalizeUsername } from '../accounts/username.ts'
import { CliError, type Desk, type Given, Said, type StoreCommand } from './command.ts'

/** The user with this id or username. @throws CliError 1 */
async function found({ users, services }: Desk, word: string): Promise<ManagedUser> {
  const name = normalizeUsername(word)
  const named = name === null ? null : await services.grants.accounts.users.findByUsername(name)
  const user = (await users.get(word)) ?? (named === null ? null : await users.get(named.id))
  if (user === null) throw new CliError(1, `There is no user with the id or username ${word}.`)
  return user
}

const USER = ['<id or username>']
/** Returns the actor and the reason, for the audit log. @throws CliError 2 for a reason of a wrong length */
function circumstances({ by }: Desk, { reason }: Given): UserAct {
  if (reason !== undefined && (reason === '' || reason.length > REASON.most))
    throw new CliError(2, `--reason has ${reason.length} characters. It takes 1 to ${REASON.most}.`)
  return { by, reason }
}

export const USER_COMMANDS: readonly StoreCommand[] = [
  {
    name: 'user create',
    takes: ['<username>'],
    flags: ['email', 'invite', 'reason'],
    does: 'Creates a user without a password. `--invite` sends the link that sets one.',
    async run(desk, given) {
      const {
        words: [username = ''],
        email,
        invite
      } = given
      return await desk.users.create({ username, email, invite }, circumstances(desk, given))
    }
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
    flags: ['reason'],
    does,
    async run(desk, given) {
      const {
        words: [word = '']
      } = given
      const act = circumstances(desk, given)
      const user = await found(desk, word)
      if (asks) await desk.confirm(user.username)
      await desk.users[name === 'reset' ? 'requireReset' : name](user.id, {
        ...act,
        version: user.version ?? undefined
      })
      return name === 'remove' ? new Said(null, `Removed ${user.username}.`) : await desk.users.get(user.id)
    }
  }))
]
