import type { FastifyInstance, onRequestHookHandler } from 'fastify'
import { accountRoutes } from './accounts.ts'
import { useStrictValidation } from './body.ts'
import type { HttpDeps } from './deps.ts'
import { useErrorReply, usePlainJson } from './error-reply.ts'
import { jwksRoute } from './jwks.ts'
import { metadataRoute } from './metadata.ts'
import { refreshRoute } from './refresh.ts'
import { revokeRoute } from './revoke.ts'
import { sessionRoutes } from './sessions.ts'
import { tokenRoute } from './token.ts'

interface Placement {
  /** `null`: there is no key set. */
  jwksConstraints: { host?: string } | null
  metadataConstraints: { host?: string }
  watch: onRequestHookHandler | null
}

/**
 * Every route of the plugin, each group in a child of its own: our parsers, validator and error handler end at its walls, and
 * the host's hooks, logger and request ids come in.
 */
export async function registerRoutes (host: FastifyInstance, deps: HttpDeps, { jwksConstraints, metadataConstraints, watch }: Placement): Promise<void> {
  const wellKnown = (child: FastifyInstance): void => {
    if (jwksConstraints !== null) jwksRoute(child, deps, jwksConstraints)
    metadataRoute(child, deps, { constraints: metadataConstraints, hasKeySet: jwksConstraints !== null })
  }
  const groups = [tokenRoute, refreshRoute, revokeRoute, accountRoutes, sessionRoutes, wellKnown]
  for (const group of groups) {
    await host.register(async (child) => {
      useStrictValidation(child)
      useErrorReply(child, host)
      usePlainJson(child)
      if (watch !== null) child.addHook('onRequest', watch)
      child.addHook('onSend', async (_request, reply) => {
        reply.header('x-content-type-options', 'nosniff')
        reply.header('content-security-policy', "default-src 'none'; frame-ancestors 'none'")
        reply.header('referrer-policy', 'no-referrer')
      })
      group(child, deps)
    })
  }
}
