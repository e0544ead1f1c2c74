import { slotOf } from '../accounts/slots.ts'
import type { AuditEntry, AuditPage, AuditQuery } from '../ports/audit-log.ts'
import { checkpointsIn } from './checkpoints.ts'
import { CliError, counted, type Desk, jsonText, Said, type StoreCommand } from './command.ts'

const SHOWN = 20
const PAGE = 500

async function pageOf({ services }: Desk, query: AuditQuery): Promise<AuditPage> {
  const log = slotOf(services.grants.accounts, 'auditLog')
  if (log === null) throw new CliError(1, 'There is no log without the option audit.')
  return await log.list(query)
}

const shown = ({ at, ...entry }: AuditEntry) => ({ at: new Date(at).toISOString(), ...entry })

export const AUDIT_COMMANDS: readonly StoreCommand[] = [
  {
    name: 'audit verify',
    takes: [],
    flags: ['checkpoints'],
    does:
      'Looks for changes in the audit log. Exits with 1 if there is one. A cut end is only found with ' +
      '`--checkpoints`: the log of the service.',
    async run({ authority }, { checkpoints: file }) {
      const checkpoints = file === undefined ? [] : await checkpointsIn(file)
      const { entries, faults } = await authority.verifyAudit(checkpoints)
      const known = file === undefined ? '' : ` with ${counted(checkpoints.length, 'checkpoint')}`
      if (faults.length === 0)
        return new Said({ entries }, `No fault in ${counted(entries, 'entry', 'entries')}${known}.`)
      const lines = faults.map(({ chain, seq, fault }) => `${fault}: entry ${seq} of ${chain}`)
      throw new CliError(1, lines.join('\n'), new Said({ entries, faults }, ''))
    }
  },
  {
    name: 'audit tail',
    takes: [],
    flags: ['action', 'user'],
    does: `Shows the ${SHOWN} newest entries of the audit log, of an action or on a user, the newest last.`,
    run: async (desk, { action, user }) =>
      (await pageOf(desk, { limit: SHOWN, action, user })).entries.toReversed().map(shown)
  },
  {
    name: 'audit export',
    takes: [],
    does: 'Writes the audit log as one JSON object a line, the newest entry first.',
    async run(desk) {
      let after: string | undefined
      do {
        const page = await pageOf(desk, { limit: PAGE, after })
        // One page at a time, so that a log of any size needs the memory of one.
        await desk.write(page.entries.map((entry) => `${jsonText(shown(entry))}\n`).join(''))
        after = page.next ?? undefined
      } while (after !== undefined)
    }
  }
]
