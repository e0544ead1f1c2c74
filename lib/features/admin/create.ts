import type { Kernel, Parts } from '../../feature.ts'
import { allowing } from './allow.ts'
import type { AdminOptions } from './options.ts'

export function create({ allow }: AdminOptions, { accounts }: Kernel): Parts {
  return { administration: { allow: allowing(allow, accounts) } }
}
