import type {
  Client,
  ClientStore,
  GrantType,
  UnknownClient,
  ClientLookup,
  ClientSource,
  Clients
} from '../ports/client-store.ts'
import { covers } from '../protocol/authentication.ts'
import type { AuthMethod } from '../protocol/client-authentication.ts'
import { isPublicNativeRedirect, matchesRedirectUri } from '../protocol/redirect-uri.ts'
import type { AccessTokenClaims } from '../protocol/access-token.ts'
import { firstPartyOnly } from '../protocol/bearer.ts'

/**
 * The grant types of a client that registers none.
 * @see RFC 7591 §2
 */
const DEFAULT_GRANT_TYPES: readonly GrantType[] = ['authorization_code', 'refresh_token']

export function mayUse({ grantTypes }: Pick<Client, 'grantTypes'>, grantType: GrantType): boolean {
  return (grantTypes ?? DEFAULT_GRANT_TYPES).includes(grantType)
}

/**
 * True if the client is the host's own, which is the default. For a third-party client, the service asks the user for
 * consent. `null`: a caller without a client, which counts as first-party.
 */
export function isFirstParty(client: Pick<Client, 'firstParty'> | null): boolean {
  return client?.firstParty !== false
}

/**
 * The facts of a client that nobody registered. `null` for every other caller: no registered client has the field
 * `unknown`.
 */
export function unknownOf(client: Client | null): UnknownClient['unknown'] | null {
  return (client as UnknownClient | null)?.unknown ?? null
}

/**
 * True if the level `acr` is enough for the client. Any level is enough for a client without a required `acr`, and for
 * a caller without a client (`null`).
 */
export function isContent(client: Pick<Client, 'acr'> | null, acr: string | null): boolean {
  return client?.acr === undefined || covers(acr, client.acr)
}

/** The fields that say how a client proves itself. */
type Proving = Pick<Client, 'tokenEndpointAuthMethod' | 'clientSecret' | 'jwks' | 'jwksUri'>

/**
 * The authentication methods that the client may use: the registered one, otherwise the methods for its secret or its
 * keys. `none` for a client with neither. For a client that nobody registered, the methods that were taken from its
 * metadata.
 */
export function authMethodsOf(client: Proving): readonly AuthMethod[] {
  const unknown = unknownOf(client as Client)
  if (unknown !== null) return unknown.authMethods
  if (client.tokenEndpointAuthMethod !== undefined) return [client.tokenEndpointAuthMethod]
  if (client.clientSecret !== undefined) return ['client_secret_basic', 'client_secret_post']
  return hasKeys(client) ? ['private_key_jwt'] : ['none']
}

export const hasKeys = ({ jwks, jwksUri }: Proving): boolean => jwks !== undefined || jwksUri !== undefined

export const isPublic = (client: Proving): boolean => authMethodsOf(client).includes('none')

/**
 * True unless a confidential client turned PKCE off. A public client always needs PKCE, because it has no other proof
 * that it began the request.
 * @see RFC 9700 §2.1.1
 */
export function needsPkce(client: Proving & Pick<Client, 'requirePkce'>): boolean {
  return isPublic(client) || client.requirePkce !== false
}

/**
 * True for an app on a person's device.
 * @see OpenID Connect Dynamic Client Registration 1.0 §2 application_type
 */
export function isNative({ applicationType }: Pick<Client, 'applicationType'>): boolean {
  return applicationType === 'native'
}

/**
 * True if the client has registered this redirect URI. For a native app, the port of a loopback address may differ.
 * @see RFC 6749 §3.1.2.3
 */
export function mayBeAnsweredAt(client: Client, redirectUri: string): boolean {
  const { redirectUris = [], applicationType } = client
  return matchesRedirectUri(redirectUris, redirectUri, applicationType, unknownOf(client)?.redirectSchemes)
}

/**
 * True if another app on the device could pose as this one and catch its code. Such a client gets no code without a
 * page that a person sees.
 * @see RFC 8252 §8.6
 */
export function isNativeRedirect(client: Client, redirectUri: string): boolean {
  return isNative(client) && isPublicNativeRedirect(redirectUri)
}

/** The origins of the client's pages: as registered, otherwise the origins of its redirect URIs. */
export function originsOf({ origins, redirectUris = [] }: Pick<Client, 'origins' | 'redirectUris'>): string[] {
  if (origins === undefined) return redirectUris.map(originOfUrl).filter((origin) => origin !== 'null')
  // The URL standard gives a private-use scheme no origin, but a web view sends the registered one.
  return origins
    .map((given) => (originOfUrl(given) === 'null' && URL.canParse(given) ? given : originOfUrl(given)))
    .filter((origin) => origin !== 'null')
}

/** The origin of a URL. The string `'null'` for a URL that has no origin or cannot be parsed. */
export function originOfUrl(url: string): string {
  return URL.canParse(url) ? new URL(url).origin : 'null'
}

/**
 * Accepts tokens without a client, and tokens of clients that are first-party now. Refuses tokens of a client that was
 * removed.
 * @returns the client; `null` for a token without a client
 * @throws OAuthError `insufficient_scope`
 */
export async function requireFirstParty(
  { client_id: clientId }: AccessTokenClaims,
  clients: ClientStore
): Promise<Client | null> {
  if (clientId === undefined) return null
  const client = await clients.findById(clientId)
  if (client === null || !isFirstParty(client)) throw firstPartyOnly()
  return client
}

/**
 * The way to look up the client of a valid token. Fetches of client documents have no rate limit here, because a
 * stranger has no valid token.
 */
export const BY_TOKEN: ClientLookup = { fetching: async (work) => await work() }

/**
 * Finds a registered client first, then a client of a feature. `sources` may be filled after this call, during the
 * start.
 */
export function withSources(registered: ClientStore, sources: readonly ClientSource[]): Clients {
  return {
    async findById(clientId, asking = {}) {
      const client = await registered.findById(clientId)
      if (client !== null || sources.length === 0) return client
      return (await sources.find((source) => source.takes(clientId))?.find(clientId, asking)) ?? null
    }
  }
}
