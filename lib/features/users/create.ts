import type { AccountsDeps } from '../../accounts/deps.ts'
import type { ManagedUsers, RequestedUsers } from '../../accounts/managed-users.ts'
import { ownProfileFields } from '../../accounts/register.ts'
import type { Kernel, Parts } from '../../feature.ts'

async function loadUsers(accounts: AccountsDeps, fields: readonly string[]): Promise<RequestedUsers> {
  const [{ manageUsers }, { auditedUsers }] = await Promise.all([
    import('./manage-users.ts'),
    import('./audited-users.ts')
  ])
  return auditedUsers(manageUsers(accounts, fields), accounts)
}

/** Loads the use cases at the first call, because most services never call them. */
export function create(_on: true, { accounts, settings: { registration } }: Kernel): Parts {
  const fields = registration === false ? [] : ownProfileFields(Object.keys(registration.fields?.properties ?? {}))
  let loading: Promise<RequestedUsers> | null = null
  const loaded = async (): Promise<RequestedUsers> => {
    loading ??= loadUsers(accounts, fields)
    return await loading
  }
  const users: RequestedUsers = {
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
  const forHost: ManagedUsers = {
    ...users,
    async list(query) {
      const page = await users.list(query)
      return { ...page, users: page.users.map(({ user }) => user) }
    },
    get: async (id) => (await users.get(id))?.user ?? null
  }
  return { account: { users }, authority: () => ({ users: forHost }) }
}
