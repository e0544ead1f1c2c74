import type { FastifyRequest } from 'fastify'
import type { GrantDeps } from '../../oauth/deps.ts'
import type { KeyRing } from '../../keys/key-ring.ts'
import type { PathName } from '../../settings/paths.ts'
import type { Origin } from '../../sessions/sessions.ts'
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
  /** `null`: clients can't send people here to sign in. */
  openid: { uiLocales: readonly string[], canSignUp: boolean, algs(): string[] } | null
  /** Where each endpoint is mounted, in full. */
  path(name: PathName): string
}

/** Where a request comes from, for events, and which one it is. `request.ip` is Fastify's, so it obeys the host's `trustProxy`. */
export function originOf (request: FastifyRequest): Origin {
  return { requestId: request.id, ip: request.ip, userAgent: request.headers['user-agent'] ?? null }
}
