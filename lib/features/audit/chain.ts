import { createHmac, timingSafeEqual } from 'node:crypto'
import {
  type AuditCheckpoint,
  type AuditEntry,
  type AuditFault,
  type AuditLog,
  type AuditVerdict,
  PRUNED
} from '../../ports/audit-log.ts'

/** Stands for the previous MAC in the first entry of a chain. */
export const NO_MAC = ''
const FORM = 'fastify-authority audit 1'
const PAGE = 500

/** An entry that is not part of a chain yet. */
export type Unchained = Omit<AuditEntry, 'chain' | 'seq' | 'mac'>

/**
 * Computes the MAC of an entry over its content and the MAC of the entry before. Covers `ipMac` instead of the IP
 * address, so that the address can be deleted later.
 */
export function macOf(key: Uint8Array, entry: Omit<AuditEntry, 'mac'>, before: string): string {
  const { chain, seq, at, action, outcome, actor, target, clientId, sid, requestId, ipMac, details } = entry
  const facts = Object.entries(details).toSorted(([one], [other]) => (one < other ? -1 : 1))
  const who = [actor.type, actor.id, target === null ? null : [target.type, target.id]]
  const canonical = [FORM, before, chain, seq, at, action, outcome, who, clientId, sid, requestId, ipMac, facts]
  return createHmac('sha256', key).update(JSON.stringify(canonical)).digest('base64url')
}

/**
 * Computes a MAC of an IP address. The MAC outlives the address, so that entries of a given address can still be found.
 */
export const addressMac = (key: Uint8Array, ip: string): string =>
  createHmac('sha256', key).update(`address ${ip}`).digest('base64url')

/**
 * Reads the whole log, newest entries first, and looks for manipulation.
 * @param keys one key for each secret, because a chain uses the key that was current when it began
 * @param checkpoints entries that must exist. Only checkpoints reveal that a whole chain or its end is missing, or that
 * its beginning was pruned too soon
 * @param retainedSince milliseconds since the epoch. No checkpoint since then may be pruned
 */
export async function verifyAudit(
  log: Pick<AuditLog, 'list'>,
  keys: readonly Uint8Array[],
  checkpoints: readonly AuditCheckpoint[] = [],
  retainedSince = -Infinity
): Promise<AuditVerdict> {
  const faults: AuditFault[] = []
  /** The last entry read of each chain. The next entry read of that chain should be its predecessor. */
  const open = new Map<string, AuditEntry>()
  const ends = new Map<string, number>()
  const known = new Map(checkpoints.map(({ chain, seq, mac }) => [`${chain} ${seq}`, mac]))
  const check = (entry: AuditEntry, before: string): void => {
    const key = keys.find((one) => equal(macOf(one, entry, before), entry.mac))
    const { ip, ipMac } = entry
    if (key === undefined || (ip !== null && !equal(addressMac(key, ip), ipMac ?? ''))) fault(entry, 'changed')
  }
  const fault = ({ chain, seq }: Pick<AuditEntry, 'chain' | 'seq'>, what: AuditFault['fault']): void => {
    faults.push({ chain, seq, fault: what })
  }

  let entries = 0
  let after: string | undefined
  do {
    const page = await log.list({ limit: PAGE, ...(after === undefined ? {} : { after }) })
    for (const entry of page.entries) {
      entries++
      const later = open.get(entry.chain)
      if (later === undefined) ends.set(entry.chain, entry.seq)
      else if (later.seq <= entry.seq) fault(later, 'changed')
      else if (later.seq === entry.seq + 1) check(later, entry.mac)
      else fault(later, 'missing')
      const { chain, seq, mac } = entry
      if (!equal(known.get(`${chain} ${seq}`) ?? mac, mac)) fault(entry, 'changed')
      open.set(chain, entry)
    }
    after = page.next ?? undefined
  } while (after !== undefined)

  for (const first of open.values()) {
    if (first.action === PRUNED) continue
    if (first.seq === 1) check(first, NO_MAC)
    else fault(first, 'missing')
  }
  for (const { chain, seq, at } of checkpoints) {
    const first = open.get(chain)
    if (seq > (ends.get(chain) ?? 0)) fault({ chain, seq }, 'cut')
    else if (first?.action === PRUNED && seq <= first.seq && at >= retainedSince) fault({ chain, seq }, 'missing')
  }
  return { entries, faults }
}

/** Compares two MACs in constant time. */
export function equal(one: string, other: string): boolean {
  const [first, second] = [Buffer.from(one), Buffer.from(other)]
  return first.length === second.length && timingSafeEqual(first, second)
}
