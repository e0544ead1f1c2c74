import type { AuditedAct } from '../../accounts/slots.ts'
import { OAuthError } from '../../errors.ts'
import { NO_REQUEST, type Origin } from '../../events.ts'
import type { Kernel, Parts } from '../../feature.ts'
import type { AuditLog, AuditTarget } from '../../ports/audit-log.ts'
import { logLine } from '../../ports/log.ts'
import { verifyAudit } from './chain.ts'
import type { AuditSettings } from './options.ts'
import { recorded, recordedEvents } from './recorded.ts'
import { auditWriter, ofService } from './writer.ts'

const DAY_MS = 86_400_000
const CHECKPOINT_MS = 600_000
const MOST_EXPORTED = 1000
/** Entries that one round of a sweep removes. */
const SLICE = 1000

export async function create(
  { log, events: kinds, retainDays, addressDays }: AuditSettings,
  kernel: Kernel
): Promise<Parts> {
  const { accounts } = kernel
  const { clock, events, random, onError } = accounts
  await kernel.prepare('the audit log', async () => {
    await log.prepare?.()
  })
  const keys = kernel.keysFor('audit')
  const writer = auditWriter(log, keys[0], {
    clock,
    random,
    onError,
    onDegraded: (entries) => {
      events.emit('audit_degraded', { waiting: entries }, NO_REQUEST)
    },
    onCheckpoint: (checkpoint) => {
      kernel.log.info(...logLine('FST_AUTHORITY_AUDIT_CHECKPOINT', 'the audit log has this entry', { checkpoint }))
    }
  })
  for (const name of recordedEvents(kinds))
    events.on(name, (payload) => {
      const entry = recorded(name, payload)
      if (entry !== null) writer.may({ ...entry, ...originOf(payload) })
    })
  writer.may(ofService('started'))
  let checkedAt = clock.monotonic()

  return {
    account: {
      auditLog: log,
      exported: async ({ id }) => ({ audit: await entriesOf(id, log) }),
      async audit<Answer>(act: AuditedAct<Answer>, work: () => Promise<Answer>): Promise<Answer> {
        const { action, actor, reason, fields, origin, targetOf } = act
        const facts = { action, actor, clientId: null, sid: null, ...originOf(origin) }
        const details = { ...(reason === undefined ? {} : { reason }), ...(fields === undefined ? {} : { fields }) }
        const seq = await writer.must({ ...facts, outcome: 'attempted', target: act.target, details })
        const end = (outcome: 'done' | 'refused' | 'failed', target: AuditTarget | null, error?: string): void => {
          writer.may({ ...facts, outcome, target, details: { of: seq, ...(error === undefined ? {} : { error }) } })
        }
        try {
          const answer = await work()
          end('done', targetOf?.(answer) ?? act.target)
          return answer
        } catch (error) {
          const isRefusal = error instanceof OAuthError && error.statusCode < 500
          end(isRefusal ? 'refused' : 'failed', act.target, error instanceof OAuthError ? error.error : undefined)
          throw error
        }
      }
    },
    authority: () => ({
      verifyAudit: async (checkpoints) => await verifyAudit(log, keys, checkpoints, clock.now() - retainDays * DAY_MS)
    }),
    async sweep(now) {
      if (clock.monotonic() - checkedAt >= CHECKPOINT_MS) {
        checkedAt = clock.monotonic()
        writer.checkpoint()
      }
      const [before, addressesBefore] = [now - retainDays * DAY_MS, now - addressDays * DAY_MS]
      while ((await log.prune(before, SLICE, addressesBefore)) > 0) await new Promise(setImmediate)
    },
    close: async () => {
      await writer.close()
    }
  }
}

/** The newest entries about a user and by them, each once. */
async function entriesOf(userId: string, log: AuditLog): Promise<object[]> {
  const pages = await Promise.all([
    log.list({ limit: MOST_EXPORTED, user: userId }),
    log.list({ limit: MOST_EXPORTED, actor: userId })
  ])
  const found = new Map(pages.flatMap(({ entries }) => entries).map((entry) => [`${entry.chain} ${entry.seq}`, entry]))
  return [...found.values()]
    .toSorted((one, other) => other.at - one.at)
    .map(({ at, action, outcome, actor, target, clientId, ip, details: { reason, ...details } }) => {
      // The address and the words of an administrator are not the user's data.
      const isOwn = actor.type === 'user' && actor.id === userId
      return {
        at: new Date(at).toISOString(),
        action,
        outcome,
        actor,
        target,
        client_id: clientId,
        ip: isOwn ? ip : null,
        details: isOwn && reason !== undefined ? { ...details, reason } : details
      }
    })
}

const originOf = ({ requestId, ip }: Origin): { requestId: string | null; ip: string | null } => ({
  requestId,
  ip: ip ?? null
})
