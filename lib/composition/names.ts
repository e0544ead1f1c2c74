import type { FastifyInstance, RouteOptions } from 'fastify'
import { StartError } from '../errors.ts'
import type { DecoratorName } from '../settings/sections/decorators.ts'
import type { Settings } from '../settings/settings.ts'
import { MOVABLE, type PathName, PATHS } from '../settings/paths.ts'
import { badOption } from '../settings/option-error.ts'

const OF_REQUESTS: readonly DecoratorName[] = ['auth', 'authSession']

/**
 * Decorators that two registrations of this plugin in one app may share. Both registrations set `authSession` in the
 * same way. The other decorators were added later than the option `decorators`. Older apps with two registrations do
 * not rename them, so the second registration shares those of the first.
 */
const SHARED: ReadonlySet<string> = new Set<DecoratorName>([
  'authSession',
  'authenticateOptional',
  'requireFirstParty',
  'requireUser',
  'requireRole',
  'requireNoActor',
  'requireAuth',
  'protectedResource'
])

/** The decorators that this plugin added to each server, in the form `"<option> <name>"`. */
const ownDecorators = new WeakMap<object, Set<string>>()

/**
 * Stops the start if the host already has a decorator with one of these names. Names all conflicts at once and an
 * option that solves them, because Fastify's own error does neither.
 * @throws StartError `FST_AUTHORITY_NAME_TAKEN`
 */
export function refuseTakenNames(host: FastifyInstance, names: Settings['decorators']): void {
  const isFree = (what: DecoratorName, name: string): boolean =>
    OF_REQUESTS.includes(what) ? !host.hasRequestDecorator(name) : !host.hasDecorator(name)
  const taken = (Object.entries(names) as Array<[DecoratorName, string]>).filter(
    ([what, name]) => !isFree(what, name) && !isOurs(host, what, name)
  )
  if (taken.length === 0) return
  const used = new Set(Object.values(names))
  const others = taken.map(([what, name]) => {
    let other = `authority${name.charAt(0).toUpperCase()}${name.slice(1)}`
    for (let number = 2; used.has(other) || !isFree(what, other); number++) other = `${name}${number}`
    used.add(other)
    return `${what}: '${other}'`
  })
  const said = (who: string, ofRequests: boolean): string[] => {
    const found = taken.filter(([what]) => OF_REQUESTS.includes(what) === ofRequests).map(([, name]) => `"${name}"`)
    return found.length === 0 ? [] : [`the ${who} already has ${found.join(', ')}`]
  }
  const already = [...said('instance', false), ...said('request', true)].join(', and ')
  throw new StartError(
    'FST_AUTHORITY_NAME_TAKEN',
    `${already.charAt(0).toUpperCase()}${already.slice(1)}. Set other names by the option ` +
      'decorators of fastify-authority, or decorators.prefix for all of them, such as ' +
      `decorators: { ${others.join(', ')} }.`
  )
}

/** Adds all decorators, except shared ones that another registration of this plugin added. */
export function decorateAll(
  host: FastifyInstance,
  names: Settings['decorators'],
  members: Readonly<Record<Exclude<DecoratorName, 'auth' | 'authSession'>, unknown>>
): void {
  for (const [what, name] of Object.entries(names) as Array<[DecoratorName, string]>) {
    if (isOurs(host, what, name)) continue
    if (what === 'auth' || what === 'authSession') host.decorateRequest(name, null)
    else host.decorate(name, members[what])
    ownDecorators.set(host.server, (ownDecorators.get(host.server) ?? new Set()).add(`${what} ${name}`))
  }
}

function isOurs(host: FastifyInstance, what: string, name: string): boolean {
  return SHARED.has(what) && ownDecorators.get(host.server)?.has(`${what} ${name}`) === true
}

/**
 * Stops the start at a path that both the host and the plugin use, and names the option that moves the plugin's route.
 * Fastify's own FST_ERR_DUPLICATED_ROUTE may name a route that the host's author does not know. Also catches routes
 * that the host or the plugin registers later.
 * @throws StartError `FST_AUTHORITY_ROUTE_TAKEN`
 */
export function refuseTakenRoutes(host: FastifyInstance, path: (name: PathName) => string): void {
  const ownRoutes = new Set<string>()
  host.addHook('onRoute', ({ method, url, constraints = {}, config }: RouteOptions) => {
    const isOurs = config !== undefined && 'fastifyAuthority' in config
    for (const verb of [method].flat()) {
      const route = `${verb} ${url}`
      // Fastify adds a HEAD route to each GET route, unless one exists. So HEAD routes cause no conflict.
      if (verb !== 'HEAD' && (isOurs || ownRoutes.has(route)) && host.hasRoute({ method: verb, url, constraints }))
        throw taken(route, url)
      if (isOurs) ownRoutes.add(route)
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

/**
 * Stops the start if a route has one of these hook makers, such as `requireScope`, as its hook. The author forgot to
 * call the maker. Fastify would call it with a request, and every request to the route would fail.
 * @throws StartError `FST_AUTHORITY_INVALID_OPTIONS`
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
