import type { Kernel, Parts } from '../../feature.ts'
import { allowing, protecting } from './allow.ts'
import { adminEndpoints } from './endpoints/users.ts'
import type { AdminSettings } from './options.ts'

export function create({ allow, isProtected, fields }: AdminSettings, { accounts }: Kernel): Parts {
  return {
    administration: { allow: allowing(allow, accounts) },
    endpoints: adminEndpoints({ accounts, fields, isProtected: protecting(isProtected, accounts) })
  }
}
