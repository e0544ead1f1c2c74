/**
 * The outcome of an audited action. `attempted`: the entry is written before the action, and a second entry reports its
 * outcome.
 */
export type AuditOutcome = 'attempted' | 'done' | 'refused' | 'failed'

/**
 * The party that acted. `id` is `null` for an unknown person, for the service itself, and for a host that named nobody.
 */
export interface AuditActor {
  type: 'user' | 'client' | 'host' | 'cli' | 'system' | 'anonymous'
  id: string | null
}

/** The user, client, key or log to which the action applies. */
export interface AuditTarget {
  type: 'user' | 'client' | 'key' | 'log'
  id: string
}

/**
 * An entry of the audit log. Contains ids and fixed words of this library, but no name, email address or secret. Only
 * the `reason` of an administrator, in `details`, is a text that a person wrote.
 */
export interface AuditEntry {
  /** The id of a run of one process. Each run numbers its entries from 1 without a gap (`seq`). */
  chain: string
  seq: number
  /** Milliseconds since the epoch. Never decreases within a chain. */
  at: number
  action: string
  outcome: AuditOutcome
  actor: AuditActor
  target: AuditTarget | null
  clientId: string | null
  sid: string | null
  requestId: string | null
  /** The IP address. `mac` does not cover it, so that it can be removed before the entry. `null`: none, or removed. */
  ip: string | null
  /** A MAC of the IP address. It stays when `ip` is removed, so that a search for a known address still works. */
  ipMac: string | null
  details: Readonly<Record<string, string | number | boolean>>
  /** A MAC of this entry and of the `mac` of the previous entry. */
  mac: string
}

/** Filters. An entry must match all of them. */
export interface AuditQuery {
  limit: number
  /** The `next` of the previous page. */
  after?: string | undefined
  /** The id of the user who is the target. */
  user?: string | undefined
  /** The id of the actor. */
  actor?: string | undefined
  action?: string | undefined
  /** Milliseconds since the epoch: `since <= at < until`. */
  since?: number | undefined
  until?: number | undefined
}

/**
 * Entries by time, newest first. Entries of the same time are sorted by chain and number, both descending. `next`:
 * `null` on the last page.
 */
export interface AuditPage {
  entries: AuditEntry[]
  next: string | null
}

/** The last entry of a chain. */
export interface AuditHead {
  seq: number
  mac: string
}

/**
 * Stores audit entries. Only `prune` removes entries and IP addresses. No other method changes an entry. A method
 * rejects during an outage.
 */
export interface AuditLog {
  /** The log's name in messages. `memory` means that the contents end with the process. */
  kind: string
  /** True if entries outlive a crash of the server. */
  durable: boolean
  /** Resolves when the entry is durable. Rejects if an entry with this chain and number exists. */
  append(entry: AuditEntry): Promise<void>
  /** @throws OAuthError `invalid_request` if `after` is not the `next` of a page */
  list(query: AuditQuery): Promise<AuditPage>
  /** `null`: there is no entry of this chain. */
  head(chain: string): Promise<AuditHead | null>
  /**
   * Removes up to `limit` entries that are older than `before`, only from the beginning of a chain. In each chain, the
   * last of them stays as a mark of the removed prefix, with its MAC, the action `audit_pruned` and no other contents.
   * Removes up to `limit` IP addresses that are older than `addressesBefore`.
   * @returns the number of removed entries and addresses together
   */
  prune(before: number, limit: number, addressesBefore: number): Promise<number>
  prepare?(): Promise<void>
  /** The migrations that `prepare` would make, one text each. Changes nothing. */
  pending?(): Promise<string[]>
}

/** A sign that an audit log was tampered with. */
export interface AuditFault {
  chain: string
  seq: number
  /**
   * `changed`: this entry was changed or moved. `missing`: entries before this one are gone, or this checkpoint was
   * pruned too early. `cut`: the last entries of the chain are gone, at least this one.
   */
  fault: 'changed' | 'missing' | 'cut'
}

/** An entry that is also recorded outside the audit log, such as in a log line of the service. */
export interface AuditCheckpoint {
  chain: string
  seq: number
  mac: string
  /** Milliseconds since the epoch. */
  at: number
}

/** The result of verifying a whole log. `entries`: the number of entries read. */
export interface AuditVerdict {
  entries: number
  faults: AuditFault[]
}

/** The action of the entry that stays where a prefix of a chain was removed. */
export const PRUNED = 'audit_pruned'

/** Builds the entry that stands for a removed prefix of a chain. Keeps the number, time and MAC of its last entry. */
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
