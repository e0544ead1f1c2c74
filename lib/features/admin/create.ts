import { slotOf } from '../../accounts/slots.ts'
import type { Kernel, Parts } from '../../feature.ts'
import { allowing, protecting, protectingGreater } from './allow.ts'
import type { AdminDeps } from './endpoints/acting.ts'
import { adminEndpoints } from './endpoints/users.ts'
import { impersonate } from './impersonate.ts'
import type { AdminSettings } from './options.ts'

export async function create(
  { allow, isProtected, fields, impersonation, pages }: AdminSettings,
  { accounts, grants }: Kernel
): Promise<Parts> {
  const deps: AdminDeps = {
    accounts,
    fields,
    impersonates: impersonation !== null,
    isProtected: protecting(isProtected ?? protectingGreater(allow), accounts),
    users() {
      const found = slotOf(accounts, 'users')
      if (found === null) throw new Error('The use cases of administration are missing.')
      return found
    }
  }
  const administration = { allow: allowing(allow, accounts) }
  const adminPages = pages ? (await import('./pages/routes.ts')).adminPages : null
  return {
    administration,
    account:
      impersonation === null
        ? {}
        : { impersonate: async (asked) => await impersonate(asked, impersonation, { accounts, grants: grants() }) },
    endpoints: adminEndpoints(deps),
    ...(adminPages === null ? {} : { pages: adminPages({ ...deps, ...administration }) })
  }
}
