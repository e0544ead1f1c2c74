import { type AuditEntry, type AuditLog, type AuditQuery, PRUNED, prunedEntry } from '../../ports/audit-log.ts'
import { pageOf, placeAfter } from '../../protocol/audit-place.ts'
import { integer, isRow, jsonObject, type Row, text, textOrNull } from './rows.ts'

type Value = string | number | null
/** Each `?` in `sql` stands for the next value. */
type Statement = [sql: string, ...values: Value[]]
interface Access {
  /** Runs one statement in a transaction of its own. */
  run(...statement: Statement): Promise<Row[]>
  /** Runs two statements on different rows in one transaction. */
  both(one: Statement, other: Statement): Promise<unknown>
}

const COLUMNS = ['chain', 'seq', 'at', 'action', 'outcome', 'user_id', 'actor_id', 'ip', 'entry', 'mac'] as const

/** The columns that `prune` replaces in the entry that stays as a mark of the removed entries. */
const REPLACED = ['action', 'outcome', 'user_id', 'actor_id', 'ip', 'entry'] as const

/** The values of an entry by their columns. The column `entry` contains the other fields as JSON. */
function rowOf({
  chain,
  seq,
  at,
  action,
  outcome,
  ip,
  mac,
  ...rest
}: AuditEntry): Record<(typeof COLUMNS)[number], Value> {
  const user = rest.target?.type === 'user' ? rest.target.id : null
  const ids = { user_id: user, actor_id: rest.actor.id }
  return { chain, seq, at, action, outcome, ...ids, ip, entry: JSON.stringify(rest), mac }
}

type Rest = Pick<AuditEntry, 'actor' | 'target' | 'clientId' | 'sid' | 'requestId' | 'ipMac' | 'details'>

const EMPTY: Rest = {
  actor: { type: 'system', id: null },
  target: null,
  clientId: null,
  sid: null,
  requestId: null,
  ipMac: null,
  details: {}
}

/** Returns `instead` for an unreadable column, so that an entry that an attacker damaged does not hide all others. */
function readable<Result>(read: () => Result, instead: Result): Result {
  try {
    return read()
  } catch {
    return instead
  }
}

/** The last time that a `Date` can hold, in milliseconds. */
const LAST_TIME = 8.64e15

function timeIn(row: Row): number {
  const at = integer(row, 'at')
  if (Math.abs(at) > LAST_TIME) throw new RangeError('at is no time.')
  return at
}

function restOf(row: Row): Rest {
  const given = readable(() => jsonObject(row, 'entry'), {})
  return {
    ...EMPTY,
    ...given,
    actor: isRow(given['actor']) ? (given['actor'] as unknown as Rest['actor']) : EMPTY.actor,
    target: isRow(given['target']) ? (given['target'] as unknown as Rest['target']) : null,
    details: isRow(given['details']) ? (given['details'] as Rest['details']) : {}
  }
}

function entryOf(row: Row): AuditEntry {
  const rest = restOf(row)
  // Takes the ids from the columns that queries search, so that the check of the MAC covers these columns.
  const actor = { ...rest.actor, id: textOrNull(row, 'actor_id') }
  const userId = textOrNull(row, 'user_id')
  const target =
    userId === null && rest.target?.type !== 'user' ? rest.target : { type: 'user' as const, id: userId ?? '' }
  return {
    ...rest,
    actor,
    target,
    chain: text(row, 'chain'),
    seq: readable(() => integer(row, 'seq'), 0),
    at: readable(() => timeIn(row), 0),
    action: text(row, 'action'),
    outcome: text(row, 'outcome') as AuditEntry['outcome'],
    ip: textOrNull(row, 'ip'),
    mac: text(row, 'mac')
  }
}

/** An audit log over a table. */
export function sqlAudit(kind: string, table: string, { run, both }: Access): Omit<AuditLog, 'prepare'> {
  const columns = COLUMNS.join(', ')
  const insert = `INSERT INTO ${table} (${columns}) VALUES (${COLUMNS.map(() => '?').join(', ')}) RETURNING 1 AS done`
  const oldest = `SELECT chain FROM ${table} WHERE at < ? AND action <> '${PRUNED}' ORDER BY at, chain, seq LIMIT 1`
  const prefix = `SELECT seq, at, mac FROM ${table} WHERE chain = ? AND at < ? AND action <> '${PRUNED}'
    ORDER BY seq LIMIT ?`
  const replace = `UPDATE ${table} SET ${REPLACED.map((name) => `${name} = ?`).join(', ')}
    WHERE chain = ? AND seq = ? RETURNING 1 AS done`
  const remove = `DELETE FROM ${table} WHERE chain = ? AND seq < ? RETURNING 1 AS done`
  const forget = `UPDATE ${table} SET ip = NULL WHERE (chain, seq) IN
    (SELECT chain, seq FROM ${table} WHERE ip IS NOT NULL AND at < ? LIMIT ?) RETURNING 1 AS done`

  return {
    kind,
    durable: true,
    async append(entry) {
      const row = rowOf(entry)
      await run(insert, ...COLUMNS.map((name) => row[name]))
    },
    async list(query) {
      const conditions = conditionsOf(query)
      const where = conditions.map(([sql]) => sql).join(' AND ')
      const rows = await run(
        `SELECT ${columns} FROM ${table}${where === '' ? '' : ` WHERE ${where}`}
         ORDER BY at DESC, chain DESC, seq DESC LIMIT ?`,
        ...conditions.flatMap(([, ...values]) => values),
        query.limit + 1
      )
      return pageOf(rows.map(entryOf), query.limit)
    },
    async head(chain) {
      const [row] = await run(`SELECT seq, mac FROM ${table} WHERE chain = ? ORDER BY seq DESC LIMIT 1`, chain)
      return row === undefined ? null : { seq: integer(row, 'seq'), mac: text(row, 'mac') }
    },
    async prune(before, limit, addressesBefore) {
      let changed = (await run(forget, addressesBefore, limit)).length
      const [found] = await run(oldest, before)
      if (found === undefined) return changed
      const chain = text(found, 'chain')
      const rows = await run(prefix, chain, before, limit)
      const last = rows.at(-1)
      if (last !== undefined) {
        // Keeps the last of the old entries as a mark of the removed ones. A mark with entries before it, or a removal
        // without a mark, would look like tampering, so one transaction does both.
        const mark = prunedEntry({ chain, seq: integer(last, 'seq'), at: integer(last, 'at'), mac: text(last, 'mac') })
        const row = rowOf(mark)
        await both([replace, ...REPLACED.map((name) => row[name]), chain, mark.seq], [remove, chain, mark.seq])
        changed += rows.length
      }
      return changed
    }
  }
}

function conditionsOf({ after, user, actor, action, since, until }: AuditQuery): Array<[string, ...Value[]]> {
  const place = placeAfter(after)
  const all: Array<[string, ...Array<Value | undefined>] | null> = [
    place === null ? null : ['(at, chain, seq) < (?, ?, ?)', place.at, place.chain, place.seq],
    ['user_id = ?', user],
    ['actor_id = ?', actor],
    ['action = ?', action],
    ['at >= ?', since],
    ['at < ?', until]
  ]
  return all.filter((one): one is [string, ...Value[]] => one !== null && one[1] !== undefined)
}

/** `prefix`: the quoted schema with a dot, or empty. */
interface AuditName {
  prefix: string
  name: string
}

/** The table and its indexes. Each adapter adds a trigger that forbids changes, in its own SQL. */
export const auditTable = (
  { prefix, name }: AuditName,
  { integers, suffix, collate }: Record<'integers' | 'suffix' | 'collate', string>
) => `
  CREATE TABLE ${prefix}${name} (
    chain TEXT${collate} NOT NULL,
    seq ${integers} NOT NULL,
    at ${integers} NOT NULL,
    action TEXT NOT NULL,
    outcome TEXT NOT NULL,
    user_id TEXT,
    actor_id TEXT,
    ip TEXT,
    entry TEXT NOT NULL,
    mac TEXT NOT NULL,
    PRIMARY KEY (chain, seq)
  )${suffix};
  CREATE INDEX ${name}_at ON ${prefix}${name} (at, chain, seq);
  CREATE INDEX ${name}_user ON ${prefix}${name} (user_id, at, chain, seq);
  CREATE INDEX ${name}_actor ON ${prefix}${name} (actor_id, at, chain, seq);
  CREATE INDEX ${name}_action ON ${prefix}${name} (action, at, chain, seq);`

/** An index for `prune`, which finds old IP addresses without reading the entries whose address is already removed. */
export const addressIndex = ({ prefix, name }: AuditName): string =>
  `CREATE INDEX ${name}_ip ON ${prefix}${name} (at) WHERE ip IS NOT NULL;`
