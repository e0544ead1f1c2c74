import type { FastifyInstance } from 'fastify'
import { badOption } from '../settings/option-error.ts'

/**
 * Stops the start at a route whose hook is one of these functions, which only make hooks. Fastify would call it with a
 * request, and nobody could use the route.
 */
export function refuseUncalledHooks(host: FastifyInstance, makers: Readonly<Record<string, unknown>>): void {
  host.addHook('onRoute', ({ method, url, onRequest, preParsing, preValidation, preHandler }) => {
    for (const hook of [onRequest, preParsing, preValidation, preHandler].flat() as unknown[]) {
      const found = hook === undefined ? undefined : Object.entries(makers).find(([, maker]) => maker === hook)
      if (found !== undefined)
        throw badOption(
          found[0],
          `${String(method)} ${url} has it as a hook, and it only makes hooks: call it there, as ${found[0]}(…)`
        )
    }
  })
}
