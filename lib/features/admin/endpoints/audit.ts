import { type Static, Type } from '@sinclair/typebox'
import { audited } from '../../../accounts/acted-on.ts'
import type { AccountsDeps } from '../../../accounts/deps.ts'
import { slotOf } from '../../../accounts/slots.ts'
import type { Origin } from '../../../events.ts'
import { type AdminCaller, adminOf } from '../../../http/edge/admin-guard.ts'
import { type Endpoint, endpoint } from '../../../http/edge/endpoint.ts'
import { originOf } from '../../../http/edge/request-origin.ts'
import type { AuditEntry, AuditPage, AuditQuery } from '../../../ports/audit-log.ts'
import { queryOf, refused } from './acting.ts'

const PAGE = 50
const TextOrNull = Type.Union([Type.String(), Type.Null()])
const Entry = Type.Object({
  chain: Type.String({ description: 'A start of a process.' }),
  seq: Type.Integer({ description: 'Its place in the chain, from 1.' }),
  at: Type.String({ description: 'RFC 3339' }),
  action: Type.String(),
  outcome: Type.String({ description: '`attempted`, `done`, `refused` or `failed`.' }),
  actor: Type.Object({ type: Type.String(), id: TextOrNull }),
  target: Type.Union([Type.Object({ type: Type.String(), id: Type.String() }), Type.Null()]),
  client_id: TextOrNull,
  sid: TextOrNull,
  request_id: TextOrNull,
  ip: TextOrNull,
  details: Type.Object({}, { additionalProperties: true })
})
const RFC_3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,3})?(?:Z|[+-]\d\d:\d\d)$/

/** Reads a page of the audit log, and records this read in the log as `audit_read`. */
export const readAudit = async (
  query: AuditQuery,
  { by: actor, origin }: Pick<AdminCaller, 'by'> & { origin: Origin },
  accounts: Pick<AccountsDeps, 'slots'>
): Promise<AuditPage> =>
  await audited(
    { action: 'audit_read', actor, target: null, origin },
    async () => (await slotOf(accounts, 'auditLog')?.list(query)) ?? { entries: [], next: null },
    accounts
  )

/** `GET /auth/admin/audit`. */
export const auditEndpoint = (accounts: Pick<AccountsDeps, 'slots'>): Endpoint =>
  endpoint({
    method: 'GET',
    path: '/admin/audit',
    callers: { admin: 'authority:audit:read' },
    summary: 'Read the audit log',
    what:
      'Lists 50 entries, the newest first: `after` (the `next` of an answer), `user` (the id of the user acted on), ' +
      '`actor` (its id), `action`, `since` and `until` (RFC 3339).',
    answers: {
      200: Type.Object({
        entries: Type.Array(Entry),
        next: TextOrNull
      })
    },
    errors: { 400: 'invalid_request' },
    handle: async (request) => {
      const { after, user, actor, action, ...times } = queryOf(request, [
        'after',
        'user',
        'actor',
        'action',
        'since',
        'until'
      ])
      const { entries, next } = await readAudit(
        {
          limit: PAGE,
          after,
          user,
          actor,
          action,
          since: timeIn(times.since, 'since'),
          until: timeIn(times.until, 'until')
        },
        { by: adminOf(request).by, origin: originOf(request) },
        accounts
      )
      return { entries: entries.map(shown), next }
    }
  })

function timeIn(value: string | undefined, name: string): number | undefined {
  if (value === undefined) return undefined
  const at = RFC_3339.test(value) ? Date.parse(value) : Number.NaN
  if (Number.isNaN(at)) throw refused(name, 'it must be a time of RFC 3339.')
  return at
}

const textIn = (value: unknown): string | null => (typeof value === 'string' ? value : null)

/**
 * Replaces the ids, types and IP address that have a wrong type in a tampered entry, because a single one would fail
 * the whole answer.
 */
function shown({ chain, seq, at, action, outcome, actor, target, ...rest }: AuditEntry): Static<typeof Entry> {
  return {
    chain,
    seq,
    at: new Date(at).toISOString(),
    action,
    outcome,
    actor: { type: textIn(actor.type) ?? '', id: textIn(actor.id) },
    target: target === null ? null : { type: textIn(target.type) ?? '', id: textIn(target.id) ?? '' },
    client_id: textIn(rest.clientId),
    sid: textIn(rest.sid),
    request_id: textIn(rest.requestId),
    ip: textIn(rest.ip),
    details: rest.details
  }
}
