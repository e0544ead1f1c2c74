interface BrowserHeaders {
  'sec-fetch-site'?: string | string[] | undefined
  origin?: string | undefined
}

/**
 * Whether a form was posted by one of our own pages, by what the browser itself says. `Sec-Fetch-Site` counts first.
 * Where there is none (older browsers; plain http off loopback) or nothing started the navigation but the user,
 * `Origin` must be the issuer's. A request with neither is refused: every browser of today sends one.
 * @see W3C Fetch Metadata Request Headers §2.4, RFC 6454 §7
 */
export function isSameOrigin(headers: BrowserHeaders, issuer: string): boolean {
  const site = headers['sec-fetch-site']
  if (site === 'same-origin') return true
  return (site === undefined || site === 'none') && headers.origin === new URL(issuer).origin
}

/**
 * Whether the browser says that a page of another origin made it send this. What has neither header was sent by no
 * page: programs send none. `none` is what a person started, or an extension. Where there is no `Sec-Fetch-Site` (older
 * browsers; plain http off loopback), `Origin` tells.
 * @see W3C Fetch Metadata Request Headers §2.4, RFC 6454 §7
 */
export function isFromOtherOrigin(headers: BrowserHeaders, ownOrigin: string): boolean {
  const { 'sec-fetch-site': site, origin } = headers
  if (site === 'same-origin' || site === 'none') return false
  return origin === undefined ? site !== undefined : origin !== ownOrigin
}

/**
 * Whether a request for a page or a script of our own may go on. A GET changes nothing, and a browser without
 * `Sec-Fetch-Site` sends neither header with a GET of our own page, so only a GET that the browser says comes from
 * another origin is refused.
 */
export function isFromOwnPage(request: { method: string; headers: BrowserHeaders }, issuer: string): boolean {
  const { method, headers } = request
  if (isSameOrigin(headers, issuer)) return true
  const { 'sec-fetch-site': site, origin } = headers
  const isSafe = method === 'GET' || method === 'HEAD'
  return isSafe && origin === undefined && (site === undefined || site === 'none')
}
