import type { GrantDeps } from '../../oauth/deps.ts'
import type { KeyRing } from '../../keys/key-ring.ts'
import type { Connection } from '../../ports/upstream.ts'
import type { PathName } from '../../settings/paths.ts'
import type { ClientsOf } from './client-origins.ts'
import type { RequestLimiter } from './limit.ts'
import type { Registration } from './registration.ts'

/** What the routes are built from. */
export interface HttpDeps {
  grants: GrantDeps
  /** `grants.clients`, as one request sees them. */
  clientsOf: ClientsOf
  ring: KeyRing
  limiter: RequestLimiter
  registration: Registration | null
  /** What sign-ins can be worth. */
  acrValues: readonly string[]
  /** `null`: clients can't send people here to sign in. */
  openid: { uiLocales: readonly string[]; canSignUp: boolean; algs(): string[] } | null
  /** By their ids; empty: none. */
  connections: ReadonlyMap<string, Connection>
  /** Where each endpoint is mounted, in full. */
  path(name: PathName): string
}

export { originOf } from './request-origin.ts'
