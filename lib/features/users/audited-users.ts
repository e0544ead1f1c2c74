import { auditTarget, audited } from '../../accounts/acted-on.ts'
import type { AuditAction } from '../../events.ts'
import type { AccountsDeps } from '../../accounts/deps.ts'
import type { RequestedAct, RequestedUsers, UserChanges } from '../../accounts/managed-users.ts'
import { actOf } from './act-input.ts'

const LONGEST_NAMES = 500

/** Wraps the use cases. With `audit`, writes entries before and after each action, except for `list` and `get`. */
export function auditedUsers(users: RequestedUsers, deps: AccountsDeps): RequestedUsers {
  const acting =
    <Answer>(action: AuditAction, work: (id: string, act?: RequestedAct) => Promise<Answer>, fields?: string) =>
    async (id: string, act?: RequestedAct): Promise<Answer> => {
      const { actor, reason, origin } = actOf(act)
      const target = auditTarget(id)
      return await audited({ action, actor, target, ...reason, fields, origin }, async () => await work(id, act), deps)
    }
  return {
    ...users,
    async create(given, act) {
      const { actor, reason, origin } = actOf(act)
      return await audited(
        {
          action: 'user_created',
          actor,
          target: null,
          targetOf: ({ id }) => auditTarget(id),
          ...reason,
          origin
        },
        async () => await users.create(given, act),
        deps
      )
    },
    async update(id, changes, act) {
      const updating = acting(
        'user_updated',
        async (one: string, its?: RequestedAct) => await users.update(one, changes, its),
        namesIn(changes)
      )
      return await updating(id, act)
    },
    disable: acting('user_disabled', users.disable),
    enable: acting('user_enabled', users.enable),
    requireReset: acting('password_reset_required', users.requireReset),
    invite: acting('user_invited', users.invite),
    export: acting('user_exported', users.export),
    async impersonate(id, { scope, signIn, ...act } = {}) {
      const impersonating = acting(
        'impersonated',
        async (one: string, its?: RequestedAct) => await users.impersonate(one, { ...its, scope, signIn })
      )
      return await impersonating(id, act)
    },
    remove: acting('account_removed', users.remove)
  }
}

/** Joins the names of the fields that a call changes, without their values. */
function namesIn(changes: UserChanges): string {
  const { fields, ...own } = (changes ?? {}) as Partial<UserChanges>
  const given = Object.entries({ ...own, ...fields }).filter(([, value]) => value !== undefined)
  return given
    .map(([name]) => name)
    .join(' ')
    .slice(0, LONGEST_NAMES)
}
