import { setTimeout as delay } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'

export interface PublishedKey {
  kid: string
  alg: string
}

/** The published key set of an instance. */
export async function publishedBy(app: FastifyInstance): Promise<PublishedKey[]> {
  const reply = await app.inject('/.well-known/jwks.json')
  if (reply.statusCode !== 200) throw new Error(`jwks: ${reply.statusCode} ${reply.body}`)
  return reply.json<{ keys: PublishedKey[] }>().keys
}

export async function publishedKids(app: FastifyInstance): Promise<string[]> {
  return (await publishedBy(app)).map(({ kid }) => kid)
}

/**
 * Retries after 503, as clients do. Ten instances in one process, or ten processes on two cores, make keys for so long
 * that an answer of Redis is read too late.
 */
export async function patiently<Answer>(work: () => Promise<Answer>): Promise<Answer> {
  for (const deadline = performance.now() + 30_000; ;) {
    try {
      return await work()
    } catch (error) {
      if (performance.now() > deadline) throw error
      await delay(100)
    }
  }
}
