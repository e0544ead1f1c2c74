import type { User } from '../../ports/user-store.ts'
import type { FactorMethod } from '../../protocol/factor-methods.ts'

/** What the host asks of sign-ins, and what it offers. */
export interface FactorPolicy {
  /** What people can set up. What they have set up before goes on counting, or a changed option would lock them out. */
  methods: readonly FactorMethod[]
  /**
   * Whether this user must have a second factor where this client, or none, takes part. `null`: nobody has to,
   * anywhere. What the host's hook can't say in time rejects, which is an outage and never a no.
   */
  required: ((user: User, clientId: string | null) => Promise<boolean>) | null
}
