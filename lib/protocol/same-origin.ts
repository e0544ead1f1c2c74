interface BrowserHeaders {
  'sec-fetch-site'?: string | string[] | undefined
  origin?: string | undefined
}

/**
 * True if the browser says that one of our own pages posted the form. `Sec-Fetch-Site` decides first. If it is missing
 * (an older browser, or http on a host that is not loopback) or is `none` (no page caused the request), `Origin` must
 * be the issuer's. A form without `Origin` is refused then, because every current browser sends one of the headers.
 * @see W3C Fetch Metadata Request Headers §2.4, RFC 6454 §7
 */
export function isSameOrigin(headers: BrowserHeaders, issuer: string): boolean {
  const site = headers['sec-fetch-site']
  if (site === 'same-origin') return true
  return (site === undefined || site === 'none') && headers.origin === new URL(issuer).origin
}

/**
 * True if the browser reports that a page of another origin caused the request. `Sec-Fetch-Site` is `none` if the user
 * or an extension caused it. For another value, and without `Sec-Fetch-Site` (an older browser, or http on a host that
 * is not loopback), `Origin` decides if it was sent. A request with neither header comes from a program.
 * @see W3C Fetch Metadata Request Headers §2.4, RFC 6454 §7
 */
export function isFromOtherOrigin(headers: BrowserHeaders, ownOrigin: string): boolean {
  const { 'sec-fetch-site': site, origin } = headers
  if (site === 'same-origin' || site === 'none') return false
  return origin === undefined ? site !== undefined : origin !== ownOrigin
}

/**
 * True if a request for one of our own pages or scripts is accepted. Accepts a GET or HEAD without both headers,
 * because it changes nothing, and an older browser sends neither header with it. Refuses it if the browser says that it
 * comes from another origin. Any other method must pass `isSameOrigin`.
 */
export function isFromOwnPage(request: { method: string; headers: BrowserHeaders }, issuer: string): boolean {
  const { method, headers } = request
  if (isSameOrigin(headers, issuer)) return true
  const { 'sec-fetch-site': site, origin } = headers
  const isSafe = method === 'GET' || method === 'HEAD'
  return isSafe && origin === undefined && (site === undefined || site === 'none')
}

const MAX_LENGTH = 2048

/**
 * The target after a sign-in: a path (with query and fragment) on the issuer's own origin, as a browser reads it.
 * `null` for any other target. The result is ASCII and safe as a `Location`.
 */
export function localPath(target: string | undefined, issuer: string): string | null {
  if (target === undefined || target.length > MAX_LENGTH || !/^\/(?!\/)/.test(target)) return null
  // Browsers drop tabs and line breaks and read a backslash as a slash, so `/<tab>/evil` and `/\evil` leave the origin.
  if (/[^\x21-\x7e\x80-\uffff]|\\/.test(target)) return null
  const { origin } = new URL(issuer)
  const url = new URL(target, origin)
  const path = `${url.pathname}${url.search}${url.hash}`
  // Checks the parsed path, because `/..//evil` becomes `//evil`. Browsers do not decode the percent-encoded forms, but
  // other software on the way may.
  return url.origin === origin && !/^\/(?:\/|%(?:2f|5c|09|0a|0d))/i.test(path) ? path : null
}
