import { counted } from '../pages/counted.ts'
import { slotOf } from '../accounts/slots.ts'
import type { LogCode } from '../ports/log.ts'
import type { AuditEntry, AuditPage, AuditQuery, AuditCheckpoint } from '../ports/audit-log.ts'
import { CliError, type Desk, jsonText, Said, type StoreCommand } from './command.ts'
import { createReadStream, existsSync } from 'node:fs'
import { createInterface } from 'node:readline'

/** The `code` of a log line that contains a checkpoint of the audit log. */
export const CHECKPOINT = 'FST_AUTHORITY_AUDIT_CHECKPOINT' satisfies LogCode

/**
 * Reads the checkpoints from a log file of the service with one JSON object per line. Skips other lines.
 * @throws CliError for a missing file, for a checkpoint with wrong fields, and for a file without a checkpoint, because
 * a truncated audit log would then pass as complete
 */
async function checkpointsIn(path: string): Promise<AuditCheckpoint[]> {
  if (!existsSync(path)) throw new CliError(2, `There is no file ${path}.`)
  const found: AuditCheckpoint[] = []
  let number = 0
  for await (const line of createInterface({ input: createReadStream(path) })) {
    number++
    if (!line.includes(CHECKPOINT)) continue
    const { code, checkpoint } = fieldsOf(line)
    if (code !== CHECKPOINT) continue
    if (!isCheckpoint(checkpoint)) throw new CliError(2, `Line ${number} of ${path} has no whole checkpoint.`)
    found.push(checkpoint)
  }
  if (found.length === 0) throw new CliError(2, `The file ${path} has no line with the code ${CHECKPOINT}.`)
  return found
}

function fieldsOf(line: string): { code?: unknown; checkpoint?: unknown } {
  try {
    return (JSON.parse(line) as object | null) ?? {}
  } catch {
    return {}
  }
}

function isCheckpoint(value: unknown): value is AuditCheckpoint {
  if (typeof value !== 'object' || value === null) return false
  const { chain, seq, mac, at } = value as Record<string, unknown>
  return typeof chain === 'string' && typeof mac === 'string' && Number.isSafeInteger(seq) && Number.isFinite(at)
}

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
        // Writes page by page, so that the memory does not grow with the size of the log.
        await desk.write(page.entries.map((entry) => `${jsonText(shown(entry))}\n`).join(''))
        after = page.next ?? undefined
      } while (after !== undefined)
    }
  }
]
