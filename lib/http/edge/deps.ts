import type { GrantDeps } from '../../oauth/deps.ts'
import type { KeyRing } from '../../keys/key-ring.ts'
import type { PathName } from '../../settings/paths.ts'
import type { ClientsOf } from './cors.ts'
import type { RequestLimiter } from './limit.ts'
import type { Registration } from './registration.ts'

/** The dependencies of the routes. */
export interface HttpDeps {
  grants: GrantDeps
  /** `grants.clients`, as one request sees them. */
  clientsOf: ClientsOf
  ring: KeyRing
  limiter: RequestLimiter
  registration: Registration | null
  /** The levels that sign-ins can reach. */
  acrValues: readonly string[]
  /** `null`: clients can't send people here to sign in. */
  openid: { uiLocales: readonly string[]; canSignUp: boolean; algs(): string[] } | null
  /** The full path of each endpoint with a name. */
  path(name: PathName): string
  /** The prefix of the endpoints without a name. */
  prefix: string
  /**
   * The well-known documents. `host`: two plugins share the path of the document, and only this host has it. `null`:
   * there is no such document.
   */
  wellKnown: Readonly<Partial<Record<PathName, { host?: string } | null>>>
}

export { originOf } from './request-origin.ts'
