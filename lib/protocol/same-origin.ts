/**
 * Whether a form was posted by one of our own pages, by what the browser itself says. `Sec-Fetch-Site` counts first: with a
 * `no-referrer` page `Origin` is `null`. Where there is none (older browsers; plain http off loopback) or nothing started the
 * navigation but the user, `Origin` must be the issuer's. A request with neither is refused: every browser of today sends one.
 * @see W3C Fetch Metadata Request Headers §2.4, RFC 6454 §7
 */
export function isSameOrigin (headers: { 'sec-fetch-site'?: string | string[] | undefined, origin?: string | undefined }, issuer: string): boolean {
  const site = headers['sec-fetch-site']
  if (site === 'same-origin') return true
  return (site === undefined || site === 'none') && headers.origin === new URL(issuer).origin
}
