/** The Content Security Policy of the hosted pages. @see CSP Level 3, OWASP ASVS 5.0 3.4.3 */

export interface ContentSecurity {
  /** The URLs of stylesheet and script, without a query: a source of a policy has none. */
  style: string
  script: string
  /** Images of every page, such as the logo. */
  images: readonly string[]
  /** The host's own stylesheet. Styles, fonts and images may come from its origin. */
  stylesheet: string | null
  /** The script of the pages that ask for a passkey; `null`: there are none. */
  passkeys: string | null
}

interface PagePolicy {
  /** True for the host's own HTML, which may load styles, scripts, fonts, images and data from its own origin. */
  own: boolean
  formActions: readonly string[]
  /** Images of the page, besides those of all pages. */
  images?: readonly string[]
  /** The page asks for a passkey; `renewUrl`: the one address that its script may load from. */
  passkeys?: { renewUrl: string | null } | undefined
}

export function contentSecurityPolicy(
  { style, script, images: always, stylesheet, passkeys: passkeyScript }: ContentSecurity,
  { own, formActions, images = [], passkeys }: PagePolicy
): string {
  const host = stylesheet === null ? [] : [originSource(stylesheet) ?? "'self'"]
  const also = host.filter((source) => !own || source !== "'self'")
  const scripts = passkeys === undefined || passkeyScript === null ? [script] : [script, passkeyScript]
  const renewUrl = passkeys?.renewUrl ?? null
  const loads = own
    ? [["style-src 'self'", ...also], ["script-src 'self'"], ["font-src 'self'", ...also], ["connect-src 'self'"]]
    : [
        [`style-src ${style}`, ...host],
        ['script-src', ...scripts],
        ...(renewUrl === null ? [] : [['connect-src', renewUrl]]),
        ...(host.length === 0 ? [] : [['font-src', ...host]])
      ]
  const shown = new Set(
    [...always, ...images, ...(stylesheet === null ? [] : [stylesheet])]
      .map(originSource)
      .filter((source) => source !== null)
  )
  const actions = [...new Set(formActions.map(formActionSource))].filter((source) => source !== null)
  return [
    "default-src 'none'",
    ...loads.map((directive) => directive.join(' ')),
    ["img-src 'self' data:", ...shown].join(' '),
    ["form-action 'self'", ...actions].join(' '),
    "frame-ancestors 'none'",
    "base-uri 'none'"
  ].join('; ')
}

/** An origin or a scheme without any character that would end the source, the directive or the policy. */
const SOURCE = /^[a-z][a-z0-9+.-]*:(?:\/\/[a-z0-9._-]+(?::\d{1,5})?)?$/
/** Schemes that no form may lead to, whatever a client has registered. */
const REFUSED_SCHEMES = new Set([
  'javascript:',
  'data:',
  'vbscript:',
  'blob:',
  'file:',
  'filesystem:',
  'about:',
  'ws:',
  'wss:',
  'ftp:'
])

/** The origin of a web address; `null` for a path of this origin, and for any other text. */
function originSource(url: string): string | null {
  const { protocol, origin } = new URL(url, 'https://page.invalid')
  return (protocol === 'https:' || protocol === 'http:') && origin !== 'https://page.invalid' && SOURCE.test(origin)
    ? origin
    : null
}

/**
 * The origin of a redirect URI, without its path. A private-use scheme (RFC 8252 §7.1) has no origin; its source is the
 * scheme. `null`: no form may lead to this URI.
 */
function formActionSource(url: string): string | null {
  let parsed: URL
  try {
    parsed = new URL(url)
  } catch {
    return null
  }
  const { protocol, origin } = parsed
  if (REFUSED_SCHEMES.has(protocol)) return null
  if (protocol !== 'https:' && protocol !== 'http:') return SOURCE.test(protocol) ? protocol : null
  // Allows the whole scheme, because a policy can't name an IPv6 address: browsers drop such a source, and the sign-in
  // would end there.
  if (parsed.hostname.startsWith('[')) return protocol
  return SOURCE.test(origin) ? origin : null
}
