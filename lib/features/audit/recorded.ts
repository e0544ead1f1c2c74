import type { AuthorityEventName, EventFacts } from '../../events.ts'
import type { AuditActor, AuditOutcome, AuditTarget } from '../../ports/audit-log.ts'

/**
 * How an event becomes an entry. `security`: recorded by default. `all`: only on demand. `act`: an act of an
 * administrator, which has entries of its own. `never`: it is about this process.
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

/** The facts that an entry repeats: words and ids of this library, and nothing that a person wrote. */
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

/** An event as an entry says it. */
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

/** The entry of an event. `null`: an act of an administrator, which has its own. */
export function recorded<Name extends AuthorityEventName>(action: Name, given: EventFacts[Name]): Recorded | null {
  const facts = given as Facts
  if (action === 'account_removed' && facts.admin !== undefined) return null
  const [userId, clientId, kid] = [idIn(facts.userId), idIn(facts.clientId), idIn(facts.kid)]
  const isFailure = action.endsWith('_failed')
  const details = DETAILS.flatMap((name) => {
    const value = Array.isArray(facts[name]) ? facts[name].join(' ') : facts[name]
    return ['string', 'number', 'boolean'].includes(typeof value) ? [[name, value] as const] : []
  })
  return {
    action,
    outcome: isFailure ? 'refused' : 'done',
    actor: actorOf({ action, isFailure, userId, clientId, by: facts.by }),
    target:
      userId !== null
        ? { type: 'user', id: userId }
        : kid !== null
          ? { type: 'key', id: kid }
          : clientId !== null
            ? { type: 'client', id: clientId }
            : null,
    clientId,
    sid: idIn(facts.sid),
    details: Object.fromEntries(details) as Record<string, string | number | boolean>
  }
}

const idIn = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null)

function actorOf({
  action,
  isFailure,
  userId,
  clientId,
  by
}: {
  action: AuthorityEventName
  isFailure: boolean
  userId: string | null
  clientId: string | null
  by: unknown
}): AuditActor {
  // A failure proves nobody.
  if (isFailure || action === 'password_reset_requested') return { type: 'anonymous', id: null }
  // The entries of the act name the administrator.
  if (by === 'disabled') return { type: 'system', id: null }
  if (by === 'host' || by === 'admin') return { type: 'host', id: null }
  if (userId !== null) return { type: 'user', id: userId }
  return clientId === null ? { type: 'system', id: null } : { type: 'client', id: clientId }
}
