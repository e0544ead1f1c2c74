import type { AuditedAct } from '../../accounts/slots.ts'
import { OAuthError } from '../../errors.ts'
import { NO_REQUEST, type Origin, type AuthorityEventName, type EventFacts } from '../../events.ts'
import type { Kernel, Parts } from '../../feature.ts'
import type { AuditActor, AuditEntry, AuditLog, AuditOutcome, AuditPage, AuditTarget } from '../../ports/audit-log.ts'
import { logLine } from '../../ports/log.ts'
import { verifyAudit } from './chain.ts'
import type { AuditSettings } from './options.ts'
import { auditWriter, ofService } from './writer.ts'

/**
 * When an event becomes an audit entry. `security`: with `audit.events` `security` or `all`. `all`: only with `all`.
 * `act`: never, because `audit` writes entries for administrators' actions. `never`: the event is about this process.
 */
type Kind = 'security' | 'all' | 'act' | 'never'

const KINDS: Readonly<Record<AuthorityEventName, Kind>> = {
  authenticated: 'security',
  login_failed: 'security',
  client_authentication_failed: 'security',
  second_factor_required: 'all',
  enrolment_required: 'all',
  enrolment_link_made: 'security',
  enrolment_link_used: 'security',
  second_factor_failed: 'security',
  factor_added: 'security',
  factor_removed: 'security',
  factor_disabled: 'security',
  factor_replayed: 'security',
  passkey_counter_regressed: 'security',
  two_step_changed: 'security',
  recovery_code_used: 'security',
  recovery_codes_replaced: 'security',
  device_remembered: 'security',
  step_up: 'security',
  new_sign_in: 'all',
  devices_forgotten: 'security',
  api_key_created: 'security',
  api_key_revoked: 'security',
  registered: 'security',
  connection_failed: 'all',
  link_required: 'all',
  token_issued: 'all',
  token_refreshed: 'all',
  refresh_token_reused: 'security',
  password_reset_requested: 'security',
  password_changed: 'security',
  email_verified: 'security',
  email_change_requested: 'security',
  email_changed: 'security',
  profile_changed: 'security',
  identity_linked: 'security',
  identity_unlinked: 'security',
  account_removed: 'security',
  user_created: 'act',
  user_updated: 'act',
  user_disabled: 'act',
  user_enabled: 'act',
  password_reset_required: 'act',
  user_invited: 'act',
  impersonated: 'act',
  invitation_accepted: 'security',
  logged_out: 'security',
  consent_granted: 'security',
  consent_revoked: 'security',
  device_authorized: 'security',
  message_sent: 'all',
  message_failed: 'all',
  key_created: 'security',
  key_retired: 'security',
  rate_limited: 'all',
  hash_queue_full: 'never',
  store_degraded: 'never',
  audit_degraded: 'never'
}

/** The facts of an event that its audit entry repeats. None of them is a text that a person wrote. */
const DETAILS = [
  'reason',
  'kind',
  'by',
  'method',
  'methods',
  'connection',
  'scope',
  'grantType',
  'fields',
  'on',
  'left',
  'reasons',
  'refused',
  'rotated',
  'rule',
  'attempts',
  'factorId',
  'keyId',
  'alg'
] as const

/** The part of an audit entry that comes from an event. */
interface Recorded {
  action: AuthorityEventName
  outcome: AuditOutcome
  actor: AuditActor
  target: AuditTarget | null
  clientId: string | null
  sid: string | null
  details: Record<string, string | number | boolean>
}

export const recordedEvents = (kinds: 'admin' | 'security' | 'all'): AuthorityEventName[] =>
  (Object.keys(KINDS) as AuthorityEventName[]).filter(
    (name) => kinds !== 'admin' && (KINDS[name] === 'security' || (kinds === 'all' && KINDS[name] === 'all'))
  )

type Facts = Partial<Record<'userId' | 'sid' | 'clientId' | 'kid' | 'by' | 'admin' | (typeof DETAILS)[number], unknown>>

/**
 * Makes an entry from an event. `null`: the host or an administrator removed an account, which `audit` has already
 * recorded.
 */
export function recorded<Name extends AuthorityEventName>(action: Name, given: EventFacts[Name]): Recorded | null {
  const facts = given as Facts
  const [userId, sid, clientId, kid] = [idIn(facts.userId), idIn(facts.sid), idIn(facts.clientId), idIn(facts.kid)]
  if (action === 'account_removed' && sid === null) return null
  const outcome = outcomeOf(action)
  const details = DETAILS.flatMap((name) => {
    const value = Array.isArray(facts[name]) ? facts[name].join(' ') : facts[name]
    return ['string', 'number', 'boolean'].includes(typeof value) ? [[name, value] as const] : []
  })
  return {
    action,
    outcome,
    actor: actorOf({ action, outcome, userId, sid, clientId, by: facts.by }),
    target:
      userId !== null
        ? { type: 'user', id: userId }
        : kid !== null
          ? { type: 'key', id: kid }
          : clientId !== null
            ? { type: 'client', id: clientId }
            : null,
    clientId,
    sid,
    details: Object.fromEntries(details) as Record<string, string | number | boolean>
  }
}

const idIn = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null)

function outcomeOf(action: AuthorityEventName): AuditOutcome {
  if (action === 'message_failed') return 'failed'
  return action.endsWith('_failed') ? 'refused' : 'done'
}

function actorOf({
  action,
  outcome,
  userId,
  sid,
  clientId,
  by
}: {
  action: AuthorityEventName
  outcome: AuditOutcome
  userId: string | null
  sid: string | null
  clientId: string | null
  by: unknown
}): AuditActor {
  if (outcome === 'failed') return { type: 'system', id: null }
  // A failed attempt or a reset request does not prove who made it.
  if (outcome === 'refused' || action === 'password_reset_requested') return { type: 'anonymous', id: null }
  // The event is an effect of disabling a user. The entries of that action name the administrator.
  if (by === 'disabled') return { type: 'system', id: null }
  // A password that is changed without a sign-in is changed by the host.
  if (by === 'host' || by === 'admin' || (by === 'change' && sid === null)) return { type: 'host', id: null }
  if (userId !== null) return { type: 'user', id: userId }
  return clientId === null ? { type: 'system', id: null } : { type: 'client', id: clientId }
}

const DAY_MS = 86_400_000
const CHECKPOINT_MS = 600_000
/** Maximum number of entries that an export reads at once. */
const EXPORT_SLICE = 1000
/** Maximum number of entries, and of IP addresses, that one `prune` call removes. */
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
  const keys = kernel.storedKeysFor('audit')
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

/** Exports the entries that have the user as target or actor, newest first and without duplicates. */
async function entriesOf(userId: string, log: AuditLog): Promise<object[]> {
  const found = new Map<string, AuditEntry>()
  for (const condition of [{ user: userId }, { actor: userId }]) {
    let after: string | null | undefined
    while (after !== null) {
      const page: AuditPage = await log.list({ limit: EXPORT_SLICE, ...condition, after })
      for (const entry of page.entries) found.set(`${entry.chain} ${entry.seq}`, entry)
      after = page.next
    }
  }
  return [...found.values()]
    .toSorted((one, other) => other.at - one.at)
    .map(({ at, action, outcome, actor, target, clientId, ip, details: { reason, ...details } }) => {
      // The IP address and the reason of an administrator are not the user's data.
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
