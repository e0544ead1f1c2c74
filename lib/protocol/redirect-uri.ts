const MAX_LENGTH = 2048
/**
 * The characters of a URI in RFC 3986: no backslash, space, control or other character that two parsers could read in
 * two ways.
 */
const URI = /^[A-Za-z0-9\-._~:/?#[\]@!$&'()*+,;=%]+$/
const SCHEME = /^([A-Za-z][A-Za-z0-9+.-]*):/
const USERINFO = /^[^:/?#]+:\/\/[^/?]*@/
/**
 * Scheme, host, port. Excludes sub-delims in a host, because some (`;`, `*`) have a meaning in a
 * Content-Security-Policy.
 */
const WEB = /^https?:\/\/(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::[1-9]\d{0,4})?(?:[/?]|$)/i
const PRIVATE_USE = /^([a-z][a-z0-9+-]*(?:\.[a-z0-9+-]+)+):\//i
const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/
/** Captures the parts before and after the port. */
const ANY_PORT = /^(http:\/\/(?:127\.0\.0\.1|\[::1\]|localhost))(?::\d{1,5})?((?:[/?].*)?)$/

const WEB_TAKES = 'https:, or http: on localhost, 127.0.0.0/8 or [::1]'

/** True for `localhost`, an address in 127.0.0.0/8, and `[::1]`, as `URL` spells them. */
export function isLoopbackHost(hostname: string): boolean {
  return LOOPBACK.test(hostname)
}

/**
 * True if a response for the client may be sent to this URI: the client has registered exactly this URI. A native app
 * gets its port from the system. So for a native app the port of an http URI on 127.0.0.1, [::1] or localhost may
 * differ. A URI that can't be registered matches nothing, even if a client store returns it.
 * @see RFC 6749 §3.1.2.3, RFC 8252 §7.3, RFC 9700 §2.1
 */
export function matchesRedirectUri(
  registered: readonly string[],
  requested: string,
  applicationType: 'web' | 'native' = 'web',
  schemes: readonly string[] = []
): boolean {
  if (checkClientRedirectUri(requested, applicationType, schemes) !== null) return false
  if (registered.includes(requested)) return true
  if (applicationType === 'web') return false
  const portless = withoutLoopbackPort(requested)
  return portless !== null && registered.some((uri) => withoutLoopbackPort(uri) === portless)
}

function withoutLoopbackPort(uri: string): string | null {
  const match = ANY_PORT.exec(uri)
  return match === null ? null : `${match[1]}${match[2]}`
}

/**
 * `null` if a client may have this redirect URI; otherwise the requirement that it fails. `schemes`: private-use
 * schemes that need no dot.
 * @see RFC 6749 §3.1.2, RFC 8252 §7.1, RFC 9700 §2.6
 */
export function checkRegistrableRedirectUri(uri: string, schemes: readonly string[] = []): string | null {
  const scheme = schemeOf(uri)
  const plain = checkPlain(uri, scheme)
  if (plain !== null) return plain
  if (scheme === 'http' || scheme === 'https') return checkWebUri(uri)
  // Requires a dot, which schemes of reversed domain names have, to exclude javascript:, data:, intent: and similar
  // schemes.
  if (!PRIVATE_USE.test(uri) && !(schemes.includes(scheme ?? '') && uri[uri.indexOf(':') + 1] === '/'))
    return (
      `${WEB_TAKES}, or where applicationType is "native" a private-use scheme with a dot in it, ` +
      'such as com.example.app:/callback'
    )
  // Pages and responses parse the URI, so it must be parsable.
  return URL.canParse(uri) ? null : 'a URI that can be parsed: its host and port are what a browser takes for such'
}

/**
 * `null` if a client of this application type may register this URI for redirects; otherwise the requirement that it
 * fails. A web client has no use for a private-use scheme, by which any app on the user's device could get a code.
 * @see OpenID Connect Dynamic Client Registration 1.0 §2 application_type
 */
export function checkClientRedirectUri(
  uri: string,
  applicationType: 'web' | 'native',
  schemes: readonly string[] = []
): string | null {
  const takes = checkRegistrableRedirectUri(uri, schemes)
  if (takes !== null || applicationType === 'native' || checkWebUri(uri) === null) return takes
  return `${WEB_TAKES}; a private-use scheme only where applicationType is "native"`
}

/**
 * Returns the requirement that the URI fails, or `null`. Accepts absolute https URIs, and http URIs on a loopback host,
 * without fragment or user name. The host must be spelled as browsers spell it, but may have capital letters.
 */
export function checkWebUri(uri: string): string | null {
  const scheme = schemeOf(uri)
  const plain = checkPlain(uri, scheme)
  if (plain !== null) return plain
  if (scheme !== 'http' && scheme !== 'https') return WEB_TAKES
  const host = WEB.exec(uri)?.[1]?.toLowerCase()
  // Refuses spellings that browsers normalize: 127.1 and 0x7f.0.0.1 are IP addresses to them, and they read
  // https:app.example as https://app.example.
  if (host === undefined || !URL.canParse(uri) || new URL(uri).hostname !== host)
    return 'an absolute URI whose host is spelled as browsers do (xn--, no percent signs, plain IP addresses)'
  return scheme === 'http' && !isLoopbackHost(host) ? WEB_TAKES : null
}

/** Checks the requirements that a URI of any scheme must meet. */
function checkPlain(uri: string, scheme: string | null): string | null {
  if (uri.length > MAX_LENGTH || !URI.test(uri))
    return `a URI of at most ${MAX_LENGTH} characters, all of them such as a URI is made of`
  if (scheme === null) return 'an absolute URI'
  if (uri.includes('#')) return 'a URI without a fragment'
  return USERINFO.test(uri) ? 'a URI without user name and password' : null
}

function schemeOf(uri: string): string | null {
  return SCHEME.exec(uri)?.[1]?.toLowerCase() ?? null
}

/**
 * True if any app on the person's device could claim this URI: http on a loopback host, or a private-use scheme. @see
 * RFC 8252 §8.6
 */
export function isPublicNativeRedirect(redirectUri: string): boolean {
  return schemeOf(redirectUri) !== 'https'
}

/**
 * The source for `form-action` of a Content-Security-Policy that lets a form of our pages lead to this URI: its origin,
 * or `scheme:`. Never contains a character that ends a source or a directive. For a URI that can't be registered, the
 * source is `'self'`, which allows nothing more. CSP has no source for an IPv6 address, so such a URI gets its scheme.
 * @see Content Security Policy Level 3 §2.3.1, §6.4.1
 */
export function formActionOf(redirectUri: string, schemes: readonly string[] = []): string {
  if (checkRegistrableRedirectUri(redirectUri, schemes) !== null) return "'self'"
  const { protocol, origin, hostname } = new URL(redirectUri)
  const web = protocol === 'https:' || protocol === 'http:'
  return web && !hostname.startsWith('[') ? origin : protocol
}

/** The target of a redirect URI, as shown to people: its host, or a private-use scheme. */
export function placeOf(uri: string): string {
  const { protocol, host } = new URL(uri)
  return protocol === 'https:' || protocol === 'http:' ? host : protocol
}
