import type { FastifyInstance } from 'fastify'
import { guarded } from './error-reply.ts'
import type { HttpDeps } from './deps.ts'
import { describeRoute } from './schemas.ts'

/** How long others may keep the key set: far less than a new key is announced before it signs. */
const MAX_AGE_SECONDS = 300

/** The public keys. @see RFC 7517 §5 */
export function jwksRoute (child: FastifyInstance, { ring, path }: HttpDeps, constraints: { host?: string }): void {
  child.get(path('jwks'), {
    constraints,
    schema: describeRoute({ summary: 'Public signing keys' })
  }, async (_request, reply) => await guarded(async () => {
    await ring.ready()
    reply.header('cache-control', `public, max-age=${MAX_AGE_SECONDS}`)
    reply.header('access-control-allow-origin', '*')
    return { keys: ring.publicJwks() }
  }))
}
