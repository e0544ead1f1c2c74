import { createReadStream, existsSync } from 'node:fs'
import { createInterface } from 'node:readline'
import type { AuditCheckpoint } from '../ports/audit-log.ts'
import { CliError } from './command.ts'

/** The code of a line with a checkpoint. */
export const CHECKPOINT = 'FST_AUTHORITY_AUDIT_CHECKPOINT'

/**
 * The checkpoints in a log of the service, which has one JSON object a line. Other lines are passed over.
 * @throws CliError for a file without one, because it would make a cut log look whole
 */
export async function checkpointsIn(path: string): Promise<AuditCheckpoint[]> {
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
