import type { FastifyRequest } from 'fastify'
import type { TObject } from '@sinclair/typebox'
import type { GrantDeps } from '../grants/deps.ts'
import type { KeyRing } from '../keys/key-ring.ts'
import type { PathName } from '../options.ts'
import type { Origin } from '../tokens/sessions.ts'
import type { Hook, ReadAuth } from './guard.ts'
import type { RequestLimiter } from './limit.ts'

/** What the routes are built from. */
export interface HttpDeps {
  grants: GrantDeps
  ring: KeyRing
  limiter: RequestLimiter
  authenticate: Hook
  readAuth: ReadAuth
  registration: { fields: TObject | null } | null
  /** `null`: clients can't send people here to sign in. */
  openid: { uiLocales: readonly string[], algs(): string[] } | null
  /** Where each endpoint is mounted, in full. */
  path(name: PathName): string
}

/** Where a request comes from, for events. `request.ip` is Fastify's, so it obeys the host's `trustProxy`. */
export function originOf (request: FastifyRequest): Origin {
  return { ip: request.ip, userAgent: request.headers['user-agent'] ?? null }
}
