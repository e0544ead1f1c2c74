import cluster from 'node:cluster'
import type { FastifyInstance, FastifyPluginAsync } from 'fastify'
import fp from 'fastify-plugin'
import { createAuthority, type Authority } from './authority.ts'
import { createServices, type Services } from './services.ts'
import { StartError } from './errors.ts'
import { authenticateHook, type Hook, type ReadAuth, requireScopeHook } from './http/guard.ts'
import { registerRoutes } from './http/routes.ts'
import type { AccessTokenClaims } from './protocol/access-token.ts'
import { metadataPath } from './protocol/metadata.ts'
import { checkOptions } from './options-check.ts'
import { type AuthorityOptions, DEFAULTS, type PathName } from './options.ts'
import { warnOfUnsafeSettings } from './warnings.ts'

/** What the plugin adds to the instance, under these names or those of the option `decorators`. */
export interface AuthorityDecorators {
  /** An `onRequest` hook: verifies the Bearer access token and sets `request.auth`. 401 otherwise. @see RFC 6750 */
  authenticate: Hook
  /** A hook for after `authenticate`: 403 unless all these scopes were granted. */
  requireScope: (...scopes: string[]) => Hook
  authority: Authority
}

declare module 'fastify' {
  interface FastifyInstance extends AuthorityDecorators {}
  interface FastifyRequest {
    /** The claims of the verified access token, frozen; `null` before `authenticate` ran. */
    auth: AccessTokenClaims | null
  }
}

const PATHS: Record<Exclude<PathName, 'metadata'>, string> = {
  token: '/token',
  refresh: '/refresh',
  revoke: '/revoke',
  register: '/register',
  password: '/password',
  passwordReset: '/password-reset',
  passwordResetConfirm: '/password-reset/confirm',
  emailVerify: '/email/verify',
  sessions: '/sessions',
  jwks: '/.well-known/jwks.json'
}

const SWEEP_EVERY_MS = 60_000

const plugin: FastifyPluginAsync<AuthorityOptions> = async (host, given) => {
  const options = checkOptions(given)
  const names = { ...DEFAULTS.decorators, ...options.decorators }
  refuseTakenNames(host, names)
  const services = await createServices(options, host.log)

  const readAuth: ReadAuth = (request) => (request as unknown as Record<string, AccessTokenClaims | null>)[names.auth] ?? null
  const authenticate = authenticateHook(services.accessTokens, names.auth)
  host.decorateRequest(names.auth, null)
  host.decorate(names.authenticate, authenticate)
  host.decorate(names.requireScope, (...scopes: string[]) => requireScopeHook(scopes, readAuth))
  host.decorate(names.authority, createAuthority(services))

  const prefix = options.prefix ?? DEFAULTS.prefix
  // A shared secret has no public keys, so no key set.
  const jwks = options.keys !== undefined && !Array.isArray(options.keys) ? null : wellKnownPlace(host, options, options.paths?.jwks ?? PATHS.jwks, `${prefix}/jwks.json`)
  const metadata = wellKnownPlace(host, options, options.paths?.metadata ?? metadataPath(options.issuer), `${prefix}/oauth-authorization-server`)
  const path = (name: PathName): string => {
    if (name === 'jwks') return jwks?.path ?? ''
    return name === 'metadata' ? metadata.path : options.paths?.[name] ?? `${prefix}${PATHS[name]}`
  }
  await registerRoutes(host, {
    grants: services.grants,
    ring: services.ring,
    limiter: services.limiter,
    authenticate,
    readAuth,
    registration: options.registration === false ? null : { fields: options.registration?.fields ?? null },
    path
  }, {
    jwksConstraints: jwks?.constraints ?? null,
    metadataConstraints: metadata.constraints,
    watch: warnOfUnsafeSettings(host, options, { memoryState: !services.state.shared, severalProcesses: cluster.isWorker })
  })
  sweepRegularly(services, host)
  host.addHook('onClose', async () => { await services.close() })
}

/** The whole authentication service: `app.register(authPlugin, { issuer, users })`. */
export const authPlugin = fp(plugin, { fastify: '5.x', name: 'fastify-authority' })

/** A name that is taken would be a crash deep inside Fastify: say it here, with the mend. */
function refuseTakenNames (host: FastifyInstance, names: Record<keyof typeof DEFAULTS.decorators, string>): void {
  for (const [what, name] of Object.entries(names)) {
    const taken = what === 'auth' ? host.hasRequestDecorator(name) : host.hasDecorator(name)
    if (taken) throw new StartError('FST_AUTHORITY_NAME_TAKEN', `The ${what === 'auth' ? 'request' : 'instance'} already has "${name}". Set the option decorators: { ${what}: 'anotherName' } of fastify-authority.`)
  }
}

/** The issuer hosts that have a well-known document of ours, by server and path. */
const documents = new WeakMap<object, Map<string, string[]>>()

/**
 * Where a well-known document stands: at the root. A second plugin in one app has it there for its own host name, or under its
 * own prefix where both issuers share a host or the route is the host's.
 */
function wellKnownPlace (host: FastifyInstance, options: AuthorityOptions, path: string, instead: string): { path: string, constraints: { host?: string } } {
  const url = `${host.prefix}${path}`
  const issuerHost = new URL(options.issuer).host
  const ours = documents.get(host.server) ?? new Map<string, string[]>()
  documents.set(host.server, ours)
  const issuerHosts = ours.get(url) ?? []
  if (issuerHosts.length === 0 ? host.hasRoute({ method: 'GET', url }) : issuerHosts.includes(issuerHost)) return { path: instead, constraints: {} }
  ours.set(url, [...issuerHosts, issuerHost])
  return { path, constraints: issuerHosts.length === 0 ? {} : { host: issuerHost } }
}

function sweepRegularly ({ clock, sweep }: Services, host: FastifyInstance): void {
  let undo = (): void => {}
  const next = (): void => {
    undo = clock.after(SWEEP_EVERY_MS, () => {
      Promise.resolve().then(async () => { await sweep() }).catch((error: unknown) => { host.log.warn({ err: error }, 'fastify-authority: expired records could not be removed') }).finally(next)
    })
  }
  next()
  host.addHook('onClose', async () => { undo() })
}
