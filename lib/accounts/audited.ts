import { type AccountSlots, type AuditedAct, slotOf } from './slots.ts'

/** Does an act between two entries of the audit log, if there is one. Without the first entry it is not done. */
export async function audited<Answer>(
  act: AuditedAct<Answer>,
  work: () => Promise<Answer>,
  deps: { slots: readonly AccountSlots[] }
): Promise<Answer> {
  const audit = slotOf(deps, 'audit')
  return audit === null ? await work() : await audit(act, work)
}
