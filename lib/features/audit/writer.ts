import type { AccountsDeps } from '../../accounts/deps.ts'
import { within } from '../../boundary/answers.ts'
import { OAuthError } from '../../errors.ts'
import type { AuditAction } from '../../events.ts'
import type { AuditCheckpoint, AuditHead, AuditLog } from '../../ports/audit-log.ts'
import { addressMac, equal, macOf, NO_MAC, type Unchained } from './chain.ts'

/**
 * Time limit for one call of the log. For `must`, the same limit covers the whole write and the wait for earlier
 * entries.
 */
const BUDGET_MS = 3000
/** Maximum number of event entries that wait for the store. */
const MOST_WAITING = 10_000
const RETRY_MS = 1000
/** Maximum length of `givenUp`. */
const MOST_GIVEN_UP = 1000
const CHECKPOINT_ENTRIES = 1000

type Deps = Pick<AccountsDeps, 'clock' | 'random' | 'onError'> & {
  /** Called once when a queued entry can't be written, and again only after a write has succeeded in between. */
  onDegraded(waiting: number): void
  /** Called with the end of the chain, to record it where an attacker with access to the table can't change it. */
  onCheckpoint(checkpoint: AuditCheckpoint): void
}

type Given = Omit<Unchained, 'at' | 'ipMac'>

interface AuditWriter {
  /**
   * Resolves to the number of the entry. @throws OAuthError `temporarily_unavailable` if the entry can't be written now
   */
  must(entry: Given): Promise<number>
  /** Queues the entry. Drops it if too many entries wait. A later entry `audit_gap` counts the dropped entries. */
  may(entry: Given): void
  checkpoint(): void
  close(): Promise<void>
}

/**
 * Writes the entries of one chain, one at a time. If a write fails, looks up whether the store has the entry before
 * another entry gets its number, so that the chain has no gap.
 */
export function auditWriter(log: AuditLog, key: Uint8Array, deps: Deps): AuditWriter {
  const { clock, random } = deps
  const chain = random.id()
  let [seq, mac, marked, at] = [0, NO_MAC, 0, 0]
  /** The entry whose write failed in an unknown state: the log may have it or not. */
  let unsure: Parameters<AuditLog['append']>[0] | null = null
  /** Entries whose write timed out and that the store did not have then. A late write may still store them. */
  const givenUp: AuditHead[] = []
  let last: Promise<unknown> = Promise.resolve()
  const waiting: Unchained[] = []
  let lost = 0
  let isDegraded = false
  let draining: Promise<void> | null = null
  let isClosing = false
  let wake = (): void => {}

  const stamped = (entry: Given): Unchained => ({
    ...entry,
    at: clock.now(),
    ipMac: entry.ip === null ? null : addressMac(key, entry.ip)
  })

  /**
   * Writes an entry after all earlier ones, because its MAC includes the MAC before. `turn.isOver`: the caller has
   * given up, so the entry is not written.
   */
  function write(entry: Unchained, turn = { isOver: false }): Promise<number> {
    const written = last.then(async () => {
      if (turn.isOver) throw new Error('Its time was over before its turn came.')
      return (await attempt(entry)) ?? (await attempt(entry)) ?? failed()
    })
    last = written.catch(() => {})
    return written
  }

  /** Resolves to the number of the written entry. `null`: a late write took this number, so the caller tries again. */
  async function attempt(entry: Unchained): Promise<number | null> {
    if (unsure !== null) await settle(unsure)
    at = Math.max(at, entry.at)
    const place = { ...entry, at, chain, seq: seq + 1 }
    const whole = { ...place, mac: macOf(key, place, mac) }
    unsure = whole
    try {
      await within(BUDGET_MS, clock, async () => await log.append(whole))
    } catch (error) {
      const outcome = await settle(whole).catch(() => 'unknown')
      if (outcome === 'late') return null
      if (outcome !== 'written') throw error
      return whole.seq
    }
    taken(whole)
    return whole.seq
  }

  const failed = (): never => {
    throw new Error('The numbers of the audit log were taken twice.')
  }

  function taken({ seq: number, mac: next }: AuditHead): void {
    ;[seq, mac, unsure] = [number, next, null]
    givenUp.length = 0
    if (seq - marked >= CHECKPOINT_ENTRIES) checkpoint()
  }

  /**
   * Finds out whether the store has the entry. `late`: the store has an entry of `givenUp` under this number, because
   * it finished a write after the time limit.
   */
  async function settle(entry: AuditHead): Promise<'written' | 'late' | 'not'> {
    const head = await within(BUDGET_MS, clock, async () => await log.head(chain))
    if ((head?.seq ?? 0) === seq) {
      unsure = null
      if (givenUp.length < MOST_GIVEN_UP) givenUp.push({ seq: entry.seq, mac: entry.mac })
      return 'not'
    }
    const isOf = (one: AuditHead): boolean => head?.seq === one.seq && equal(head.mac, one.mac)
    const late = givenUp.find(isOf)
    if (!isOf(entry) && late === undefined)
      throw new Error('The audit log has entries of this chain that this process did not write.')
    taken(isOf(entry) ? entry : (late ?? entry))
    return late === undefined ? 'written' : 'late'
  }

  function checkpoint(): void {
    if (seq === marked) return
    marked = seq
    deps.onCheckpoint({ chain, seq, mac, at })
  }

  async function drain(): Promise<void> {
    for (let next = waiting[0]; next !== undefined; next = waiting[0]) {
      try {
        await write(next)
        waiting.shift()
        if (isDegraded || lost > 0) tellOfGap()
      } catch (error) {
        if (!isDegraded) {
          isDegraded = true
          deps.onError(error, 'audit entries can not be written; they wait')
          deps.onDegraded(waiting.length)
        }
        await new Promise<void>((resolve) => {
          const cancel = clock.after(RETRY_MS, resolve)
          wake = () => {
            cancel()
            resolve()
          }
        })
        if (isClosing) return
      }
    }
  }

  /** Queues the entry `audit_gap`: entries before it were written late, and `lost` entries are missing. */
  function tellOfGap(): void {
    isDegraded = false
    waiting.push(stamped(ofService('audit_gap', { lost })))
    lost = 0
  }

  function queue(entry: Given): void {
    if (waiting.length >= MOST_WAITING) {
      lost++
      return
    }
    waiting.push(stamped(entry))
    draining ??= drain().finally(() => {
      draining = null
    })
  }

  return {
    async must(entry) {
      const turn = { isOver: false }
      try {
        return await within(BUDGET_MS, clock, async () => await write(stamped(entry), turn))
      } catch (error) {
        // The action was refused, so the entry must not be written when its turn comes.
        turn.isOver = true
        deps.onError(error, 'an audit entry could not be written')
        throw new OAuthError('temporarily_unavailable', "Nothing was changed: the audit log can't be written.")
      }
    },
    may: queue,
    checkpoint,
    async close() {
      isClosing = true
      wake()
      await draining
      await last
      const missing = waiting.length + lost
      if (missing > 0) deps.onError(new Error('The log was down until the end.'), `${missing} audit entries are lost`)
      checkpoint()
    }
  }
}

/** Makes an entry whose actor is the service itself. */
export const ofService = (action: AuditAction, details: Given['details'] = {}): Given => ({
  action,
  outcome: 'done',
  actor: { type: 'system', id: null },
  target: null,
  clientId: null,
  sid: null,
  requestId: null,
  ip: null,
  details
})
