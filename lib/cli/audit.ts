import { slotOf } from '../accounts/slots.ts'
import type { AuditEntry, AuditPage } from '../ports/audit-log.ts'
import { CliError, jsonText, type Desk, type StoreCommand } from './command.ts'

const SHOWN = 20
const PAGE = 500

async function pageOf({ services }: Desk, limit: number, after?: string): Promise<AuditPage> {
  const log = slotOf(services.grants.accounts, 'auditLog')
  if (log === null) throw new CliError(1, 'There is no log without the option audit.')
  return await log.list({ limit, after })
}

const shown = ({ at, ...entry }: AuditEntry) => ({ at: new Date(at).toISOString(), ...entry })

export const AUDIT_COMMANDS: readonly StoreCommand[] = [
  {
    name: 'audit verify',
    takes: [],
    does: 'Looks for changes in the audit log. Exits with 1 if there is one.',
    async run({ authority }) {
      const { entries, faults } = await authority.verifyAudit()
      if (faults.length === 0) return { entries }
      throw new CliError(1, faults.map(({ chain, seq, fault }) => `${fault}: entry ${seq} of ${chain}`).join('\n'))
    }
  },
  {
    name: 'audit tail',
    takes: [],
    does: `Shows the ${SHOWN} newest entries of the audit log, the newest last.`,
    run: async (desk) => (await pageOf(desk, SHOWN)).entries.toReversed().map(shown)
  },
  {
    name: 'audit export',
    takes: [],
    does: 'Writes the audit log as one JSON object a line, the newest entry first.',
    async run(desk) {
      let after: string | undefined
      do {
        const page = await pageOf(desk, PAGE, after)
        // One page at a time, so that a log of any size needs the memory of one.
        await desk.write(page.entries.map((entry) => `${jsonText(shown(entry))}\n`).join(''))
        after = page.next ?? undefined
      } while (after !== undefined)
    }
  }
]
