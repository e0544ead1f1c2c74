import { OAuthError } from '../errors.ts'
import { type Actor, NO_REQUEST } from '../events.ts'
import type { AuditTarget } from '../ports/audit-log.ts'
import type { User } from '../ports/user-store.ts'
import { isStorable } from '../protocol/bounds.ts'
import type { AccountsDeps } from './deps.ts'
import type { RequestedAct } from './managed-users.ts'
import { type AccountSlots, type AuditedAct, slotOf } from './slots.ts'

/** The longest id of a user or an actor. */
export const MAX_ID = 255
/** The lengths of a reason, in characters. An act that does not need one takes a shorter one too. */
export const REASON = { least: 10, most: 500 } as const

/** True for a reason that a reader of the audit log can see: characters without a shape do not count. */
export const isReason = (text: string): boolean =>
  isStorable(text) && text.length <= REASON.most && text.replaceAll(/\p{Cf}/gu, '').trim().length >= REASON.least

/** `null` for a text that no user can have as id. */
export const auditTarget = (id: unknown): AuditTarget | null =>
  typeof id === 'string' && id !== '' && id.length <= MAX_ID && isStorable(id) ? { type: 'user', id } : null

/**
 * The user of an act, on whom this actor may act.
 * @throws OAuthError `not_found`; `conflict` for the actor's own account; what `check` throws
 */
export async function actedOn(
  id: unknown,
  { actor, check }: { actor: Actor; check?: RequestedAct['check'] },
  { users }: Pick<AccountsDeps, 'users'>
): Promise<User> {
  const user = auditTarget(id) === null ? null : await users.findById(id as string)
  if (user === null) throw new OAuthError('not_found', 'There is no such user.')
  if (actor.type === 'user' && actor.id === user.id)
    throw new OAuthError('conflict', 'Nobody administrates their own account.')
  await check?.(user)
  return user
}

/** Does an act on a user between two entries of the audit log, which also tell of a refusal. */
export async function auditedOn<Answer>(
  { action, id }: { action: string; id: string },
  { by: actor, reason, origin = NO_REQUEST, check, version }: RequestedAct & { by: Actor },
  work: (user: User) => Promise<Answer>,
  deps: AccountsDeps
): Promise<Answer> {
  return await audited(
    { action, actor, target: auditTarget(id), reason, origin },
    async () => await work(unchanged(await actedOn(id, { actor, check }, deps), version)),
    deps
  )
}

/** The user, if the version is still theirs. @throws OAuthError `changed_meanwhile` */
export function unchanged(user: User, version: number | string | undefined): User {
  if (version !== undefined && user.version !== version)
    throw new OAuthError('changed_meanwhile', 'The user was changed meanwhile.')
  return user
}

/** Does an act between two entries of the audit log, if there is one. Without the first entry it is not done. */
export async function audited<Answer>(
  act: AuditedAct<Answer>,
  work: () => Promise<Answer>,
  deps: { slots: readonly AccountSlots[] }
): Promise<Answer> {
  const audit = slotOf(deps, 'audit')
  return audit === null ? await work() : await audit(act, work)
}
