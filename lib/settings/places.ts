import { mayUse } from '../clients/rights.ts'
import type { FastifyInstance } from 'fastify'
import { metadataPath, openidConfigurationPath } from '../protocol/metadata.ts'
import { DEVICE_CODE_GRANT } from '../protocol/request-params.ts'
import type { Settings } from './settings.ts'

/** A well-known document: its path, and the issuer's host if two plugins share that path. */
interface WellKnownPlace {
  path: string
  constraints: { host?: string }
}

export interface Places {
  prefix: string
  /**
   * True if clients can send people here to sign in: there is a client, there are pages, and clients can verify the
   * signatures.
   */
  redirectLogin: boolean
  /** The paths of the provider's document: where OpenID clients look for it, and where it is, if these differ. */
  misplaced: { expected: string; at: string } | null
  wellKnown: {
    [name: string]: WellKnownPlace | undefined
    jwks?: WellKnownPlace
    metadata?: WellKnownPlace
    openidConfiguration?: WellKnownPlace
    webauthn?: WellKnownPlace
    changePassword?: WellKnownPlace
  }
}

/** The mounted routes of these settings. */
export function placesOf(
  host: FastifyInstance,
  { issuer, prefix, paths, keys, pages, users, clients, shared }: Settings
): Places {
  // A shared secret has no public keys, so there is no key set, and nobody else could verify an ID token.
  const hasKeySet = keys === null || Array.isArray(keys)
  const redirectLogin = hasKeySet && pages !== false && (shared.unknownClients === true || mayUseCodes(clients))
  const place = (path: string, instead: string): WellKnownPlace =>
    wellKnownPlace(host, issuer, path, `${prefix}/${instead}`)
  const openidConfiguration = redirectLogin
    ? place(openidConfigurationPath(issuer, host.prefix), 'openid-configuration')
    : undefined
  const metadata = place(metadataPath(issuer), 'oauth-authorization-server')
  const ownPath = `${host.prefix}${openidConfigurationPath(issuer, host.prefix)}` === openidConfigurationPath(issuer)
  return {
    prefix,
    redirectLogin,
    misplaced:
      openidConfiguration === undefined
        ? // A document at the issuer's own path is not misplaced: APIs that look for keys ask for it alone.
          ownPath
          ? null
          : misplaced(`${host.prefix}${metadata.path}`, metadataPath(issuer))
        : misplaced(`${host.prefix}${openidConfiguration.path}`, openidConfigurationPath(issuer)),
    wellKnown: {
      metadata,
      ...(hasKeySet ? { jwks: place(paths.jwks ?? '/.well-known/jwks.json', 'jwks.json') } : {}),
      ...(shared.listsOrigins === true ? { webauthn: place('/.well-known/webauthn', 'webauthn') } : {}),
      ...(pages !== false && pages.account && users.setPasswordHash !== undefined
        ? { changePassword: place('/.well-known/change-password', 'change-password') }
        : {}),
      ...(openidConfiguration === undefined ? {} : { openidConfiguration })
    }
  }
}

function misplaced(at: string, expected: string): Places['misplaced'] {
  return at === expected ? null : { at, expected }
}

/** A store may have such a client at any time. */
function mayUseCodes(clients: Settings['clients']): boolean {
  return (
    !Array.isArray(clients) ||
    clients.some(
      (client) =>
        ((client.redirectUris ?? []).length > 0 && mayUse(client, 'authorization_code')) ||
        mayUse(client, DEVICE_CODE_GRANT)
    )
  )
}

/** The issuer hosts with a well-known document of the plugin, by server and path. */
const documents = new WeakMap<object, Map<string, string[]>>()

/**
 * The place of a well-known document: the root. A second plugin in one app has it there for its own host name, or under
 * its own prefix if both issuers share a host or the route is the host's.
 */
function wellKnownPlace(host: FastifyInstance, issuer: string, path: string, instead: string): WellKnownPlace {
  const url = `${host.prefix}${path}`
  const issuerHost = new URL(issuer).host
  const ours = documents.get(host.server) ?? new Map<string, string[]>()
  documents.set(host.server, ours)
  const issuerHosts = ours.get(url) ?? []
  if (issuerHosts.length === 0 ? host.hasRoute({ method: 'GET', url }) : issuerHosts.includes(issuerHost))
    return { path: instead, constraints: {} }
  ours.set(url, [...issuerHosts, issuerHost])
  return { path, constraints: issuerHosts.length === 0 ? {} : { host: issuerHost } }
}
