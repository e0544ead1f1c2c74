import { audited } from '../accounts/acted-on.ts'
import { type AuditAction, NO_REQUEST } from '../events.ts'
import type { KeyManagement, ManagedKey } from '../keys/manage-keys.ts'
import { CliError, type Desk, type StoreCommand } from './command.ts'

/**
 * Returns the key management. Makes the first signing key if there is none, because a command skips the part of the
 * start that makes this key. @throws CliError for a service that does not manage keys
 */
async function managed({ services }: Desk): Promise<KeyManagement> {
  if (services.keys === null)
    throw new CliError(1, 'The service has no keys of its own: it signs with the option keys, or has no option secret.')
  await services.ring.ready()
  return services.keys
}

/** Runs an action on keys. With the option `audit`, writes an entry before and after it. */
const acting = async <Answer>(
  action: AuditAction,
  kid: string | null,
  { by, services }: Desk,
  work: () => Promise<Answer>
): Promise<Answer> =>
  await audited(
    { action, actor: by, target: kid === null ? null : { type: 'key', id: kid }, origin: NO_REQUEST },
    work,
    services.grants.accounts
  )

const timeOf = (time: number | null): string | null => (time === null ? null : new Date(time).toISOString())

/** Describes a key for the terminal. Contains no key material. */
export const keyRow = ({ kid, alg, state, createdAt, signsFrom, leavesAt }: ManagedKey) => ({
  kid,
  alg,
  state,
  createdAt: timeOf(createdAt),
  signsFrom: timeOf(signsFrom),
  leavesAt: timeOf(leavesAt)
})

export const KEY_COMMANDS: readonly StoreCommand[] = [
  {
    name: 'keys list',
    takes: [],
    does: 'Lists the signing keys: which one signs, and when others sign or leave.',
    run: async (desk) => (await (await managed(desk)).list()).map(keyRow)
  },
  {
    name: 'keys rotate',
    takes: [],
    does: 'Announces the next key of each algorithm, and says when it signs.',
    run: async (desk) =>
      await acting('keys_rotated', null, desk, async () => (await (await managed(desk)).rotate()).map(keyRow))
  },
  {
    name: 'keys retire',
    takes: ['<kid>'],
    does:
      'Removes a compromised key and so ends its tokens. The announced key signs, or a new one if there is none or ' +
      'an older key is still published: in running instances within a minute.',
    async run(desk, { words: [kid = ''] }) {
      const keys = await managed(desk)
      const isThere = (await keys.list()).some((key) => key.kid === kid)
      if (!isThere) throw new CliError(1, `There is no key ${kid}.`)
      await desk.confirm(kid)
      await acting('key_retired', kid, desk, async () => await keys.retire(kid))
      return (await keys.list()).map(keyRow)
    }
  }
]
