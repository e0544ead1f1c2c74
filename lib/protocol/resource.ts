/** Resources: APIs that access tokens are for. @see RFC 8707, RFC 9728 */
import { isLoopbackHost } from './redirect-uri.ts'

/**
 * A form in which two spellings of one resource are equal: scheme and host in lower case, no default port, and no lone
 * slash for an empty path. `null` for text that names no resource: an absolute https URL (http on loopback) without
 * user name, query and fragment.
 * @see RFC 8707 §2
 */
export function canonicalResource(text: string): string | null {
  if (/[?#\s\\]/.test(text)) return null
  try {
    const { protocol, hostname, origin, pathname, username, password } = new URL(text)
    if (username !== '' || password !== '') return null
    if (protocol !== 'https:' && !(protocol === 'http:' && isLoopbackHost(hostname))) return null
    return pathname === '/' ? origin : origin + pathname
  } catch {
    return null
  }
}

/** The spellings of a resource in `aud`: as configured, and its twin with or without the slash of an empty path. */
export function audiencesOf(resource: string): string[] {
  const { pathname } = new URL(resource)
  return pathname === '/' ? [resource, resource.endsWith('/') ? resource.slice(0, -1) : `${resource}/`] : [resource]
}

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
