import type { AccountsDeps } from '../../accounts/deps.ts'
import type { ManagedUsers, RequestedAct } from '../../accounts/managed-users.ts'
import { ownProfileFields } from '../../accounts/register.ts'
import type { Kernel, Parts } from '../../feature.ts'

async function loadUsers(accounts: AccountsDeps, fields: readonly string[]): Promise<ManagedUsers<RequestedAct>> {
  const [{ manageUsers }, { auditedUsers }] = await Promise.all([
    import('./manage-users.ts'),
    import('./audited-users.ts')
  ])
  return auditedUsers(manageUsers(accounts, fields), accounts)
}

/** Loads the use cases at the first call, because most services never make one. */
export function create(_on: true, { accounts, settings: { registration } }: Kernel): Parts {
  const fields = registration === false ? [] : ownProfileFields(Object.keys(registration.fields?.properties ?? {}))
  let loading: Promise<ManagedUsers<RequestedAct>> | null = null
  const loaded = async (): Promise<ManagedUsers<RequestedAct>> => {
    loading ??= loadUsers(accounts, fields)
    return await loading
  }
  const users: ManagedUsers<RequestedAct> = {
    list: async (...given) => await (await loaded()).list(...given),
    get: async (...given) => await (await loaded()).get(...given),
    create: async (...given) => await (await loaded()).create(...given),
    update: async (...given) => await (await loaded()).update(...given),
    async disable(...given) {
      await (await loaded()).disable(...given)
    },
    async enable(...given) {
      await (await loaded()).enable(...given)
    },
    async requireReset(...given) {
      await (await loaded()).requireReset(...given)
    },
    async invite(...given) {
      await (await loaded()).invite(...given)
    },
    export: async (...given) => await (await loaded()).export(...given),
    impersonate: async (...given) => await (await loaded()).impersonate(...given),
    async remove(...given) {
      await (await loaded()).remove(...given)
    }
  }
  return { account: { users }, authority: () => ({ users }) }
}
