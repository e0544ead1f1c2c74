import { DEFAULTS, type AuthorityOptions } from './options.ts'
import { invalid } from './options-error.ts'
import type { Client } from './ports/client-store.ts'
import { checkRegistrableRedirectUri, checkWebUri } from './protocol/redirect-uri.ts'

/** Apps in a web view have origins such as `capacitor://localhost`. */
const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/(?:\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::[1-9]\d{0,4})?$/

/**
 * Checks the clients that the host lists, each by itself. Those of a client store are met only at run time, and a redirect URI that
 * would be refused here matches nothing there.
 * @throws StartError `FST_AUTHORITY_INVALID_OPTIONS`
 */
export function checkClients ({ clients, scopes = [...DEFAULTS.scopes], keys }: AuthorityOptions): void {
  if (!Array.isArray(clients)) return
  const algorithms = Array.isArray(keys) ? keys.map(({ alg }) => alg).filter((alg) => typeof alg === 'string') : null
  const seen = new Set<string>()
  for (const [index, client] of clients.entries()) {
    const path = `clients[${index}]`
    if (seen.has(client.clientId)) throw invalid(`${path}.clientId`, client.clientId, 'an id that no other client has')
    seen.add(client.clientId)
    const unknown = client.scopes?.find((scope) => !scopes.includes(scope))
    if (unknown !== undefined) throw invalid(`${path}.scopes`, unknown, `scopes of the option scopes (${scopes.join(' ')})`)
    checkUris(client, path)
    checkGrants(client, path)
    const alg = client.idTokenSignedResponseAlg
    if (alg !== undefined && algorithms !== null && !algorithms.includes(alg)) throw invalid(`${path}.idTokenSignedResponseAlg`, alg, `an algorithm of the option keys (${algorithms.join(', ')})`)
  }
}

/** @see RFC 6749 §3.1.2, RFC 9700 §2.6, OpenID Connect Back-Channel Logout 1.0 §2.2 */
function checkUris (client: Client, path: string): void {
  for (const name of ['redirectUris', 'postLogoutRedirectUris'] as const) {
    for (const [index, uri] of (client[name] ?? []).entries()) {
      const takes = checkRegistrableRedirectUri(uri)
      if (takes !== null) throw invalid(`${path}.${name}[${index}]`, uri, takes)
    }
  }
  for (const [index, origin] of (client.origins ?? []).entries()) {
    if (!isOrigin(origin)) throw invalid(`${path}.origins[${index}]`, origin, 'one origin as browsers send it: scheme, host and a port that is not the default one, such as "https://app.example.com"')
  }
  if (client.backchannelLogoutUri !== undefined) {
    const takes = checkWebUri(client.backchannelLogoutUri)
    if (takes !== null) throw invalid(`${path}.backchannelLogoutUri`, client.backchannelLogoutUri, takes)
  }
}

/** An `Origin` header is compared character by character. @see RFC 6454 §6.2 */
function isOrigin (origin: string): boolean {
  if (!ORIGIN.test(origin) || !URL.canParse(origin)) return false
  const url = new URL(origin)
  return url.protocol === 'https:' || url.protocol === 'http:' ? url.origin === origin : url.protocol !== 'file:'
}

/** @see RFC 6749 §3.1.2.2, §4.4, RFC 9700 §2.1.1 */
function checkGrants ({ clientSecret, grantTypes = [], redirectUris = [], requirePkce }: Client, path: string): void {
  if (clientSecret === undefined && requirePkce === false) throw invalid(`${path}.requirePkce`, requirePkce, 'false only with a clientSecret: a public client has nothing else to prove that it began')
  if (clientSecret === undefined && grantTypes.includes('client_credentials')) throw invalid(`${path}.grantTypes`, 'client_credentials', '"client_credentials" only with a clientSecret')
  if (grantTypes.includes('authorization_code') && redirectUris.length === 0) throw invalid(`${path}.redirectUris`, redirectUris, 'one URI at least, for the grant "authorization_code"')
}
