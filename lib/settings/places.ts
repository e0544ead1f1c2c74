import { mayUse } from '../clients/rights.ts'
import type { FastifyInstance } from 'fastify'
import { metadataPath, openidConfigurationPath } from '../protocol/metadata.ts'
import { DEVICE_CODE_GRANT } from '../protocol/request-params.ts'
import type { Settings } from './settings.ts'

/** The route of a well-known document: its path, and the issuer's host if two services share that path. */
interface WellKnownPlace {
  path: string
  constraints: { host?: string }
}

export interface Places {
  prefix: string
  /**
   * True if clients can send users here to sign in: pages are on, a client can use authorization codes or device codes
   * or may be unregistered, and there is a key set to verify ID tokens with.
   */
  redirectLogin: boolean
  /** Set if the metadata is not where clients look for it. `expected`: where they look. `at`: where it is. */
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

/** Decides where the plugin mounts its well-known documents, and whether redirect sign-in is on. */
export function placesOf(
  host: FastifyInstance,
  { issuer, prefix, paths, keys, pages, users, clients, shared }: Settings
): Places {
  // With a shared secret there is no key set, and clients could not verify an ID token.
  const hasKeySet = keys === null || Array.isArray(keys)
  const redirectLogin = hasKeySet && pages !== false && (shared.unknownClients === true || mayUseCodes(clients))
  const place = (path: string, instead: string): WellKnownPlace =>
    wellKnownPlace(host, issuer, path, `${prefix}/${instead}`)
  const openidConfiguration = redirectLogin
    ? place(openidConfigurationPath(issuer, host.prefix), 'openid-configuration')
    : undefined
  const metadata = place(metadataPath(issuer), 'oauth-authorization-server')
  return {
    prefix,
    redirectLogin,
    misplaced:
      openidConfiguration === undefined
        ? misplaced(`${host.prefix}${metadata.path}`, metadataPath(issuer))
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

/**
 * True if a client can use authorization codes or device codes. Always true for a client store, which may contain such
 * a client at any time.
 */
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

/** The hosts of the issuers that have mounted a well-known document, by server and path. */
const documents = new WeakMap<object, Map<string, string[]>>()

/**
 * The place of a well-known document: usually its path at the root. A second service in one app has its document at the
 * same path, for requests to its own host name. The document is below the prefix if both issuers share a host name, or
 * if the app already has a route of its own at the root.
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
