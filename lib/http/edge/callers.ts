import type { FastifyContextConfig, FastifyInstance, onRequestHookHandler, preHandlerHookHandler } from 'fastify'

/**
 * Who may call a route. Every route of ours says so; nothing registers without it, and the hooks that refuse all others are made of it
 * (`createGuards`).
 *
 * - `anyone`: nobody has to be signed in. What a request proves by itself (a password, a code, a refresh token), its handler judges.
 * - `own_page`: a page of our own origin: a form or a script. The handler looks up who is signed in there.
 * - `account`: the person. By an access token of no client or of a first-party one, or by the browser session from a page of our own.
 * - `client`: a client that proves who it is by its secret.
 * - `{ scope }`: anybody with an access token of this scope, programs of other people too.
 */
export type Callers = 'anyone' | 'own_page' | 'account' | 'client' | { scope: string }

/** The hooks that let only these callers in. */
export interface Guard {
  onRequest?: onRequestHookHandler
  preHandler?: preHandlerHookHandler
}

/** What a route's `config` has of us. A host's own `onRoute` hook can read it. */
export interface CallersConfig extends FastifyContextConfig {
  fastifyAuthority: {
    callers: Callers
    /**
     * Any page may make a browser ask for it (see senders.ts): it counts under no limit, and what it changes takes more than the request
     * itself.
     */
    fromAnyPage?: true
  }
}

/** To be spread into the options of a route. */
export function callableBy (callers: Callers, senders: { fromAnyPage?: true } = {}): { config: CallersConfig } {
  return { config: { fastifyAuthority: { callers, ...senders } } }
}

/** Holds for every route that is registered in `child` after it: one that does not say who may call it stops the start. */
export function useCallers (child: FastifyInstance, guardOf: (callers: Callers) => Guard): void {
  child.addHook('onRoute', (route) => {
    const config: Partial<CallersConfig> | undefined = route.config
    const callers = config?.fastifyAuthority?.callers
    if (callers === undefined) throw new Error(`fastify-authority: the route ${[route.method].flat().join(', ')} ${route.url} does not say who may call it.`)
    const { onRequest, preHandler } = guardOf(callers)
    // The HEAD route that Fastify makes of a GET route has the hooks of that already.
    if (onRequest !== undefined && ![route.onRequest].flat().includes(onRequest)) route.onRequest = [route.onRequest ?? [], onRequest].flat()
    if (preHandler !== undefined && ![route.preHandler].flat().includes(preHandler)) route.preHandler = [preHandler, route.preHandler ?? []].flat()
  })
}
