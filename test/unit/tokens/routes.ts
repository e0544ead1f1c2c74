import Fastify, { type FastifyInstance } from 'fastify'
import { createEvents } from '../../../lib/events/emitter.ts'
import { createGuards, type GuardDeps } from '../../../lib/http/edge/caller-guards.ts'
import { useCallers } from '../../../lib/http/edge/callers.ts'
import { type Endpoint, groupsOf, type HttpDeps } from '../../../lib/http/edge/endpoint.ts'
import { useErrorReply, usePlainJson } from '../../../lib/http/edge/error-reply.ts'
import { ISSUER, type World } from './world.ts'

/** An app with only these endpoints over a test world. Its limiter only records failed attempts. */
export async function routes(
  one: World,
  endpoints: readonly Endpoint[]
): Promise<{ app: FastifyInstance; failures: string[] }> {
  const failures: string[] = []
  const deps = {
    grants: {
      grants: [],
      ...one,
      accounts: {
        events: createEvents(
          () => one.clock.now(),
          (error) => {
            throw error
          }
        ),
        issuer: ISSUER,
        users: one.users,
        clock: one.clock
      },
      passwordGrant: 'first-party',
      refreshToken: { reuseGraceMs: 10_000 }
    },
    ring: one.ring,
    limiter: {
      async countFailure(_request: unknown, _reply: unknown, work: () => Promise<unknown>) {
        try {
          return await work()
        } catch (error) {
          failures.push('refresh')
          throw error
        }
      }
    },
    clientsOf: () => one.clients,
    acrValues: ['password'],
    openid: { uiLocales: ['en'], algs: one.ring.algs },
    path: (name: string) => `/${name}`,
    prefix: '',
    wellKnown: {}
  } as unknown as HttpDeps
  const app = Fastify() as unknown as FastifyInstance
  for (const { register } of groupsOf(endpoints, deps)) {
    await app.register(async (child) => {
      useErrorReply(child, app)
      useCallers(
        child,
        createGuards({
          ...deps,
          browser: { signedIn: async () => null, hasCookie: () => false }
        } as unknown as GuardDeps)
      )
      usePlainJson(child)
      register(child)
    })
  }
  return { app, failures }
}
