/** The end of an act. `attempted`: the entry stands before the act, and another one follows. */
export type AuditOutcome = 'attempted' | 'done' | 'refused' | 'failed'

/** The actor. `id`: `null` for an unknown person and for the service itself. */
export interface AuditActor {
  type: 'user' | 'client' | 'host' | 'cli' | 'system' | 'anonymous'
  id: string | null
}

/** The thing that was acted on. */
export interface AuditTarget {
  type: 'user' | 'client' | 'key' | 'log'
  id: string
}

/** An entry. It has ids and words of this library, and no name, address, secret or text of a person. */
export interface AuditEntry {
  /** The start of a process that wrote it. Its entries have the numbers from 1 without a gap. */
  chain: string
  seq: number
  /** Milliseconds since the epoch. Never falls within a chain. */
  at: number
  action: string
  outcome: AuditOutcome
  actor: AuditActor
  target: AuditTarget | null
  clientId: string | null
  sid: string | null
  requestId: string | null
  /** Network address, kept apart and for a shorter time. `null`: none, or removed. */
  ip: string | null
  /** A MAC of the address, by which one address can still be looked for. */
  ipMac: string | null
  details: Readonly<Record<string, string | number | boolean>>
  /** A MAC of the entry and of the MAC before it. */
  mac: string
}

/** All conditions must hold. */
export interface AuditQuery {
  limit: number
  /** The `next` of an answer. */
  after?: string | undefined
  /** The id of the target, where that is a user. */
  user?: string | undefined
  /** The id of the actor. */
  actor?: string | undefined
  action?: string | undefined
  /** Milliseconds since the epoch: `since <= at < until`. */
  since?: number | undefined
  until?: number | undefined
}

/** The newest entries first, and of one time those of a chain in falling order. `next`: `null` on the last page. */
export interface AuditPage {
  entries: AuditEntry[]
  next: string | null
}

/** The last entry of a chain. */
export interface AuditHead {
  seq: number
  mac: string
}

/** Keeps audit entries. Nothing changes an entry, and only `prune` removes some. Outages reject. */
export interface AuditLog {
  /** The log's name in messages. Nothing depends on it. */
  kind: string
  /** True if entries outlive a crash of the server. */
  durable: boolean
  /** Resolves when the entry is durable. Rejects if there is one with this chain and number. */
  append(entry: AuditEntry): Promise<void>
  /** @throws OAuthError `invalid_request` for an `after` that is no `next` */
  list(query: AuditQuery): Promise<AuditPage>
  /** `null`: there is no entry of this chain. */
  head(chain: string): Promise<AuditHead | null>
  /**
   * Removes the contents of entries before this time, always the first ones of a chain, and addresses before the other
   * time; at most `limit` of each. Of a removed prefix the last entry stays, with `action: 'audit_pruned'` and its MAC,
   * and nothing else.
   * @returns how many entries and addresses were removed
   */
  prune(before: number, limit: number, addressesBefore: number): Promise<number>
  prepare?(): Promise<void>
  /** The migrations that `prepare` would make, one text each. Changes nothing. */
  pending?(): Promise<string[]>
}

/** A place at which a log was changed. */
export interface AuditFault {
  chain: string
  seq: number
  /** `changed`: this entry, or its place. `missing`: entries before this one. `cut`: the end, up to this one. */
  fault: 'changed' | 'missing' | 'cut'
}

/** An entry that is known from another place too, such as a line of the log of the service. */
export interface AuditCheckpoint {
  chain: string
  seq: number
  mac: string
  /** Milliseconds since the epoch. */
  at: number
}

/** The result of reading a whole log. `entries`: how many there are. */
export interface AuditVerdict {
  entries: number
  faults: AuditFault[]
}

/** The action of the entry that stays where a prefix of a chain was removed. */
export const PRUNED = 'audit_pruned'

/** The remains of a removed prefix: its last number and MAC. */
export function prunedEntry({ chain, seq, at, mac }: Pick<AuditEntry, 'chain' | 'seq' | 'at' | 'mac'>): AuditEntry {
  return {
    chain,
    seq,
    at,
    action: PRUNED,
    outcome: 'done',
    actor: { type: 'system', id: null },
    target: null,
    clientId: null,
    sid: null,
    requestId: null,
    ip: null,
    ipMac: null,
    details: {},
    mac
  }
}
