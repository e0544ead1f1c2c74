import type { Kernel, Parts } from '../../feature.ts'
import { allowing, protecting } from './allow.ts'
import { adminEndpoints } from './endpoints/users.ts'
import { impersonate } from './impersonate.ts'
import type { AdminSettings } from './options.ts'

export function create(
  { allow, isProtected, fields, impersonation }: AdminSettings,
  { accounts, grants }: Kernel
): Parts {
  return {
    administration: { allow: allowing(allow, accounts) },
    account:
      impersonation === null
        ? {}
        : { impersonate: async (asked) => await impersonate(asked, impersonation, { accounts, grants: grants() }) },
    endpoints: adminEndpoints({
      accounts,
      fields,
      impersonates: impersonation !== null,
      isProtected: protecting(isProtected, accounts)
    })
  }
}
