import type { User } from '../../ports/user-store.ts'
import type { FactorMethod } from '../../protocol/second-factors.ts'

/** The host's requirements on sign-ins, and its offers. */
export interface FactorPolicy {
  /**
   * The kinds of factors that users can set up. Earlier factors go on counting, because a changed option would lock
   * their users out.
   */
  methods: readonly FactorMethod[]
  /**
   * True if this user must have a second factor for this client, or without one. `null`: no user has to. A hook without
   * an answer in time rejects, which is an outage and never a no.
   */
  required: ((user: User, clientId: string | null) => Promise<boolean>) | null
}
