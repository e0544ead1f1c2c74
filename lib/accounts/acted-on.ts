import { OAuthError } from '../errors.ts'
import { type Actor, type AuditAction, NO_REQUEST } from '../events.ts'
import type { AuditTarget } from '../ports/audit-log.ts'
import type { User } from '../ports/user-store.ts'
import { isStorable } from '../protocol/bounds.ts'
import type { AccountsDeps } from './deps.ts'
import type { RequestedAct } from './managed-users.ts'
import { type AccountSlots, type AuditedAct, slotOf } from './slots.ts'

/** Maximum length of the id of a user or an actor, in characters. */
export const MAX_ID = 255
/** The number of days for which an invitation works. */
export const INVITATION_DAYS = 7
/** The minimum and maximum length of a reason, in characters. Only some actions require a reason of the minimum. */
export const REASON = { least: 10, most: 500 } as const

/**
 * True if the reason has an accepted length and can be stored. Invisible format characters (`Cf`) and white space at
 * both ends do not count towards the minimum.
 */
export const isReason = (text: string): boolean =>
  isStorable(text) && text.length <= REASON.most && text.replaceAll(/\p{Cf}/gu, '').trim().length >= REASON.least

/** The user with this id as the target of an audit entry. `null` if no user can have the id. */
export const auditTarget = (id: unknown): AuditTarget | null =>
  typeof id === 'string' && id !== '' && id.length <= MAX_ID && isStorable(id) ? { type: 'user', id } : null

/**
 * Finds the user whom an administrator's action concerns, and checks that the actor may act on them.
 * @throws OAuthError `not_found`; `conflict` for the actor's own account; any error of `check`
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

/**
 * Writes an entry to the audit log, finds the user as `actedOn` does, compares the version, runs an administrator's
 * action on the user, and writes a second entry with the result. A refusal gets the second entry too.
 * @throws OAuthError `changed_meanwhile`; the errors of `actedOn` and of `work`
 */
export async function auditedOn<Answer>(
  { action, id }: { action: AuditAction; id: string },
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

/** Returns the user if `version` is the current one or is left out. @throws OAuthError `changed_meanwhile` */
export function unchanged(user: User, version: number | string | undefined): User {
  if (version !== undefined && user.version !== version)
    throw new OAuthError('changed_meanwhile', 'The user was changed meanwhile.')
  return user
}

/**
 * Runs an administrator's action between two entries of the audit log. If the first entry can't be written, rejects and
 * does not run the action. Without an audit log, only runs the action.
 */
export async function audited<Answer>(
  act: AuditedAct<Answer>,
  work: () => Promise<Answer>,
  deps: { slots: readonly AccountSlots[] }
): Promise<Answer> {
  const audit = slotOf(deps, 'audit')
  return audit === null ? await work() : await audit(act, work)
}
