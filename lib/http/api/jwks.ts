import type { FastifyInstance } from 'fastify'
import { callableBy } from '../edge/callers.ts'
import { guarded } from '../edge/error-reply.ts'
import type { HttpDeps } from '../edge/deps.ts'
import { describeRoute } from '../edge/schemas.ts'

/** How long others may keep the key set: far less than a new key is announced before it signs. */
const MAX_AGE_SECONDS = 300

/** The public keys. @see RFC 7517 §5 */
export function jwksRoute (child: FastifyInstance, { ring, path }: HttpDeps, constraints: { host?: string }): void {
  child.get(path('jwks'), {
    ...callableBy('anyone'),
    constraints,
    schema: describeRoute({ summary: 'Public signing keys' })
  }, async (_request, reply) => await guarded(async () => {
    // The very first answer waits for the first key of each algorithm, for it may be kept. An algorithm that fails must not
    // hide the others' keys; then the answer is not kept.
    const [first = '', ...others] = ring.algs()
    const settled = await Promise.allSettled(others.map(async (alg) => { await ring.ready(alg) }))
    await ring.ready(first)
    reply.header('cache-control', settled.every(({ status }) => status === 'fulfilled') ? `public, max-age=${MAX_AGE_SECONDS}` : 'no-store')
    return { keys: ring.publicJwks() }
  }))
}
