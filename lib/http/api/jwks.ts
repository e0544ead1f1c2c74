import type { FastifyInstance } from 'fastify'
import { callableBy } from '../edge/callers.ts'
import { guarded } from '../edge/error-reply.ts'
import type { HttpDeps } from '../edge/deps.ts'
import { describeRoute, KeySet } from '../edge/schemas.ts'

/**
 * How long others may cache the key set. It is far shorter than the time for which a new key is published before it
 * signs.
 */
const MAX_AGE_SECONDS = 300

/** The public keys. @see RFC 7517 §5 */
export function jwksRoute(child: FastifyInstance, { ring, path }: HttpDeps, constraints: { host?: string }): void {
  child.get(
    path('jwks'),
    {
      ...callableBy('anyone'),
      constraints,
      schema: describeRoute({ summary: 'Public signing keys', response: { 200: KeySet } })
    },
    async (_request, reply) =>
      await guarded(async () => {
        // The first answer waits until each algorithm has a key, because it may be cached. If an algorithm fails, the
        // keys of the others are still sent, and the answer is not cached.
        const [first = '', ...others] = ring.algs()
        const settled = await Promise.allSettled(
          others.map(async (alg) => {
            await ring.ready(alg)
          })
        )
        await ring.ready(first)
        reply.header(
          'cache-control',
          settled.every(({ status }) => status === 'fulfilled') ? `public, max-age=${MAX_AGE_SECONDS}` : 'no-store'
        )
        return { keys: ring.publicJwks() }
      })
  )
}
