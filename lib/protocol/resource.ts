/** Resources: APIs that access tokens are for. @see RFC 8707, RFC 9728 */
import { isLoopbackHost } from './redirect-uri.ts'

/** An API that tokens of this service can be for. */
export interface Resource {
  /** The `aud` of its tokens: the configured URL, or the issuer's origin with the configured path. */
  resource: string
  /** The form in which resources are compared. */
  canonical: string
  /** The name of the API, for people. */
  name: string | null
  /** Its scopes. None of them is a scope of another resource or of the option `scopes`. */
  scopes: readonly string[]
  /** The ids of the clients that may ask for it. `null`: all. */
  allowedClients: readonly string[] | null
  /** The lifetime of its tokens. `null`: as the option `accessToken` says. */
  expiresInSeconds: number | null
  /** The algorithm of its tokens. `null`: as the option `accessToken` says. */
  alg: string | null
}

/** The URL of a configured resource. A path is joined to the issuer's origin. */
export function resourceUrl(given: string, issuer: string): string {
  return given.startsWith('/') ? new URL(issuer).origin + given : given
}

/**
 * A form in which two spellings of one resource are equal: scheme and host in lower case, no default port, and no lone
 * slash for an empty path. `null` for a text that can't be a resource. A resource is an absolute https URL (http on
 * loopback) without user name, query and fragment.
 * @param also the origin of the issuer, which may use http on a host that is not loopback
 * @see RFC 8707 §2
 */
export function canonicalResource(text: string, also?: string): string | null {
  if (/[?#\s\\]/.test(text)) return null
  try {
    const { protocol, hostname, origin, pathname, username, password } = new URL(text)
    if (username !== '' || password !== '') return null
    if (protocol !== 'https:' && origin !== also && !(protocol === 'http:' && isLoopbackHost(hostname))) return null
    return pathname === '/' ? origin : origin + pathname
  } catch {
    return null
  }
}

/** Finds the resource that the text names, as a URL or as a path on the issuer's origin. */
export function resourceNamed(text: string, resources: readonly Resource[], issuer: string): Resource | undefined {
  const canonical = canonicalResource(resourceUrl(text, issuer), new URL(issuer).origin)
  return resources.find((one) => one.canonical === canonical)
}

/** The accepted spellings of a resource in `aud`: as configured, and for an empty path with and without its slash. */
export function audiencesOf(resource: string): string[] {
  const { pathname } = new URL(resource)
  return pathname === '/' ? [resource, resource.endsWith('/') ? resource.slice(0, -1) : `${resource}/`] : [resource]
}

/** Joins several values of the parameter `resource`. No resource contains a line break. @see RFC 8707 §2 */
export const joinResources = (values: readonly string[]): string => values.join('\n')
export const splitResources = (joined: string): string[] => joined.split('\n').filter((value) => value !== '')

/** The URL of the metadata of a resource. @see RFC 9728 §3.1 */
export function resourceMetadataUrl(resource: string): URL {
  const { origin, pathname } = new URL(resource)
  return new URL(`${origin}/.well-known/oauth-protected-resource${pathname === '/' ? '' : pathname}`)
}

/** The metadata of a resource. @see RFC 9728 §2 */
export function resourceMetadata({
  resource,
  issuer,
  scopes,
  name,
  dpopAlgs
}: {
  resource: string
  issuer: string
  scopes: readonly string[]
  name: string | null
  dpopAlgs: readonly string[]
}): Record<string, unknown> {
  return {
    resource,
    authorization_servers: [issuer],
    ...(scopes.length === 0 ? {} : { scopes_supported: scopes }),
    bearer_methods_supported: ['header'],
    ...(name === null ? {} : { resource_name: name }),
    ...(dpopAlgs.length === 0 ? {} : { dpop_signing_alg_values_supported: dpopAlgs })
  }
}
