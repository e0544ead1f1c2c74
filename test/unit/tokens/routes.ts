import Fastify, { type FastifyInstance } from 'fastify'
import type { HttpDeps } from '../../../lib/http/deps.ts'
import { useErrorReply, usePlainJson } from '../../../lib/http/error-reply.ts'
import { ISSUER, type World } from './world.ts'

/** Some of our routes alone over a world, with a limiter that only notes which attempts failed. */
export async function routes (one: World, groups: ReadonlyArray<(child: FastifyInstance, deps: HttpDeps) => void>): Promise<{ app: FastifyInstance, failures: string[] }> {
  const failures: string[] = []
  const deps = {
    grants: { ...one, accounts: { issuer: ISSUER, users: one.users, clock: one.clock }, scopes: ['openid'], passwordGrant: 'first-party', refreshToken: { graceMs: 10_000 } },
    ring: one.ring,
    limiter: {
      async run (_request: unknown, _reply: unknown, { rule }: { rule: string }, work: () => Promise<unknown>) {
        try {
          return await work()
        } catch (error) {
          failures.push(rule)
          throw error
        }
      }
    },
    openid: { uiLocales: ['en'], algs: one.ring.algs },
    path: (name: string) => `/${name}`
  } as unknown as HttpDeps
  const app = Fastify() as unknown as FastifyInstance
  for (const group of groups) {
    await app.register(async (child) => {
      useErrorReply(child, app)
      usePlainJson(child)
      group(child, deps)
    })
  }
  return { app, failures }
}
