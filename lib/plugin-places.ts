import type { FastifyInstance } from 'fastify'
import { type AuthorityOptions, DEFAULTS } from './options.ts'
import { metadataPath, openidConfigurationPath } from './protocol/metadata.ts'

/** A well-known document: its path, and the issuer's host where two plugins have theirs at the same path. */
interface WellKnownPlace {
  path: string
  constraints: { host?: string }
}

export interface Places {
  prefix: string
  /** Whether clients can send people here to sign in: there is one, pages to do it on, and keys whose signatures clients can check. */
  redirectLogin: boolean
  wellKnown: { [name: string]: WellKnownPlace | undefined, jwks?: WellKnownPlace, metadata?: WellKnownPlace, openidConfiguration?: WellKnownPlace }
}

/** Where the routes of these options are mounted. */
export function placesOf (host: FastifyInstance, options: AuthorityOptions): Places {
  const prefix = options.prefix ?? DEFAULTS.prefix
  // A shared secret has no public keys, so no key set, and nobody else could check an ID token.
  const hasKeySet = options.keys === undefined || Array.isArray(options.keys)
  const redirectLogin = hasKeySet && options.pages !== false && mayUseCodes(options.clients ?? [])
  const place = (path: string, instead: string): WellKnownPlace => wellKnownPlace(host, options.issuer, path, `${prefix}/${instead}`)
  return {
    prefix,
    redirectLogin,
    wellKnown: {
      metadata: place(options.paths?.metadata ?? metadataPath(options.issuer), 'oauth-authorization-server'),
      ...(hasKeySet ? { jwks: place(options.paths?.jwks ?? '/.well-known/jwks.json', 'jwks.json') } : {}),
      ...(redirectLogin ? { openidConfiguration: place(options.paths?.openidConfiguration ?? openidConfigurationPath(options.issuer, host.prefix), 'openid-configuration') } : {})
    }
  }
}

/** A store may have such a client at any time. */
function mayUseCodes (clients: NonNullable<AuthorityOptions['clients']>): boolean {
  return !Array.isArray(clients) || clients.some(({ grantTypes, redirectUris = [] }) => redirectUris.length > 0 && (grantTypes === undefined || grantTypes.includes('authorization_code')))
}

/** The issuer hosts that have a well-known document of ours, by server and path. */
const documents = new WeakMap<object, Map<string, string[]>>()

/**
 * Where a well-known document stands: at the root. A second plugin in one app has it there for its own host name, or under its
 * own prefix where both issuers share a host or the route is the host's.
 */
function wellKnownPlace (host: FastifyInstance, issuer: string, path: string, instead: string): WellKnownPlace {
  const url = `${host.prefix}${path}`
  const issuerHost = new URL(issuer).host
  const ours = documents.get(host.server) ?? new Map<string, string[]>()
  documents.set(host.server, ours)
  const issuerHosts = ours.get(url) ?? []
  if (issuerHosts.length === 0 ? host.hasRoute({ method: 'GET', url }) : issuerHosts.includes(issuerHost)) return { path: instead, constraints: {} }
  ours.set(url, [...issuerHosts, issuerHost])
  return { path, constraints: issuerHosts.length === 0 ? {} : { host: issuerHost } }
}
