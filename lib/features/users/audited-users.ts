import { audited } from '../../accounts/audited.ts'
import type { AccountsDeps } from '../../accounts/deps.ts'
import type { ManagedUsers, RequestedAct, UserAct } from '../../accounts/managed-users.ts'
import { NO_REQUEST } from '../../events.ts'
import type { AuditTarget } from '../../ports/audit-log.ts'
import { isStorable } from '../../protocol/bounds.ts'
import { actOf } from './given.ts'

const MAX_ID = 255

/** The same use cases, each act between two entries of the audit log. */
export function auditedUsers(users: ManagedUsers<RequestedAct>, deps: AccountsDeps): ManagedUsers<RequestedAct> {
  const acting =
    <Answer>(action: string, work: (id: string, act?: UserAct) => Promise<Answer>) =>
    async (id: string, act?: UserAct): Promise<Answer> => {
      const { actor, reason } = actOf(act)
      const target = targetOf(id)
      return await audited(
        { action, actor, target, ...reason, origin: NO_REQUEST },
        async () => await work(id, act),
        deps
      )
    }
  return {
    ...users,
    async create(given, act) {
      const { actor, reason } = actOf(act)
      return await audited(
        {
          action: 'user_created',
          actor,
          target: null,
          targetOf: ({ id }) => targetOf(id),
          ...reason,
          origin: NO_REQUEST
        },
        async () => await users.create(given, act),
        deps
      )
    },
    update: async (id, changes, act) =>
      await acting('user_updated', async (one: string, its?: UserAct) => await users.update(one, changes, its))(
        id,
        act
      ),
    disable: acting('user_disabled', users.disable),
    enable: acting('user_enabled', users.enable),
    requireReset: acting('password_reset_required', users.requireReset),
    invite: acting('user_invited', users.invite),
    export: acting('user_exported', users.export),
    async impersonate(id, { scope, signIn, ...act } = {}) {
      const impersonating = acting(
        'impersonated',
        async (one: string, its?: UserAct) => await users.impersonate(one, { ...its, scope, signIn })
      )
      return await impersonating(id, act)
    },
    remove: acting('account_removed', users.remove)
  }
}

/** `null` for a text that no user can have as id. */
const targetOf = (id: unknown): AuditTarget | null =>
  typeof id === 'string' && id !== '' && id.length <= MAX_ID && isStorable(id) ? { type: 'user', id } : null
