/** The addresses of a client. */
import type { Client } from '../ports/client-store.ts'
import { checkClientRedirectUri, checkWebUri } from '../protocol/redirect-uri.ts'
import { addressTakes } from './check-addresses.ts'

/** Apps in a web view have origins such as `capacitor://localhost`. */
const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/(?:\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::[1-9]\d{0,4})?$/

/** Paths are of the issuer's origin, whatever it is. */
const ANY_ISSUER = 'https://issuer.invalid'

/** The error of a bad field: the value and the accepted values. */
export type Refusal = (field: string, got: unknown, takes: string) => Error

/** @see RFC 6749 §3.1.2, RFC 9700 §2.6, OpenID Connect Back-Channel Logout 1.0 §2.2 */
export function checkUris(client: Client, refusal: Refusal): void {
  for (const name of ['redirectUris', 'postLogoutRedirectUris'] as const) {
    for (const [index, uri] of (client[name] ?? []).entries()) {
      const takes = checkClientRedirectUri(uri, client.applicationType ?? 'web')
      if (takes !== null) throw refusal(`${name}[${index}]`, uri, takes)
      if (uri.includes('*'))
        throw refusal(`${name}[${index}]`, uri, 'a whole URI, because there are no wildcards: list each')
    }
  }
  for (const [index, origin] of (client.origins ?? []).entries()) {
    if (!isOrigin(origin))
      throw refusal(
        `origins[${index}]`,
        origin,
        'one origin as browsers send it: scheme, host and a port that is not the default one, such ' +
          'as "https://app.example.com"'
      )
  }
  for (const name of ['logoUri', 'clientUri', 'backchannelLogoutUri', 'jwksUri'] as const) {
    const uri = client[name]
    const takes = uri === undefined ? null : checkWebUri(uri)
    if (takes !== null) throw refusal(name, uri, takes)
  }
  for (const name of ['url', 'dark'] as const) {
    const address = client.pages?.logo?.[name]
    const takes = address === undefined ? null : addressTakes(address, ANY_ISSUER)
    if (takes !== null) throw refusal(`pages.logo.${name}`, address, takes)
  }
}

/**
 * An `Origin` header is compared character by character.
 * @see RFC 6454 §6.2
 */
function isOrigin(origin: string): boolean {
  if (!ORIGIN.test(origin) || !URL.canParse(origin)) return false
  const url = new URL(origin)
  return url.protocol === 'https:' || url.protocol === 'http:' ? url.origin === origin : url.protocol !== 'file:'
}
