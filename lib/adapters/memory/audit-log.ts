import { type AuditEntry, type AuditLog, PRUNED, prunedEntry } from '../../ports/audit-log.ts'
import { pageOf, placeAfter } from '../../protocol/audit-place.ts'

/** An audit log in the memory of one process, for development and tests. */
export function memoryAudit(): AuditLog {
  /** Sorted by `byTime`, oldest first. `list` returns the newest first. */
  let entries: AuditEntry[] = []
  let places = new Set<string>()
  return {
    kind: 'memory',
    durable: false,
    async append(entry) {
      const place = numberOf(entry)
      if (places.has(place)) throw new Error('The audit log has an entry with this number.')
      places.add(place)
      const last = entries.at(-1)
      entries.push(structuredClone(entry))
      if (last !== undefined && byTime(last, entry) > 0) entries.sort(byTime)
    },
    async list({ limit, after, user, actor, action, since = 0, until = Infinity }) {
      const place = placeAfter(after)
      const found = entries.filter(
        (entry) =>
          (place === null || byTime(entry, place) < 0) &&
          (user === undefined || (entry.target?.type === 'user' && entry.target.id === user)) &&
          (actor === undefined || entry.actor.id === actor) &&
          (action === undefined || entry.action === action) &&
          entry.at >= since &&
          entry.at < until
      )
      return pageOf(structuredClone(found.slice(-limit - 1).toReversed()), limit)
    },
    async head(chain) {
      const last = entries.findLast((entry) => entry.chain === chain)
      return last === undefined ? null : { seq: last.seq, mac: last.mac }
    },
    async prune(before, limit, addressesBefore) {
      const old = entries.filter(({ at, action }) => at < before && action !== PRUNED).slice(0, limit)
      const ends = new Map(old.map(({ chain, seq }) => [chain, seq]))
      if (old.length > 0)
        entries = entries
          .filter(({ chain, seq }) => seq >= (ends.get(chain) ?? 0))
          .map((entry) => (entry.seq === ends.get(entry.chain) ? prunedEntry(entry) : entry))
      places = new Set(entries.map(numberOf))
      const addressed = entries.filter(({ at, ip }) => at < addressesBefore && ip !== null).slice(0, limit)
      for (const entry of addressed) entry.ip = null
      return old.length + addressed.length
    }
  }
}

const numberOf = ({ chain, seq }: AuditEntry): string => `${chain} ${seq}`

type Place = Pick<AuditEntry, 'at' | 'chain' | 'seq'>

const byTime = (one: Place, other: Place): number =>
  one.at - other.at || (one.chain < other.chain ? -1 : one.chain > other.chain ? 1 : one.seq - other.seq)
