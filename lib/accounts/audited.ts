import type { AccountSlots, AuditedAct } from './slots.ts'

/** Does an act between two entries of the audit log, if there is one. Without the first entry it is not done. */
export async function audited<Answer>(
  act: AuditedAct<Answer>,
  work: () => Promise<Answer>,
  { slots }: { slots: readonly AccountSlots[] }
): Promise<Answer> {
  const log = slots.find(({ audit }) => audit !== undefined)
  return log?.audit === undefined ? await work() : await log.audit(act, work)
}
