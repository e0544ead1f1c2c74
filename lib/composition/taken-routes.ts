import type { FastifyInstance, RouteOptions } from 'fastify'
import { StartError } from '../errors.ts'
import { MOVABLE, PATHS, type PathName } from '../settings/paths.ts'

/**
 * Reports a path that the host and the plugin both have, with the option that moves ours, because Fastify's bare
 * FST_ERR_DUPLICATED_ROUTE names a route that the host's author may not know. Holds for routes registered after it,
 * ours and the host's.
 *
 * @throws StartError `FST_AUTHORITY_ROUTE_TAKEN`
 */
export function refuseTakenRoutes(host: FastifyInstance, path: (name: PathName) => string): void {
  const ours = new Set<string>()
  host.addHook('onRoute', ({ method, url, constraints = {}, config }: RouteOptions) => {
    const isOurs = config !== undefined && 'fastifyAuthority' in config
    for (const verb of [method].flat()) {
      const route = `${verb} ${url}`
      // Fastify makes HEAD routes of GET routes, and skips existing ones.
      if (verb !== 'HEAD' && (isOurs || ours.has(route)) && host.hasRoute({ method: verb, url, constraints }))
        throw taken(route, url)
      if (isOurs) ours.add(route)
    }
  })

  function taken(route: string, url: string): StartError {
    const name = MOVABLE.find((candidate) => `${host.prefix}${path(candidate)}` === url)
    const mend =
      name === undefined
        ? 'the option prefix'
        : `its option paths, such as paths: { ${name}: '/authority${PATHS[name]}' }, ` +
          'or all of its routes by prefix'
    return new StartError(
      'FST_AUTHORITY_ROUTE_TAKEN',
      `Both the app and fastify-authority have a route ${route}. Move that of fastify-authority by ${mend}.`
    )
  }
}
